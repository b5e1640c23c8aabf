"""Spanning forests with noise: brute force, networkx, single linkage, gradients, and their law."""

from itertools import combinations

import networkx
import numpy as np
import pytest
import torch
from forest_cases import components_of, similarity_of
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.cluster import AgglomerativeClustering

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    PerturbedSpanningForest,
    perturbed_forest,
    standardised_similarity,
)
from pyroclust.distributions.spanning_forests import spanning_forests
from pyroclust.partitions import canonical, enumerate_partitions, is_canonical
from pyroclust.partitions.constraints import Constraints


def best_forest(weights: torch.Tensor, k: int) -> tuple[float, torch.Tensor]:
    """Try every set of n - k edges without a cycle."""
    n = len(weights)
    pairs, best = list(combinations(range(n), 2)), (-np.inf, torch.empty(0))
    for edges in combinations(pairs, n - k):
        total = sum(weights[u, v].item() for u, v in edges)
        if total > best[0]:
            labels = components_of(n, edges)
            if int(labels.max()) + 1 == k:
                best = (total, labels)
    return best


@pytest.mark.parametrize("k", range(1, 7))
def test_forests_are_the_heaviest_of_all(k: int) -> None:
    similarity, noise = similarity_of(6), torch.randn(3, 15, dtype=torch.float64)
    scales = torch.tensor([0.7, -0.7], dtype=torch.float64)
    found = spanning_forests(similarity, noise, scales, torch.full((6,), k))
    u, v = torch.tril_indices(6, 6, -1)
    for draw in range(3):
        for sign in range(2):
            weights = similarity.clone()
            weights[u, v] += scales[sign] * noise[draw]
            weights = weights.tril(-1) + weights.tril(-1).T
            row = 2 * draw + sign
            total, labels = best_forest(weights, k)
            assert (found.weights[row] * found.kept[row]).sum().item() == pytest.approx(total)
            assert torch.equal(found.labels[row], labels)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_hundred_points_have_the_forests_of_networkx(dtype) -> None:
    similarity, k = similarity_of(100, dtype=dtype), torch.tensor([1, 7, 100])
    found = spanning_forests(similarity, torch.zeros(1, 4950, dtype=dtype), torch.zeros(3), k)
    tree = networkx.maximum_spanning_tree(networkx.from_numpy_array(similarity.numpy()))
    edges = sorted(tree.edges(data="weight"), key=lambda edge: -edge[2])
    for row, number in enumerate(k.tolist()):
        kept = edges[: 100 - number]
        mine = {frozenset(one) for one in found.edges[row][found.kept[row]].tolist()}
        assert mine == {frozenset(edge[:2]) for edge in kept}
        assert torch.equal(found.labels[row], components_of(100, [edge[:2] for edge in kept]))


def test_without_noise_it_is_single_linkage() -> None:
    torch.manual_seed(1)
    points = torch.randn(60, 3, dtype=torch.float64)
    forest = PerturbedSpanningForest(-torch.cdist(points, points), 5, noise_scale=0.0)
    found = forest.sample((2,))
    method = AgglomerativeClustering(5, linkage="single").fit_predict(points.numpy())
    assert torch.equal(found, canonical(torch.from_numpy(method)).expand(2, -1))
    cut = fcluster(linkage(pdist(points.numpy()), "single"), 5, "maxclust")
    assert torch.equal(found[0], canonical(torch.from_numpy(cut)))


def test_draws_are_independent_and_their_means_are_the_means() -> None:
    forest = PerturbedSpanningForest(similarity_of(7), 3, noise_scale=0.6)
    torch.manual_seed(2)
    draws = forest.sample((20_000,))
    assert is_canonical(draws).all()
    assert (draws.amax(-1) == 2).all()
    together = (draws.unsqueeze(-1) == draws.unsqueeze(-2)).double().mean(0)
    mean = forest.co_assignment(num_draws=20_000, seed=3)
    torch.testing.assert_close(mean, together, atol=5 * 0.5 / 20_000**0.5 * 2**0.5, rtol=0)
    adjacency = forest.mean_adjacency(num_draws=1000, seed=3)
    assert adjacency.sum().item() == pytest.approx(2 * (7 - 3))
    assert torch.equal(adjacency, adjacency.T)
    # Draws one after the other are not antithetic: the second says nothing of the first.
    first, second = (draws[start::2, 0] == draws[start::2, 1] for start in (0, 1))
    assert abs(np.corrcoef(first.numpy(), second.numpy())[0, 1]) < 5 / 10_000**0.5


def test_a_law_of_the_number_of_clusters_reaches_every_partition() -> None:
    prior = ChineseRestaurantPrior(1.0)
    forest = PerturbedSpanningForest(torch.zeros(4, 4), prior, noise_scale=1.0)
    torch.manual_seed(4)
    draws = forest.sample((20_000,))
    assert {tuple(one) for one in draws.tolist()} == {tuple(one) for one in enumerate_partitions(4).tolist()}
    shares = torch.bincount(draws.amax(-1), minlength=4).double() / 20_000
    expected = prior.log_prob_num_clusters(4).exp()
    assert ((shares - expected).abs() < 5 * (expected * (1 - expected) / 20_000).sqrt()).all()


KNOWN = Constraints.of(10, must_link=[(0, 9), (2, 5)], cannot_link=[(0, 3), (3, 4), (4, 5), (0, 6)])


