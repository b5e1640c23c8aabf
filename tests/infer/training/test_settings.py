"""Schedule, sizes and averages; fresh and different simulations in every step."""

import pytest
import torch
from torch import Tensor, nn
from training_cases import TINY, run

from pyroclust.infer import FitSettings, InclusiveKL
from pyroclust.infer.training.trainer import AveragedWeights


def test_the_learning_rate_warms_up_and_falls() -> None:
    settings = FitSettings(steps=1000, warmup_steps=100, learning_rate=1.0, final_fraction=0.1)
    rates = [settings.learning_rate_at(step) for step in (0, 99, 100, 550, 1000)]
    assert rates == pytest.approx([0.01, 1.0, 1.0, 0.55, 0.1])


def test_sizes_are_log_uniform_within_their_limits() -> None:
    settings = FitSettings(min_points=5, max_points=79)
    drawn = torch.tensor([settings.draw_points() for _ in range(4000)])
    assert (drawn.min(), drawn.max()) == (5, 79)
    assert (drawn < 20).double().mean().item() == pytest.approx(0.5, abs=0.03)


def test_the_average_forgets_the_first_weights() -> None:
    module, settings = nn.Linear(1, 1, bias=False), FitSettings(averaging=0.9)
    nn.init.constant_(module.weight, 1e6)
    averages = AveragedWeights(module)
    expected = 1e6
    for step in range(300):
        nn.init.constant_(module.weight, float(step))
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
        averages.update(settings.decay_at(step))
    assert averages.values[0].item() == pytest.approx(expected, rel=1e-4)
    with averages.in_module():
        assert module.weight.item() == pytest.approx(expected, rel=1e-4)
    assert module.weight.item() == 299
    assert FitSettings(averaging=0.0).decay_at(50) == 0
    assert FitSettings().decay_at(0) == pytest.approx(0.1)


def test_every_step_has_fresh_data_and_every_data_set_labels_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[Tensor, Tensor]] = []
    real = InclusiveKL.simulate

    def simulate(self: InclusiveKL, *arguments: object) -> object:
        trace = real(self, *arguments)
        seen.append((trace.nodes["data"]["value"], trace.nodes["assignments"]["value"]))
        return trace

    monkeypatch.setattr(InclusiveKL, "simulate", simulate)
    run()
    assert len(seen) == TINY.steps
    assert len({data[0, 0, 0].item() for data, _ in seen}) == TINY.steps
    assert len({data.shape[1] for data, _ in seen}) > 3
    assert all(data.shape[0] * data.shape[1] <= TINY.points_per_step for data, _ in seen)
    assert all(len(labels.unique(dim=0)) > 1 for _, labels in seen if labels.shape[1] > 7)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"averaging is 1\.5, expected between 0 and 1"):
        FitSettings(averaging=1.5)
    with pytest.raises(ValueError, match=r"steps is 2\.5, expected a whole number"):
        FitSettings(steps=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="learning_rate is nan, expected a number"):
        FitSettings(learning_rate=float("nan"))
