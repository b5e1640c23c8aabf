"""Deep amortized clustering: its losses by hand, its law by enumeration, filtering, and errors."""

from copy import deepcopy
from itertools import permutations

import pytest
import torch
from torch.nn import functional as F

from pyroclust import load_guide, save_guide
from pyroclust.guides import DeepAmortizedClustering, filtering_network_for
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import DeformedGlyphs, filtering_clusters, warped_clusters
from pyroclust.nn import FlowDensity, GaussianDensity, ImageEncoder
from pyroclust.partitions import canonical, enumerate_partitions

MODEL = filtering_clusters(3)
SMALL = {"width": 16, "num_blocks": 1, "num_inducing": 4, "num_heads": 2}


def small(
    model=MODEL, *, removed: bool = True, every_round: bool = False, num_anchors: int = 1, **told
) -> DeepAmortizedClustering:
    torch.manual_seed(0)
    network = filtering_network_for(model, **deepcopy(SMALL | told))
    return DeepAmortizedClustering(
        model,
        network=network,
        removed=removed,
        every_round=every_round or "num_values" in told,
        num_anchors=num_anchors,
    )


def sets(number: int = 4, points: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return simulate(MODEL, torch.empty(number, points, 2))


def found_by(guide: DeepAmortizedClustering, data: torch.Tensor, points: list[int], *, closed: int = 0):
    """Run one round on some points of one data set, without any padding."""
    encoding = guide.network.encode(data.unsqueeze(0))
    index, there = torch.tensor([points]), torch.ones(1, len(points), dtype=torch.bool)
    return guide.network.find(encoding, torch.tensor([0]), index, there, torch.tensor([closed]))


FLOW, RANK_ONE = FlowDensity(2, 16, hidden_width=16), GaussianDensity(2, 16, rank_one=True)
LAWS = [
    {},
    {"differences": True},
    {"density": FLOW},
    {"density": RANK_ONE},
    {"described": False},
    {"anchored": False},
    {"progress": True},
    {"num_values": 3},
    {"num_values": 2, "progress": True, "differences": True},
]


@pytest.mark.parametrize("told", LAWS, ids=", ".join)
def test_it_sums_to_one_over_partitions_and_draws_have_these_probabilities(told: dict) -> None:
    guide, (data, _) = small(**told), sets(2, 6)
    posterior = guide.posterior(data)
    partitions = enumerate_partitions(6).unsqueeze(1)
    torch.testing.assert_close(
        posterior.log_prob(partitions).logsumexp(0), torch.zeros(2).double(), atol=1e-5, rtol=0
    )
    draws, log_q = posterior.sample_and_log_prob((50,))
    torch.testing.assert_close(posterior.log_prob(draws), log_q, atol=1e-4, rtol=1e-5)
    assert posterior.is_exact


@pytest.mark.parametrize("progress", [False, True])
def test_its_law_is_the_product_of_the_rounds_of_the_clusters(progress) -> None:
    guide, (data, _) = small(progress=progress), sets(1, 6)
    data, order = data[0], torch.tensor([2, 0, 5, 1, 4, 3])
    # The clusters in the order of their anchors: {2, 4}, {0, 5, 3}, {1}.
    partition = canonical(torch.tensor([1, 2, 0, 1, 0, 1]))
    rounds = [([2, 0, 5, 1, 4, 3], {2, 4}), ([0, 5, 1, 3], {0, 5, 3}), ([1], {1})]
    expected = torch.zeros((), dtype=torch.float64)
    for closed, (points, members) in enumerate(rounds):
        logits = found_by(guide, data, points, closed=closed).logits[0].double()
        for place, point in enumerate(points[1:], 1):
            expected = expected + F.logsigmoid(logits[place] if point in members else -logits[place])
    found = guide.posterior(data, order=order).log_prob(partition)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_without_anchors_the_surest_point_is_the_anchor() -> None:
    guide, (data, _) = small(anchored=False), sets(1, 6)
    torch.nn.init.normal_(guide.network.head[1].weight)
    partition = canonical(torch.tensor([1, 2, 0, 1, 0, 1]))
    left, expected = list(range(6)), torch.zeros((), dtype=torch.float64)
    while left:
        logits = found_by(guide, data[0], left).logits[0].double()
        anchor = left[int(logits.argmax())]
        joined = [one for one in left if partition[one] == partition[anchor]]
        for place, point in enumerate(left):
            if point != anchor:
                expected = expected + F.logsigmoid(logits[place] if point in joined else -logits[place])
        left = [one for one in left if one not in joined]
    found = guide.posterior(data[0]).log_prob(partition)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_what_was_filtered_is_not_seen_any_more() -> None:
    guide, (data, _) = small(), sets(1, 8)
    moved = data[0].clone()
    moved[[1, 6]] += 100.0
    for one, other in zip(*(found_by(guide, x, [3, 0, 2, 4]) for x in (data[0], moved)), strict=True):
        torch.testing.assert_close(one, other)


def test_progress_tells_what_was_filtered_before() -> None:
    data = sets(1, 8)[0][0]
    for progress in (False, True):
        guide = small(progress=progress)
        seen = [found_by(guide, data, [3, 0, 2], closed=closed).logits for closed in (0, 1, 2)]
        assert torch.equal(seen[0], seen[1]) is not progress
        assert torch.equal(seen[1], seen[2]) is not progress
        fewer = found_by(guide, data[:4], [3, 0, 2]).logits
        assert torch.allclose(seen[0], fewer) is not progress


def test_a_latent_lets_a_group_join_as_a_whole_or_not_at_all() -> None:
    guide = small(num_values=2)
    network = guide.network
    # One value takes all points, the other none; each has probability one half.
    for parameter in (network.head[1].weight, network.to_values.weight, network.to_values.bias):
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        network.head[1].bias[:] = torch.tensor([9.0, -9.0])
    posterior = guide.posterior(sets(1, 7)[0][0])
    draws = posterior.sample((400,))
    second = F.one_hot(draws, 7).sum(1).sort(-1).values[:, -2]
    assert (second <= 1).double().mean() > 0.97
    together = torch.zeros(7).long()
    assert (draws == together).all(-1).double().mean().item() == pytest.approx(0.5, abs=0.1)
    assert posterior.log_prob(together).exp().item() == pytest.approx(0.5, abs=1e-3)


def test_a_latent_that_is_added_changes_little_at_first() -> None:
    old, (data, labels) = small(differences=True), sets(20)
    torch.nn.init.normal_(old.network.head[1].weight)
    before = {name: value.clone() for name, value in old.state_dict().items()}
    new, order = old.with_latent(4), torch.arange(12)
    assert (new.network.num_values, new.network.progress, new.every_round) == (4, True, True)
    one, other = (guide.posterior(data, order=order).log_prob(labels) for guide in (old, new))
    assert (one - other).abs().mean() < 0.15 * one.abs().mean()
    found = new.posterior(data, order=order).log_prob(torch.zeros(12).long())
    assert not torch.allclose(found, old.posterior(data, order=order).log_prob(torch.zeros(12).long()))
    assert all(torch.equal(before[name], value) for name, value in old.state_dict().items())


def every_order(guide: DeepAmortizedClustering, data: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the losses of all orders of one data set, round by round."""
    losses = []
    for order in permutations(range(len(data))):
        left, closed, loss = (
            list(order),
            0,
            -guide.posterior(data, order=torch.tensor(order)).log_prob(labels),
        )
        while left:
            context = found_by(guide, data, left, closed=closed).context
            members = [one for one in left if labels[one] == labels[left[0]]]
            loss = loss - guide.network.density(context, data[members].unsqueeze(0)).sum()
            left, closed = [one for one in left if one not in members], closed + 1
        losses.append(loss)
    return torch.stack(losses).detach()


@pytest.mark.parametrize("told", [{"every_round": True}, {"num_values": 3, "progress": True}], ids=", ".join)
def test_the_loss_of_every_round_is_minus_log_q_and_the_density_of_the_members(told: dict) -> None:
    guide, (data, _), labels = small(**told), sets(1, 4), torch.tensor([0, 1, 0, 2])
    every = every_order(guide, data[0], labels)
    drawn = guide.losses(data.expand(2000, 4, 2), labels.expand(2000, 4)).detach()
    gap = (drawn.unsqueeze(-1) - every).abs()
    assert gap.amin(-1).max() < 1e-3
    assert len(gap.argmin(-1).unique()) > 10
    assert abs(drawn.mean() - every.mean()) < 5 * drawn.std() / 2000**0.5


@pytest.mark.parametrize("every_round", [False, True])
def test_several_anchors_a_data_set_are_averaged(every_round) -> None:
    data, labels = sets(1)
    data, labels = data.expand(2000, 12, 2), labels.expand(2000, 12)
    one, four = (
        small(every_round=every_round, num_anchors=number).losses(data, labels).detach() for number in (1, 4)
    )
    assert abs(one.mean() - four.mean()) < 5 * one.std() / 2000**0.5
    assert (four.std() / one.std()).item() == pytest.approx(0.5, abs=0.06)


def by_hand(guide: DeepAmortizedClustering, data: torch.Tensor, labels: torch.Tensor, anchor: int | None):
    """Return the loss of one round on all points of one data set, from Pyro's and torch's own parts."""
    points = list(range(len(data)))
    if anchor is not None:
        points = [anchor, *(one for one in points if one != anchor)]
    found = found_by(guide, data, points)
    scored = guide.network.density(found.context, data[points].unsqueeze(0))[0]
    losses = []
    for cluster in [labels[anchor]] if anchor is not None else range(int(labels.max()) + 1):
        member = labels[points] == cluster
        paid = F.binary_cross_entropy_with_logits(found.logits[0], member.float())
        losses.append(paid - scored[member].mean())
    return min(losses)


def test_the_anchored_loss_is_the_mean_over_anchors() -> None:
    guide, (data, labels) = small(removed=False), sets(1)
    every = torch.stack([by_hand(guide, data[0], labels[0], anchor) for anchor in range(12)])
    drawn = guide.losses(data.expand(4000, 12, 2), labels.expand(4000, 12)).detach() / 12
    assert (drawn.unsqueeze(-1) - every).abs().amin(-1).max() < 1e-3
    error = drawn.std() / 4000**0.5
    assert abs(drawn.mean() - every.mean()) < 5 * error


def test_without_anchors_the_loss_is_that_of_the_best_cluster() -> None:
    guide, (data, labels) = small(removed=False, anchored=False), sets(3)
    found = guide.losses(data, labels) / 12
    for place in range(3):
        expected = by_hand(guide, data[place], labels[place], None)
        torch.testing.assert_close(found[place], expected, atol=1e-4, rtol=1e-4)


def test_clusters_are_removed_before_in_training() -> None:
    guide = small()
    labels = torch.tensor([[0, 0, 1, 1, 1, 2]]).expand(3000, 6)
    points, mask, gone = guide._left(labels)
    assert (mask.sum(-1) >= 1).all()
    seen = [tuple(sorted(one[there].tolist())) for one, there in zip(points, mask, strict=True)]
    assert set(seen) == {
        (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4), (0, 1, 5), (2, 3, 4, 5), (0, 1), (2, 3, 4), (5,)
    }  # fmt: skip
    assert [len({(0, 0, 1, 1, 1, 2)[point] for point in one}) for one in seen] == (3 - gone).tolist()
    share = sum(one == (0, 1, 2, 3, 4, 5) for one in seen) / 3000
    assert share == pytest.approx(1 / 3, abs=0.05)
    # The anchor, the point in front, is uniform among those that are left.
    first = points[torch.tensor([one == (0, 1, 5) for one in seen]), 0]
    for point in (0, 1, 5):
        assert (first == point).double().mean().item() == pytest.approx(1 / 3, abs=0.12)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"anchored": False},
        {"differences": True, "density": FLOW},
        {"num_values": 3, "progress": True, "num_anchors": 2},
    ],
    ids=", ".join,
)
def test_a_short_training_learns_and_is_saved(told: dict, tmp_path) -> None:
    guide = small(**told)
    data, labels = sets(64)
    before = guide.losses(data, labels).mean().item()
    settings = FitSettings(steps=40, max_points=30, points_per_step=300, warmup_steps=5)
    fit(MODEL, guide, settings=settings)
    assert guide.losses(data, labels).mean().item() < before
    save_guide(guide, tmp_path / "one")
    again, order = load_guide(tmp_path / "one"), torch.randperm(12)
    one, other = (each.filtering(data, order=order) for each in (guide, again))
    assert torch.equal(one.assignments, other.assignments)
    torch.testing.assert_close(guide.log_density(data, one), again.log_density(data, other))


def test_filtering_is_what_the_search_gives_and_reports_what_is_left() -> None:
    guide, (data, _) = small(), sets(5)
    order = torch.arange(12)
    whole = guide.filtering(data, order=order)
    assert whole.filtered.all()
    assert torch.equal(whole.assignments, guide.posterior(data, order=order).map_partition(width=1))
    short = guide.filtering(data, order=order, max_rounds=1)
    assert (short.num_rounds == 1).all()
    assert torch.equal(short.filtered, whole.rounds == 0)
    # What is left is one cluster, and said to be.
    for place in range(5):
        left = short.assignments[place][~short.filtered[place]]
        assert len(left.unique()) <= 1
    assert "never filtered" in repr(short)


def almost_flat(guide: DeepAmortizedClustering) -> DeepAmortizedClustering:
    """Make all clusters nearly alike, so that their numbers and sizes count."""
    for parameter in guide.network.density.parameters():
        parameter.data *= 0.002
    return guide


@pytest.mark.parametrize("told", [{}, {"density": FLOW}], ids=["gaussian", "flow"])
def test_of_several_orders_the_best_by_density_and_clusters_stays(told: dict) -> None:
    guide, (data, _) = almost_flat(small(**told)), sets(5)
    torch.manual_seed(3)
    found = guide.filtering(data, num_orders=6)
    torch.manual_seed(3)
    orders = torch.rand(30, 12).argsort(-1).view(6, 5, 12)
    alone = [guide.filtering(data, order=order) for order in orders]
    price = 2.5 * torch.tensor(12.0, dtype=torch.float64).log()
    scores = torch.stack([guide.log_density(data, one) - one.num_rounds * price for one in alone])
    for place, best in enumerate(scores.argmax(0).tolist()):
        assert torch.equal(found.assignments[place], alone[best].assignments[place])
    assert len(set(scores.argmax(0).tolist())) > 1


def test_points_move_to_the_cluster_that_most_likely_made_them() -> None:
    guide, (data, _) = almost_flat(small()), sets(5)
    whole = guide.filtering(data, order=torch.arange(12))
    short = guide.filtering(data, order=torch.arange(12), max_rounds=2)
    # The largest cluster is that of the first round, and of the last one of the turned.
    turned = whole.moved(whole.num_rounds.unsqueeze(-1) - 1 - whole.rounds)
    for found in (whole, short, turned):
        moved = guide.reassigned(data, found)
        for place in range(5):
            most = int(found.num_rounds[place])
            counts = torch.bincount(found.rounds[place][found.filtered[place]], minlength=most)
            context = found.contexts[place, :most]
            with torch.no_grad():
                scored = guide.network.density(context, data[place].expand(most, -1, -1))
            best = (scored + counts.log().unsqueeze(-1)).argmax(0)
            assert torch.equal(moved.assignments[place], canonical(best))
            torch.testing.assert_close(
                moved.contexts[place, moved.rounds[place]], context[best], atol=0, rtol=0
            )
        assert moved.filtered.all()
    nobody = guide.reassigned(data, whole.moved(torch.full((5, 12), -1)))
    assert not nobody.filtered.any()
    assert (nobody.contexts == 0).all()


def test_without_anchors_a_round_that_finds_nobody_is_the_last() -> None:
    guide, (data, _) = small(anchored=False), sets(3)
    torch.nn.init.constant_(guide.network.head[1].bias, -50.0)
    found = guide.filtering(data)
    assert not found.filtered.any()
    assert (found.num_rounds == 0).all()
    assert (found.assignments == 0).all()
    # As a distribution it lets the point that it is surest of be a cluster of its own.
    assert guide.posterior(data).sample().amax(-1).tolist() == [11, 11, 11]


@pytest.mark.parametrize("told", [{}, {"density": FLOW}, {"density": RANK_ONE}], ids=["", "flow", "rank one"])
def test_data_in_double_precision_are_taken(told: dict) -> None:
    guide, (data, labels) = small(**told), sets(3)
    order = torch.arange(12)
    one, other = (guide.filtering(each, order=order) for each in (data, data.double()))
    assert torch.equal(one.assignments, other.assignments)
    torch.testing.assert_close(guide.log_density(data, one), guide.log_density(data.double(), other))
    assert guide.losses(data.double(), labels).isfinite().all()


def test_data_sets_do_not_see_one_another() -> None:
    guide, (data, _) = small(), sets(6)
    order = torch.arange(12)
    together = guide.filtering(data, order=order)
    for place in range(6):
        alone = guide.filtering(data[place], order=order)
        assert torch.equal(alone.assignments[0], together.assignments[place])
        rounds = int(alone.num_rounds[0])
        torch.testing.assert_close(
            alone.contexts[0, :rounds], together.contexts[place, :rounds], atol=1e-4, rtol=1e-4
        )


def test_log_density_is_that_of_the_mixture_of_what_was_found() -> None:
    guide, (data, _) = small(), sets(2)
    found = guide.filtering(data)
    expected = torch.zeros(2, dtype=torch.float64)
    for place in range(2):
        parts = []
        for number in range(int(found.num_rounds[place])):
            share = (found.rounds[place] == number).double().mean()
            context = found.contexts[place, number].unsqueeze(0)
            scored = guide.network.density(context, data[place].unsqueeze(0))[0]
            parts.append(share.log() + scored.double())
        expected[place] = torch.stack(parts).logsumexp(0).sum()
    torch.testing.assert_close(guide.log_density(data, found), expected, rtol=1e-5, atol=1e-3)


def test_images_are_encoded_and_their_density_bounded_or_left_out() -> None:
    model = DeformedGlyphs(8)
    data, labels = simulate(model, torch.empty(3, 10, 8, 8))
    guide = small(model, encoder=ImageEncoder(8, dim=6, width=8))
    assert guide.losses(data, labels).isfinite().all()
    assert guide.log_density(data, guide.filtering(data)).isfinite().all()
    guide = small(model, encoder=ImageEncoder(8, dim=6, width=8), described=False)
    with pytest.raises(ValueError, match="network has no density"):
        guide.log_density(data, guide.filtering(data))


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="num_values is 2 and anchored False"):
        filtering_network_for(MODEL, anchored=False, num_values=2)
    with pytest.raises(ValueError, match="network has num_values 2, expected 0 where one round is trained"):
        DeepAmortizedClustering(MODEL, network=filtering_network_for(MODEL, **SMALL, num_values=2))
    with pytest.raises(ValueError, match="every_round is True, expected a network with anchors"):
        small(every_round=True, anchored=False)
    with pytest.raises(ValueError, match="differences is True and anchored False"):
        filtering_network_for(MODEL, anchored=False, differences=True)
    with pytest.raises(ValueError, match="density is given and described is False"):
        filtering_network_for(MODEL, density=FLOW, described=False)
    with pytest.raises(ValueError, match="max_rounds is 0"):
        small().filtering(sets()[0], max_rounds=0)
    for wrong in (small(anchored=False), small(described=False)):
        with pytest.raises(ValueError, match="num_orders is 2, expected 1: orders of anchors are compared"):
            wrong.filtering(sets()[0], num_orders=2)
    with pytest.raises(ValueError, match="num_orders is 2 and an order is given"):
        small().filtering(sets()[0], num_orders=2, order=torch.arange(12))
    with pytest.raises(ValueError, match="order has shape"):
        small().posterior(sets()[0], order=torch.tensor([0, 1]))
    assert small(warped_clusters()).filtering(torch.zeros(2, 5, 2)).assignments.shape == (2, 5)
