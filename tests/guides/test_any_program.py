"""Any Pyro program with the sites "assignments" and "data" can have a guide, as a new user would write it."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from pyro import poutine
from pyro.infer import SVI
from torch import Tensor

from pyroclust import save_guide
from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.distributions.protocols import SimulatedModel
from pyroclust.guides import AttentiveClusteringProcess, ClusterwiseClusteringProcess, NeuralClusteringProcess
from pyroclust.infer import (
    FitSettings,
    InclusiveKL,
    amortization_gap,
    exact_posterior,
    fit,
    importance_sample,
    sequential_monte_carlo,
)
from pyroclust.models import Program, gaussian2d, overlap2d

GUIDES = [NeuralClusteringProcess, ClusterwiseClusteringProcess, AttentiveClusteringProcess]


def my_model(data: Tensor) -> Tensor:
    """Clusters of unknown scale, which nothing in the library has as a family."""
    with pyro.plate_stack("datasets", data.shape[:-2]):
        z = pyro.sample("assignments", ChineseRestaurantProcess(0.7, data.shape[-2]))
        centres = 4 * torch.randn(*z.shape, 2)
        scales = 0.3 + 0.4 * torch.rand(*z.shape, 1)
        index = z.unsqueeze(-1)
        mean = centres.gather(-2, index.expand(*z.shape, 2))
        law = dist.Normal(mean, scales.gather(-2, index)).to_event(2)
        return pyro.sample("data", law, obs=data)


@pytest.mark.parametrize("kind", GUIDES)
def test_a_function_is_a_model(kind):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    model = Program(my_model)
    assert torch.equal(before, torch.get_rng_state())
    guide = kind(my_model)
    assert guide.model == my_model
    assert guide.model == model
    assert (model.name, model.event_shape) == ("my_model", (2,))
    assert 0.3 < model.typical_scale < 0.8
    draws = guide.posterior(torch.randn(3, 6, 2)).sample((4,))
    assert draws.shape == (4, 3, 6)


def test_programs_are_the_same_if_they_run_the_same_function():
    model, other = Program(my_model), Program(any_dimension, event_shape=(2,))
    assert model == Program(my_model, typical_scale=3.0, name="another")
    assert hash(model) == hash(Program(my_model))
    assert model != other
    assert model != any_dimension
    assert model != gaussian2d()
    guide = NeuralClusteringProcess(model)
    with pytest.raises(ValueError, match="model is 'any_dimension', expected the guide's own, 'my_model'"):
        fit(other, guide, settings=FitSettings(steps=1), progress=False)


def test_what_is_simulated_to_know_a_program_is_no_part_of_the_callers_program():
    trace = poutine.trace(lambda: Program(my_model)).get_trace()
    assert "assignments" not in trace.nodes
    assert "data" not in trace.nodes


class LearnedModel(SimulatedModel, torch.nn.Module):
    """A model with weights of its own."""

    name, event_shape, typical_scale = "learned", (2,), 0.5

    def __init__(self) -> None:
        super().__init__()
        self.shift = torch.nn.Parameter(torch.zeros(2))

    def forward(self, data: Tensor) -> Tensor:
        return my_model(data)


def test_weights_of_a_model_are_not_the_guides():
    model = LearnedModel()
    guide = NeuralClusteringProcess(model)
    assert guide.model == model
    assert not [name for name in guide.state_dict() if "shift" in name]
    assert all(one is not model.shift for one in guide.parameters())


def test_a_guide_of_a_function_learns_under_svi():
    pyro.clear_param_store()
    torch.manual_seed(1)
    guide = NeuralClusteringProcess(my_model)
    template = torch.empty(16, 12, 2)
    held_out = InclusiveKL()
    before = np.mean([held_out.loss(my_model, guide, torch.empty(200, 12, 2)) for _ in range(3)])
    svi = SVI(my_model, guide, pyro.optim.Adam({"lr": 3e-3}), InclusiveKL())
    for _ in range(200):
        svi.step(template)
    after = np.mean([held_out.loss(my_model, guide, torch.empty(200, 12, 2)) for _ in range(3)])
    assert after < before - 3
    data = torch.cat([0.3 * torch.randn(6, 2), 12 + 0.3 * torch.randn(6, 2)])
    draws = guide.posterior(data).sample((100,))
    apart = draws[:, 0] != draws[:, -1]
    assert apart.double().mean() > 0.8
    together = (draws[:, :6] == draws[:, :1]).double().mean()
    assert together > 0.6
    pyro.clear_param_store()


def test_what_needs_a_likelihood_says_so():
    guide, data = NeuralClusteringProcess(my_model), torch.zeros(4, 2)
    for model in (my_model, guide.model):
        for refused in (
            lambda model=model: amortization_gap(model, guide, data),
            lambda model=model: exact_posterior(model, data),
            lambda model=model: importance_sample(model, guide, data, num_draws=3),
            lambda model=model: sequential_monte_carlo(model, guide, data, num_particles=3),
        ):
            with pytest.raises(ValueError, match=r"without log_joint, expected a model with a likelihood"):
                refused()


def test_saving_a_function_is_refused(tmp_path):
    with pytest.raises(ValueError, match="model is a Program, expected a Mixture"):
        save_guide(NeuralClusteringProcess(my_model), tmp_path / "guide")


def test_training_on_another_model_than_the_guides_own_is_refused(tmp_path):
    guide = NeuralClusteringProcess(gaussian2d())
    message = "expected the guide's own, 'gaussian2d'"
    others = (my_model, overlap2d())
    for other in (*others, *(poutine.scale(one, scale=0.1) for one in others)):
        folder = tmp_path / "training"
        with pytest.raises(ValueError, match=message):
            fit(other, guide, settings=FitSettings(steps=2), folder=folder, progress=False)
        assert not folder.exists()
        with pytest.raises(ValueError, match=message):
            SVI(other, guide, pyro.optim.Adam({}), InclusiveKL()).step(torch.empty(2, 3, 2))
        with pytest.raises(ValueError, match=message):
            InclusiveKL()(other, guide)(torch.empty(2, 3, 2))
    # The same model built again is no other model, and a loss may be measured on any.
    fit(gaussian2d(), guide, settings=FitSettings(steps=1), progress=False)
    scaled = poutine.mask(poutine.scale(gaussian2d(), scale=0.1), mask=True)
    InclusiveKL()(scaled, guide)(torch.empty(2, 3, 2))
    fixed = poutine.scale(poutine.do(gaussian2d(), data={"assignments": torch.zeros(2, 3).long()}), scale=0.1)
    with pytest.raises(ValueError, match="inside of a DoMessenger, which fixes values, expected the guide's"):
        InclusiveKL()(fixed, guide)(torch.empty(2, 3, 2))
    InclusiveKL().loss(overlap2d(), guide, torch.empty(2, 3, 2))


def any_dimension(data: Tensor) -> None:
    with pyro.plate_stack("datasets", data.shape[:-2]):
        z = pyro.sample("assignments", ChineseRestaurantProcess(0.7, data.shape[-2]))
        law = dist.Normal(3.0 * z.unsqueeze(-1), 1.0).expand(data.shape).to_event(2)
        pyro.sample("data", law, obs=data)


def without_labels(data: Tensor) -> None:
    pyro.sample("data", dist.Normal(torch.zeros(data.shape), 1.0).to_event(data.dim()), obs=data)


def one_data_set(data: Tensor) -> None:
    z = pyro.sample("assignments", ChineseRestaurantProcess(0.7, data.shape[-2]))
    pyro.sample("data", dist.Normal(z.unsqueeze(-1).expand(-1, 2).float(), 1.0).to_event(2), obs=data)


def fails(data: Tensor) -> None:
    raise RuntimeError("no luck")


def not_canonical(data: Tensor) -> None:
    with pyro.plate_stack("datasets", data.shape[:-2]):
        z = pyro.sample("assignments", dist.Categorical(torch.ones(*data.shape[:-1], 3)).to_event(1))
        pyro.sample("data", dist.Normal(z.unsqueeze(-1).float(), 1.0).to_event(2), obs=data)


def without_noise(data: Tensor) -> None:
    with pyro.plate_stack("datasets", data.shape[:-2]):
        z = pyro.sample("assignments", ChineseRestaurantProcess(0.7, data.shape[-2]))
        pyro.sample("data", dist.Delta(z.unsqueeze(-1).float()).to_event(2), obs=data)


REFUSED = {
    any_dimension: r"takes points of any dimension, .* Program\(model, event_shape=\(D,\)\)",
    without_labels: "has the sites data, expected 'assignments' and 'data'",
    one_data_set: "sample both inside pyro.plate_stack",
    fails: "does not run on templates .*RuntimeError: no luck",
    not_canonical: "assignments that are not canonical",
    without_noise: r"clusters of standard deviation 0, expected .* Program\(model, typical_scale=...\)",
}


@pytest.mark.parametrize(
    ("program", "message"), REFUSED.items(), ids=lambda one: getattr(one, "__name__", "")
)
def test_what_is_wrong_with_a_program_is_named(program, message):
    with pytest.raises(ValueError, match=message):
        NeuralClusteringProcess(program)


def test_the_caller_can_say_what_a_simulation_does_not_show():
    model = Program(any_dimension, event_shape=(3,), typical_scale=2.0, name="mine")
    assert repr(model) == "Program(mine, points of 3 numbers, simulation only)"
    assert model.typical_scale == 2.0
    guide = NeuralClusteringProcess(model)
    assert guide.posterior(torch.zeros(5, 3)).sample().shape == (5,)
    with pytest.raises(ValueError, match="model is a list, expected a Pyro program"):
        NeuralClusteringProcess([1, 2])
    assert model.given({}) is model
    with pytest.raises(ValueError, match="values has rate, expected none: model 'mine' has no"):
        model.given({"rate": 1.0})
    with pytest.raises(ValueError, match="typical_scale is 0"):
        Program(any_dimension, event_shape=(3,), typical_scale=0.0)


@pytest.mark.parametrize("kind", GUIDES)
def test_guides_take_arrays_and_data_frames(kind):
    torch.manual_seed(3)
    guide = kind(gaussian2d()).eval()
    array = np.random.default_rng(0).normal(size=(6, 2))
    frame = pd.DataFrame(array, columns=["a", "b"])
    found = []
    for data in (
        torch.tensor(array, dtype=torch.float32),
        array,
        frame,
        frame.astype("Float64"),
        array.tolist(),
    ):
        torch.manual_seed(4)
        found.append(guide.posterior(data).sample((20,)))
    assert all(torch.equal(found[0], one) for one in found)
    assert guide(array).shape == (6,)
    assert guide.double().points(array).dtype == torch.float64


WRONG = {
    "text": (np.array([["a", "b"]]), "data holds text, expected numbers"),
    "a column of text": (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), "data holds text"),
    "complex": (np.zeros((3, 2), dtype=complex), "data holds complex numbers"),
    "a complex tensor": (torch.zeros(3, 2, dtype=torch.complex64), "data holds complex numbers"),
    "dates": (np.zeros((3, 2), dtype="datetime64[s]"), "data holds dates"),
    "unequal": ([[1.0, 2.0], [3.0]], "data is a list that does not turn into an array"),
    "missing": (pd.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]}), "1 nan or infinite values"),
    "missing in pandas": (
        pd.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]}, dtype="Float64"),
        "1 nan or infinite values",
    ),
    "columns": (np.zeros((5, 3)), r"data has shape \(5, 3\), expected \(..., N, 2\)"),
    "nothing": (None, "nan or infinite|expected"),
}


@pytest.mark.parametrize(("data", "message"), WRONG.values(), ids=WRONG)
def test_what_are_no_points_is_named(data, message):
    guide = NeuralClusteringProcess(gaussian2d())
    with pytest.raises(ValueError, match=message):
        guide.posterior(data)


def test_numbers_of_one_column_need_its_dimension():
    with pytest.raises(ValueError, match=r"expected \(..., N, 1\) .*: add the dimension of the columns"):
        NeuralClusteringProcess(gaussian2d(1)).posterior(np.zeros(5))


def test_exact_and_weighted_posteriors_take_arrays():
    array, model = np.random.default_rng(0).normal(size=(4, 2)), gaussian2d()
    guide = NeuralClusteringProcess(model)
    assert exact_posterior(model, array)[1].shape == (15,)
    assert importance_sample(model, guide, pd.DataFrame(array), num_draws=5).assignments.shape == (1, 5, 4)
    particles, _ = sequential_monte_carlo(model, guide, array, num_particles=20)
    assert particles.assignments.shape == (1, 20, 4)
    assert amortization_gap(model, guide, array, num_draws=5).gap.shape == (1,)
