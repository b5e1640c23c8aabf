"""Fine-tuning to given data sets by Pyro's objectives and ours."""

import signal
from collections.abc import Callable

import pyro
import pytest
import torch
from cases import some_of
from pyro.infer import ELBO, ReweightedWakeSleep, Trace_ELBO, TraceGraph_ELBO
from torch import Tensor

from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import exact_posterior
from pyroclust.infer.fine_tune import (
    BatchedWakeSleep,
    FineTuning,
    LeaveOneOut,
    decaying_baseline,
    fine_tune,
)
from pyroclust.infer.quality import amortization_gap
from pyroclust.infer.simulation import simulate
from pyroclust.models import overlap2d

MODEL = overlap2d()
SCORE_FUNCTIONS: dict[str, Callable[[], ELBO]] = {
    "stock Trace_ELBO": lambda: Trace_ELBO(num_particles=2, vectorize_particles=True),
    "stock TraceGraph_ELBO": lambda: TraceGraph_ELBO(num_particles=2, vectorize_particles=True),
    "leave one out": lambda: LeaveOneOut(2),
}
# What the mean gap is multiplied by, at most.
OBJECTIVES: dict[str, tuple[Callable[[], ELBO], float]] = {
    "stock Trace_ELBO": (lambda: Trace_ELBO(num_particles=400, vectorize_particles=True), 0.95),
    "stock TraceGraph_ELBO": (lambda: TraceGraph_ELBO(num_particles=16, vectorize_particles=True), 0.6),
    "stock wake": (lambda: ReweightedWakeSleep(num_particles=16), 0.6),
    "leave one out": (lambda: LeaveOneOut(16), 0.6),
    "wake": (lambda: BatchedWakeSleep(16), 0.6),
    "wake and sleep": (lambda: BatchedWakeSleep(16, insomnia=0.5), 0.6),
}


@pytest.fixture(autouse=True)
def empty_store() -> None:
    pyro.clear_param_store()


def untrained(*, use_filter: bool = True, seed: int = 0) -> NeuralClusteringProcess:
    """With the filter's log-weights an untrained guide is the filter."""
    torch.manual_seed(seed)
    scorer = light_scorer_for(MODEL, width=16, num_bandwidths=3, use_filter=use_filter)
    return NeuralClusteringProcess(MODEL, scorer=scorer)


def worlds(num_datasets: int, num_points: int) -> Tensor:
    torch.manual_seed(1)
    return simulate(MODEL, torch.empty(num_datasets, num_points, 2))[0]


def tuned(guide: NeuralClusteringProcess, objective: ELBO, data: Tensor, steps: int = 40) -> FineTuning:
    return fine_tune(MODEL, guide, data, objective=objective, steps=steps, learning_rate=1e-2, progress=False)


@pytest.fixture(scope="module")
def hard() -> Tensor:
    """Return the data sets on which the filter is worst."""
    data = worlds(16, 7)
    return data[amortization_gap(MODEL, untrained(), data).gap.argsort(descending=True)[:4]]


# Pyro's estimators take most time; that they are unbiased is tested below.
@pytest.mark.parametrize(
    "name", some_of([(name,) for name in OBJECTIVES], [(name,) for name in list(OBJECTIVES)[2:]])
)
def test_every_objective_narrows_the_exact_gap(name: str, hard: Tensor) -> None:
    make, factor = OBJECTIVES[name]
    # The stock wake phase takes data sets one by one.
    done = tuned(untrained(), make(), hard[:2] if name == "stock wake" else hard)
    assert done.gap_after.gap.mean() < factor * done.gap_before.gap.mean()
    assert done.gap_after.forward_kl.mean() < done.gap_before.forward_kl.mean()
    assert torch.isfinite(done.losses).all()
    assert len(done.losses) == 40
    assert not done.interrupted


def test_larger_data_sets_are_measured_by_importance_sampling() -> None:
    data = worlds(6, 12)
    done = tuned(untrained(), LeaveOneOut(16), data)
    assert done.gap_after.gap.mean() < 0.7 * done.gap_before.gap.mean()
    assert (done.gap_before.gap_error > 0).all()
    # Both are measured with draws of both guides.
    assert (done.gap_before.log_evidence - done.gap_after.log_evidence).abs().max() < 0.3
    assert done.gap_after.pareto_k.nanmedian() < 0.7