@pytest.mark.parametrize("law", [2, DirichletMultinomialPrior(4, 1.0)], ids=["2", "prior"])
@pytest.mark.parametrize(
    ("name", "known"),
    [("perturbed_maximum", None), ("perturbed_maximum", KNOWN), ("fenchel_young_loss", KNOWN)],
    ids=["maximum", "maximum under constraints", "loss"],
)
def test_gradients_are_those_of_differences_with_common_noise(name: str, known, law) -> None:
    similarity = similarity_of(10).requires_grad_()
    told = {"num_draws": 300, "seed": 5}

    def forest(matrix: torch.Tensor) -> PerturbedSpanningForest:
        return PerturbedSpanningForest(matrix, law, noise_scale=0.4, constraints=known)

    def value(matrix: torch.Tensor) -> torch.Tensor:
        return getattr(forest((matrix + matrix.T) / 2), name)(**told)

    assert torch.autograd.gradcheck(value, (similarity,))
    (gradient,) = torch.autograd.grad(value(similarity), similarity)
    direction, step = torch.randn(10, 10, dtype=torch.float64), 1e-6
    with torch.no_grad():
        change = value(similarity + step * direction) - value(similarity - step * direction)
    assert (change / (2 * step)).item() == pytest.approx((gradient * direction).sum().item(), abs=1e-5)
    assert gradient.abs().max() > 0.05
    if name == "perturbed_maximum":
        mean = forest(similarity).mean_adjacency(**told).detach()
        torch.testing.assert_close(gradient, mean / 2)


FEW = Constraints.of(6, must_link=[(0, 5)], cannot_link=[(0, 1)])


@pytest.mark.parametrize("known", [None, FEW], ids=["free", "constrained"])
@pytest.mark.parametrize("name", ["mean_adjacency", "co_assignment"])
def test_products_with_the_jacobian_are_those_of_differences(name: str, known) -> None:
    """Smoothed by noise the means are differentiable: central differences of many draws, common noise."""
    similarity = similarity_of(6).requires_grad_()
    torch.manual_seed(6)
    cotangent, direction = torch.randn(2, 6, 6, dtype=torch.float64)
    direction, step = direction + direction.T, 0.03

    def value(matrix: torch.Tensor, seed: int) -> torch.Tensor:
        forest = PerturbedSpanningForest(matrix, 3, noise_scale=0.5, constraints=known)
        return (cotangent * getattr(forest, name)(num_draws=40_000, seed=seed)).sum()

    slopes, changes = [], []
    for seed in range(10):
        (gradient,) = torch.autograd.grad(value(similarity, seed), similarity)
        slopes.append((gradient * direction).sum().item())
        with torch.no_grad():
            ahead, behind = (value(similarity + sign * step * direction, seed) for sign in (1, -1))
        changes.append((ahead - behind).item() / (2 * step))
    error = np.hypot(np.std(slopes, ddof=1), np.std(changes, ddof=1)) / 10**0.5
    assert abs(np.mean(slopes) - np.mean(changes)) < 4 * error
    assert error < 0.1 * abs(np.mean(slopes))


def test_results_do_not_depend_on_how_many_are_solved_at_a_time(monkeypatch) -> None:
    similarity = torch.stack([similarity_of(9, seed=seed) for seed in (0, 1)]).requires_grad_()
    forest = PerturbedSpanningForest(similarity, 3, noise_scale=0.5)

    def everything() -> list[torch.Tensor]:
        torch.manual_seed(7)
        means = [forest.mean_adjacency(num_draws=50), forest.co_assignment(num_draws=50)]
        total = forest.perturbed_maximum(num_draws=50).sum() + sum(one[:, 0].sum() for one in means)
        return [*means, total, *torch.autograd.grad(total, similarity), forest.sample((5,))]

    assert [tuple(one.shape) for one in everything()] == [(2, 9, 9), (2, 9, 9), (), (2, 9, 9), (5, 2, 9)]
    monkeypatch.setattr(perturbed_forest, "_NUMBERS_AT_ONCE", 9 * 36)
    for one, other in zip(everything(), everything(), strict=True):
        torch.testing.assert_close(one, other)


def test_similarities_are_standardised_over_pairs() -> None:
    torch.manual_seed(8)
    points = (torch.randn(3, 20, 2, dtype=torch.float64) + 100).requires_grad_()
    found = standardised_similarity(points)
    u, v = torch.tril_indices(20, 20, -1)
    pairs, squares = found[:, u, v], torch.cdist(points, points)[:, u, v].square()
    expected = (squares.mean(-1, keepdim=True) - squares) / squares.std(-1, correction=0, keepdim=True)
    torch.testing.assert_close(pairs, expected, rtol=1e-5, atol=1e-5)
    assert torch.autograd.gradcheck(standardised_similarity, points.detach()[:1, :5].requires_grad_())
    assert (standardised_similarity(torch.ones(6, 2)).abs() < 1e-3).all()


def test_bad_arguments_are_named() -> None:
    good = similarity_of(4)
    for similarity, told, message in (
        (good[:3], {}, r"similarity has shape \(3, 4\)"),
        (good.long(), {}, "similarity has dtype torch.int64"),
        (good + torch.arange(4.0), {}, "similarity is not symmetric: entries differ by up to 3"),
        (good / 0, {}, "entries off its diagonal that are not finite"),
        (good, {"num_clusters": 5}, "num_clusters is 5, expected at most 4"),
        (good, {"num_clusters": 0}, "num_clusters is 0, expected at least 1"),
        (good, {"noise_scale": -1.0}, "noise_scale is -1"),
    ):
        arguments = {"num_clusters": 2} | told
        with pytest.raises(ValueError, match=message):
            PerturbedSpanningForest(similarity, arguments.pop("num_clusters"), **arguments)
    forest = PerturbedSpanningForest(good.requires_grad_(), 2, noise_scale=0.0)
    with pytest.raises(ValueError, match="noise_scale is 0, expected above 0"):
        forest.co_assignment(num_draws=2).sum().backward()
    with pytest.raises(NotImplementedError, match="has no log_prob"):
        forest.log_prob(torch.zeros(4, dtype=torch.int64))
