"""Data sets of other laws with partitions of the posterior: exact on few points, and resumed as they were."""

from pathlib import Path

import pyro
import pytest
import torch
from pyro import poutine
from pyro.distributions import Delta
from training_cases import same

from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer import FitSettings, exact_posterior, fit
from pyroclust.infer.training.posterior_laws import PosteriorPool
from pyroclust.models import DistortedClusters, Mixture, UnlabelledTables, gaussian2d, niw_mixture

TABLE = torch.tensor([[0.0, 0.0], [0.9, 0.1], [2.1, 0.3], [2.4, -1.0], [0.2, 1.3]]) * 1.8


class OneTable:
    """Always the same data set: the first points of a table."""

    name, event_shape = "one_table", (2,)

    def __call__(self, data: torch.Tensor) -> torch.Tensor:
        with pyro.plate("datasets", len(data)):
            value = TABLE[: data.shape[1]].expand(data.shape)
            return pyro.sample("data", Delta(value, event_dim=2), obs=data)


def drawn(pool: PosteriorPool, *shape: int) -> dict[str, torch.Tensor]:
    trace = poutine.trace(poutine.uncondition(pool)).get_trace(torch.empty(shape))
    return {name: trace.nodes[name]["value"] for name in ("assignments", "data")}


@pytest.mark.parametrize("model", [gaussian2d(), niw_mixture(2)], ids=["known", "gamma"])
def test_partitions_follow_the_exact_posterior(model: Mixture) -> None:
    torch.manual_seed(0)
    pool = PosteriorPool(model, {OneTable(): 1.0}, prior=0.0, partitions=10, sweeps=1)
    labels = torch.cat([drawn(pool, 200, 5, 2)["assignments"] for _ in range(30)])
    partitions, log_prob = exact_posterior(model, TABLE.double())
    found = (labels.unsqueeze(1) == partitions).all(-1).double().mean(0)
    assert found.sum() == pytest.approx(1.0)
    assert 0.5 * (found - log_prob.exp()).abs().sum() < 0.04


def test_every_law_and_the_prior_have_their_shares() -> None:
    torch.manual_seed(1)
    model = gaussian2d()
    pool = PosteriorPool(model, {OneTable(): 1.0, DistortedClusters(model): 3.0}, prior=4.0, visits=1)
    sets = [drawn(pool, 8, 5, 2)["data"][0] for _ in range(400)]
    fixed = sum(bool((one == TABLE).all()) for one in sets)
    standard = sum(bool((one.mean(0).abs() < 1e-5).all()) for one in sets)
    assert 25 <= fixed <= 78  # 50 expected, four standard deviations
    assert 110 <= standard <= 190  # 150 expected


@pytest.mark.parametrize("points", [2, 3, 5, 6, 8, 40])
def test_sizes_are_not_above_those_of_the_step(points: int) -> None:
    pool = PosteriorPool(gaussian2d(), {DistortedClusters(gaussian2d()): 1.0}, prior=0.0, partitions=2)
    found = drawn(pool, 8, points, 2)["data"].shape
    assert 0.75 * points <= found[1] <= points
    assert found[0] % 2 == 0


def trained(folder: Path | None, **options: object) -> dict[str, torch.Tensor]:
    model = gaussian2d()
    with torch.random.fork_rng():
        torch.manual_seed(3)
        guide = NeuralClusteringProcess(model)
    settings = FitSettings(steps=12, max_points=9, points_per_step=60, warmup_steps=2)
    pool = PosteriorPool(model, {DistortedClusters(model): 1.0}, visits=2, partitions=2, burn_in=4)
    fit(model, guide, data=pool, settings=settings, folder=folder, progress=False, **options)
    return {name: value.clone() for name, value in guide.state_dict().items()}


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = trained(None)
    trained(tmp_path, max_steps=7)
    torch.rand(5)
    assert same(whole, trained(tmp_path, resume=True))


def test_bad_pools_are_refused() -> None:
    model, law = gaussian2d(), DistortedClusters(gaussian2d())
    for laws, options, message in (
        ({}, {}, r"laws is empty"),
        ({DistortedClusters(niw_mixture(3)): 1.0}, {}, r"points of shape \(3,\), expected \(2,\)"),
        ({law: -1.0}, {}, r"a share of laws is -1"),
        ({law: 0.0}, {"prior": 0.0}, r"only shares of 0"),
        ({law: 1.0}, {"partitions": 0}, r"partitions is 0"),
        ({law: 1.0}, {"sweeps": 1.5}, r"sweeps is 1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            PosteriorPool(model, laws, **options)
    random = Mixture(
        ChineseRestaurantPrior(1.0), NormalKnownVariance(2, prior_scale=torch.distributions.Gamma(2.0, 1.0))
    )
    with pytest.raises(ValueError, match=r"random hyperparameters"):
        PosteriorPool(random, {law: 1.0})
    pool = PosteriorPool(model, {UnlabelledTables([torch.randn(20, 2)], dim=2): 1.0}, prior=0.0)
    with pytest.raises(ValueError, match=r"expected at most 20, the rows of the longest table"):
        drawn(pool, 4, 60, 2)