def gradient(guide: NeuralClusteringProcess) -> Tensor:
    found = [torch.zeros_like(p) if p.grad is None else p.grad for p in guide.parameters()]
    guide.zero_grad()
    return torch.cat([one.reshape(-1) for one in found]).double()


def exact_gradients(guide: NeuralClusteringProcess, data: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of KL(q || p) and of KL(p || q), summed over data sets, by enumeration."""
    partitions, log_p = exact_posterior(MODEL, data)
    every = partitions.unsqueeze(1).expand(-1, len(data), -1)
    log_q = guide.posterior(data).log_prob(every).T
    (log_q.exp() * (log_q - log_p)).sum().backward(retain_graph=True)
    backward = gradient(guide)
    (-(log_p.exp() * log_q).sum()).backward()
    return backward, gradient(guide)


def estimates(guide: NeuralClusteringProcess, objective: ELBO, data: Tensor, repetitions: int) -> Tensor:
    target = decaying_baseline(guide, decay=0.9) if isinstance(objective, TraceGraph_ELBO) else guide
    rows = []
    with pyro.get_param_store().scope():
        for _ in range(repetitions):
            objective.loss_and_grads(MODEL, target, data)
            rows.append(gradient(guide))
    return torch.stack(rows)


def directions(exact: Tensor) -> Tensor:
    torch.manual_seed(7)
    return torch.stack([exact / exact.norm(), *torch.randn(9, len(exact)).double() / len(exact) ** 0.5])


@pytest.mark.parametrize("name", SCORE_FUNCTIONS)
def test_score_functions_are_unbiased(name: str) -> None:
    guide, data = untrained(use_filter=False), worlds(3, 4)
    # Two particles show a baseline that knows its own particle; copies of the data sets make up for noise.
    exact, _ = exact_gradients(guide, data)
    found = estimates(guide, SCORE_FUNCTIONS[name](), data.repeat(30, 1, 1), 50) / 30
    along = (found - exact) @ directions(exact).T
    scores = along.mean(0) / (along.std(0) / len(along) ** 0.5)
    assert scores.abs().max() < 4
    if name == "leave one out":
        mean = found.mean(0)
        assert torch.dot(mean, exact) / (mean.norm() * exact.norm()) > 0.95
        assert mean.norm() / exact.norm() == pytest.approx(1.0, abs=0.15)


def test_baselines_take_noise_away() -> None:
    guide, data = untrained(use_filter=False), worlds(3, 4)
    found = {name: estimates(guide, make(), data, 40)[20:] for name, make in SCORE_FUNCTIONS.items()}
    noise = {name: one.var(0).sum() for name, one in found.items()}
    assert noise["leave one out"] < 0.15 * noise["stock Trace_ELBO"]
    assert noise["stock TraceGraph_ELBO"] < 0.3 * noise["stock Trace_ELBO"]


def test_the_wake_phase_points_along_the_inclusive_gradient() -> None:
    guide, data = untrained(use_filter=False), worlds(3, 4)
    _, exact = exact_gradients(guide, data)
    found = estimates(guide, BatchedWakeSleep(3000), data, 8).mean(0)
    assert torch.dot(found, exact) / (found.norm() * exact.norm()) > 0.99
    assert found.norm() / exact.norm() == pytest.approx(1.0, abs=0.05)


def test_the_wake_phase_of_one_data_set_is_that_of_pyro() -> None:
    guide, data = untrained(), worlds(1, 6)
    found = []
    for objective in (ReweightedWakeSleep(num_particles=6), BatchedWakeSleep(6)):
        torch.manual_seed(4)
        losses = objective.loss_and_grads(MODEL, guide, data)
        found.append((losses, gradient(guide)))
    assert found[0][0] == pytest.approx(found[1][0])
    torch.testing.assert_close(found[0][1], found[1][1])


def test_sleep_alone_is_the_inclusive_loss_whatever_the_data() -> None:
    from pyroclust.infer import InclusiveKL

    guide, data = untrained(), worlds(5, 6)
    torch.manual_seed(2)
    _, sleep = BatchedWakeSleep(4, insomnia=0.0).loss(MODEL, guide, data)
    torch.manual_seed(2)
    direct = InclusiveKL().per_dataset(MODEL, guide, torch.empty(4, 5, 6, 2)).sum() / 4
    torch.testing.assert_close(sleep, direct.detach())


def test_stock_sleep_phase_runs_with_simulated_observations() -> None:
    guide, data = untrained(use_filter=False), worlds(2, 5)
    start = [p.clone() for p in guide.parameters()]
    objective = ReweightedWakeSleep(num_particles=4, insomnia=0.0, model_has_params=False)
    done = tuned(guide, objective, data, steps=25)
    assert done.losses[-5:].mean() < 0.9 * done.losses[:5].mean()
    assert any(not torch.equal(a, b) for a, b in zip(start, guide.parameters(), strict=True))


def test_seed_decides_everything_and_nothing_leaks() -> None:
    data = worlds(3, 5)
    pyro.param("mine", torch.tensor(1.0))
    before = torch.get_rng_state()
    runs = []
    for seed in (1, 1, 2):
        torch.set_rng_state(before)
        guide = untrained()
        state = torch.get_rng_state()
        done = fine_tune(MODEL, guide, data, objective=TraceGraph_ELBO(), steps=4, seed=seed, progress=False)
        assert torch.equal(torch.get_rng_state(), state)
        runs.append((done.losses, [p.detach().clone() for p in guide.parameters()]))
    assert list(pyro.get_param_store()) == ["mine"]
    assert torch.equal(runs[0][0], runs[1][0])
    assert not torch.equal(runs[0][0], runs[2][0])
    assert all(torch.equal(a, b) for a, b in zip(runs[0][1], runs[1][1], strict=True))


def test_sizes_are_mixed_with_a_baseline_for_each() -> None:
    data = [worlds(1, n)[0] for n in (4, 6, 4, 5, 6)]
    done = fine_tune(
        MODEL, untrained(), data, objective=TraceGraph_ELBO(), steps=6, batch_size=1, progress=False
    )
    assert done.gap_after.gap.shape == (5,)
    assert len(done.losses) == 6


class FailingAfter(LeaveOneOut):
    """Runs a few steps, then does what it is told."""

    def __init__(self, steps: int, failure: Callable[[], float]) -> None:
        super().__init__(4)
        self.left, self.failure = steps, failure

    def loss_and_grads(self, model: object, guide: object, *args: Tensor, **kwargs: Tensor) -> float:
        self.left -= 1
        loss = super().loss_and_grads(model, guide, *args, **kwargs)
        return loss if self.left >= 0 else self.failure()


def interrupt() -> float:
    signal.raise_signal(signal.SIGINT)
    return 1.0


def test_interruption_keeps_what_was_learned() -> None:
    guide = untrained().eval()
    before = [p.detach().clone() for p in guide.parameters()]
    done = tuned(guide, FailingAfter(5, interrupt), worlds(3, 5), steps=20)
    assert done.interrupted
    assert len(done.losses) == 6
    assert not guide.training
    assert any(not torch.equal(a, b) for a, b in zip(before, guide.parameters(), strict=True))


def test_a_loss_that_is_not_finite_puts_the_old_weights_back() -> None:
    guide = untrained()
    before = [p.detach().clone() for p in guide.parameters()]
    with pytest.raises(ValueError, match="loss is not finite at step 5, expected a finite number"):
        tuned(guide, FailingAfter(5, lambda: float("nan")), worlds(3, 5), steps=20)
    assert all(torch.equal(a, b) for a, b in zip(before, guide.parameters(), strict=True))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps is 0, expected at least 1"),
        ({"batch_size": 0}, "batch_size is 0, expected at least 1"),
        ({"learning_rate": 0.0}, r"learning_rate is 0\.0, expected a positive number"),
    ],
)
def test_settings_are_checked(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fine_tune(MODEL, untrained(), worlds(2, 4), progress=False, **settings)


def test_a_guide_without_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="guide has no weights to train"):
        fine_tune(MODEL, PredictiveFilter(MODEL), worlds(2, 4), progress=False)


def test_objectives_check_their_arguments() -> None:
    with pytest.raises(ValueError, match="num_particles is 1, expected at least 2"):
        LeaveOneOut(1)
    with pytest.raises(ValueError, match="num_particles is 1, expected at least 2"):
        BatchedWakeSleep(1)
    with pytest.raises(ValueError, match=r"insomnia is 1\.5"):
        BatchedWakeSleep(4, insomnia=1.5)
