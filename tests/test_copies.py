"""What a user holds can be copied and pickled, for other processes, and works on as before."""

import copy
import pickle

import numpy as np
import pytest
import torch

import pyroclust
from pyroclust.guides import PredictiveFilter
from pyroclust.infer.mcmc import GuideProposal
from pyroclust.infer.mcmc.named_kernels import kernel_names, named_kernel
from pyroclust.models import (
    PosteriorPredictive,
    StochasticBlockModel,
    companion,
    gaussian2d,
    niw_mixture,
)

ROWS = np.concatenate(
    [np.random.default_rng(0).normal(size=(8, 2)), np.random.default_rng(1).normal(8.0, size=(8, 2))]
)
POINTS = torch.tensor(ROWS, dtype=torch.float32)
COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}
SHORT = {"mcmc_draws": 20, "num_chains": 2, "warmup": 20}
MODELS = {
    "mixture": gaussian2d,
    "random": lambda: niw_mixture(2),
    "constrained": lambda: gaussian2d().constrained(must_link=[(0, 1)], cannot_link=[(0, 2)]),
    "weighted": lambda: gaussian2d().weighted(range(1, 17)),
    "graphs": StochasticBlockModel,
    "companion": lambda: companion(gaussian2d(), num_components=3),
    "predictive": lambda: PosteriorPredictive(gaussian2d(), POINTS, torch.zeros(1, 16, dtype=torch.int64)),
}
GUIDES = [
    "acp-gaussian2d",
    "acps-gaussian2d",
    "ccp-gaussian2d",
    "ccx-mog",
    "dac-mog",
    "filter-niw2d",
    "ncp-niw2d",
]


@pytest.fixture(params=COPIES)
def copied(request):
    return COPIES[request.param]


@pytest.fixture(scope="module")
def found():
    return pyroclust.cluster(ROWS, **SHORT)


@pytest.mark.parametrize("what", ["cluster", "constrained", "forest"])
def test_results(copied, found, what) -> None:
    if what == "constrained":
        found = pyroclust.cluster(ROWS, must_link=[(0, 1)], **SHORT)
    if what == "forest":
        found = pyroclust.forest(ROWS, num_clusters=2, num_draws=20)
    other = copied(found)
    assert repr(other) == repr(found)
    assert other.frame().equals(found.frame())


def test_draws_and_predictions(copied, found) -> None:
    draws = found.draws["mcmc"]
    np.testing.assert_array_equal(copied(draws).assignments, draws.assignments)
    told = pyroclust.predict(found, ROWS[:2])
    assert copied(told).frame().equals(told.frame())


@pytest.mark.parametrize("name", MODELS)
def test_models(copied, name) -> None:
    model = MODELS[name]()
    other = copied(model)
    assert repr(other) == repr(model)
    if hasattr(model, "log_joint") and name not in ("random", "graphs", "companion"):
        labels = torch.arange(16)
        assert torch.equal(other.log_joint(POINTS, labels), model.log_joint(POINTS, labels))


@pytest.mark.parametrize("name", GUIDES)
def test_guides(copied, name) -> None:
    guide = pyroclust.load_guide(name)
    drawn = []
    for one in (guide, copied(guide)):
        torch.manual_seed(0)
        drawn.append(one.posterior(POINTS).sample((2,)))
    assert torch.equal(*drawn)


@pytest.mark.parametrize("name", [*kernel_names(), "guide"])
def test_kernels_go_on(copied, name) -> None:
    model = gaussian2d()
    kernel = GuideProposal(model, PredictiveFilter(model)) if name == "guide" else named_kernel(name, model)
    torch.manual_seed(0)
    kernel.setup(0, POINTS)
    state = kernel.sample(kernel.initial_params)
    other, state = copied((kernel, state))
    for _ in range(3):
        state = other.sample(state)
    if name != "auxiliary":
        wanted = model.log_joint(POINTS, state["assignments"])
        torch.testing.assert_close(state["log_joint"], wanted, rtol=1e-8, atol=1e-8)
