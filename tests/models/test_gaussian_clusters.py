"""Generators of published benchmarks: what their own parameters are worth, their partitions, and errors."""

import numpy as np
import pytest
import torch
from pyro import poutine

from pyroclust.distributions import DiagonalMixture
from pyroclust.infer import simulate
from pyroclust.models import GaussianClusters, filtering_clusters, set_transformer_clusters
from pyroclust.partitions import canonical, num_clusters


def sites_of(model: GaussianClusters, sets: int, points: int) -> dict[str, torch.Tensor]:
    trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(sets, points, model.dim))
    names = ("weights", "means", "scales", "labels", "assignments", "data")
    return {name: trace.nodes[name]["value"] for name in names}


def oracle(model: GaussianClusters, sizes: tuple[int, int], *, batches: int, empirical: bool) -> float:
    """Return the mean log-likelihood a point of the true parameters."""
    random, found = np.random.default_rng(0), []
    for _ in range(batches):
        points = int(random.integers(*sizes))
        sites = sites_of(model, 10, points)
        weights = sites["weights"]
        if empirical:
            weights = torch.nn.functional.one_hot(sites["labels"], weights.shape[-1]).float().mean(1)
        law = DiagonalMixture(weights.log(), sites["means"], sites["scales"], num_points=points)
        found.append(law.log_prob(sites["data"]) / points)
    return torch.cat(found).mean().item()


def test_true_parameters_are_worth_what_was_published_for_the_set_transformer() -> None:
    torch.manual_seed(0)
    assert oracle(set_transformer_clusters(4), (100, 501), batches=400, empirical=False) == pytest.approx(
        -1.4726, abs=0.01
    )
    assert oracle(set_transformer_clusters(6), (1000, 5001), batches=50, empirical=False) == pytest.approx(
        -1.8202, abs=0.02
    )


def test_true_parameters_are_worth_what_was_published_for_filtering() -> None:
    torch.manual_seed(0)
    found = oracle(filtering_clusters(12), (900, 3000), batches=100, empirical=True)
    assert found == pytest.approx(-1.5245, abs=0.04)


@pytest.mark.parametrize(
    "model", [set_transformer_clusters(4), filtering_clusters(4)], ids=lambda one: one.name
)
def test_partitions_obey_the_prior_that_the_model_names(model: GaussianClusters) -> None:
    torch.manual_seed(1)
    found = num_clusters(simulate(model, torch.empty(20_000, 6, 2))[1])
    torch.manual_seed(2)
    expected = num_clusters(model.partition_prior.partition(6).expand((20_000,)).sample())
    for number in range(1, 5):
        shares = [(one == number).double().mean().item() for one in (found, expected)]
        assert shares[0] == pytest.approx(shares[1], abs=5 * (0.5 / 20_000) ** 0.5)


def test_sites_fit_one_another() -> None:
    torch.manual_seed(3)
    sites = sites_of(filtering_clusters(5), 50, 40)
    assert torch.equal(canonical(sites["labels"]), sites["assignments"])
    torch.testing.assert_close(sites["weights"].sum(-1), torch.ones(50))
    chosen = sites["weights"].gather(-1, sites["labels"])
    assert (chosen > 0).all()
    place = sites["labels"].unsqueeze(-1).expand(-1, -1, 2)
    off = (sites["data"] - sites["means"].gather(1, place)) / sites["scales"].gather(1, place)
    assert off.std().item() == pytest.approx(1.0, abs=0.05)
    assert (sites["weights"] == 0).any()
    assert (sites_of(set_transformer_clusters(4), 50, 9)["weights"] > 0).all()
