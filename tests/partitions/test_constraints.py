"""Constraints: closure, contradictions by name, allowed partitions by brute force, repairs."""

import itertools

import numpy as np
import pytest
import torch

from pyroclust.partitions import enumerate_partitions, is_canonical
from pyroclust.partitions.constraints import Constraints

EVERY = enumerate_partitions(6)
PAIRS = {"must_link": [(0, 1), (5, 1)], "cannot_link": [(0, 2), (3, 2)]}


def holds(partition: list[int], must_link, cannot_link) -> bool:
    return all(partition[i] == partition[j] for i, j in must_link) and all(
        partition[i] != partition[j] for i, j in cannot_link
    )


def random_pairs(generator: np.random.Generator, count: int) -> list[tuple[int, int]]:
    pairs = list(itertools.combinations(range(6), 2))
    return [pairs[place] for place in generator.choice(len(pairs), count, replace=False)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bounded", [False, True])
def test_allowed_partitions_are_those_of_brute_force_and_repairs_are_allowed(seed, bounded) -> None:
    generator = np.random.default_rng(seed)
    must, cannot = random_pairs(generator, seed % 3), random_pairs(generator, 1 + seed % 4)
    fewest, most = 1, 6
    if bounded:
        fewest = int(generator.integers(1, 5))
        most = fewest + int(generator.integers(0, 3))
    told = {"must_link": must, "cannot_link": cannot, "clusters": (fewest, most) if bounded else None}
    expected = [holds(one, must, cannot) and fewest <= len(set(one)) <= most for one in EVERY.tolist()]
    if not any(expected):
        with pytest.raises(ValueError, match=r"expected at|must be together by"):
            Constraints.of(6, **told)
        return
    known = Constraints.of(6, **told)
    assert known.allows(EVERY).tolist() == expected
    repaired, kept = known.repaired(EVERY), torch.tensor(expected)
    assert known.allows(repaired).all()
    assert is_canonical(repaired).all()
    assert torch.equal(repaired[kept], EVERY[kept])
    # Restricted to some points it allows what can be completed by the others, where clusters are free.
    chosen = torch.tensor(generator.permutation(6)[:4])
    some, of_four = known.on(chosen), enumerate_partitions(4)
    possible = {canonical_of(tuple(one)) for one in EVERY[kept][:, chosen].tolist()}
    allowed = {tuple(one) for one in of_four[some.allows(of_four)].tolist()}
    assert possible <= allowed
    assert bounded or possible == allowed


def canonical_of(labels: tuple[int, ...]) -> tuple[int, ...]:
    names: dict[int, int] = {}
    return tuple(names.setdefault(one, len(names)) for one in labels)


def test_labels_are_groups_that_are_all_apart() -> None:
    known = Constraints.of(labels=np.array([3, -1, 7, 3, 0, -1]))
    pairs = Constraints.of(6, must_link=[(0, 3)], cannot_link=[(0, 2), (2, 4), (3, 4)])
    assert known == pairs
    assert hash(known) == hash(pairs)
    assert repr(known) == "Constraints(6 points, 2 in 1 group, 3 pairs apart)"
    assert Constraints.of(4).allows(enumerate_partitions(4)).all()


def test_two_are_joined_and_points_may_follow_pairs() -> None:
    known = Constraints.of(**PAIRS)
    assert known.is_open
    assert known.num_points == 6
    assert known.over(8).num_points == 8
    assert known.over(6) == Constraints.of(6, **PAIRS)
    assert known.allows(torch.tensor([0, 0, 1, 0, 2, 0, 1, 3]))
    both = known.joined(Constraints.of(must_link=[(2, 7)]))
    assert both.over(8) == Constraints.of(8, must_link=[(0, 1), (5, 1), (2, 7)], cannot_link=[(0, 2), (3, 2)])
    with pytest.raises(ValueError, match="must be together by"):
        known.joined(Constraints.of(must_link=[(2, 5)]))
    with pytest.raises(ValueError, match=r"data has 5 points, and the constraints .* at least 6"):
        known.over(5)
    with pytest.raises(ValueError, match=r"data has 8 points, and the constraints .* of 6"):
        Constraints.of(6, **PAIRS).over(8)


def test_contradictions_are_named() -> None:
    for told, message in (
        ({"must_link": [(0, 1), (1, 2)], "cannot_link": [(2, 0)]}, r"pair \(2, 0\).* by \(1, 2\), \(0, 1\)"),
        ({"must_link": [(0, 1)], "labels": [0, 1, -1]}, r"different labels for 0 and 1.* by \(0, 1\)"),
        ({"must_link": [(0, 3)]}, r"must_link has the pair \(0, 3\), expected points from 0 to 2"),
        ({"cannot_link": [(1, 1)]}, r"cannot_link has the pair \(1, 1\), expected two different points"),
        ({"must_link": [0, 1]}, r"must_link has shape \(2,\)"),
        ({"must_link": [[0.0, 1.0]]}, "must_link has shape .* float64, expected pairs"),
        ({"labels": [0, 1]}, r"labels has shape \(2,\)"),
        ({"labels": [0.5, 1.0, 2.0]}, "labels has shape .* integers"),
    ):
        with pytest.raises(ValueError, match=message):
            Constraints.of(3, **told)
    chain = [(place, place + 1) for place in range(20)]
    with pytest.raises(ValueError, match=r"by \(0, 1\), \(1, 2\), \(2, 3\), \.\.\., \(17, 18\)"):
        Constraints.of(21, must_link=chain, cannot_link=[(0, 20)])


def test_numbers_of_clusters_belong_to_all_points_and_are_joined() -> None:
    known = Constraints.of(clusters=(2, 4))
    assert (
        repr(known.over(9)) == "Constraints(9 points, 0 in 0 groups, 0 pairs apart, between 2 and 4 clusters)"
    )
    assert known.over(3).clusters == (2, 4)
    assert known.joined(Constraints.of(clusters=(3, 9))).clusters == (3, 4)
    assert known.joined(Constraints.of(must_link=[(0, 1)])).clusters == (2, 4)
    assert known != Constraints.of(clusters=(2, 5))
    assert known.of_points is None
    assert Constraints.of(5, must_link=[(0, 1)], clusters=2).of_points == Constraints.of(
        5, must_link=[(0, 1)]
    )
    with pytest.raises(ValueError, match="asks for 5 clusters, and between 2 and 4 clusters are known"):
        known.joined(Constraints.of(clusters=5))
    with pytest.raises(ValueError, match="at least 2, and there are 1 points"):
        known.over(1)


def test_numbers_that_links_do_not_allow_are_named() -> None:
    pentagon = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    for told, message in (
        ({"clusters": 2, "labels": [0, 1, 2, -1, -1]}, "has 3 points or groups that are all apart"),
        (
            {"clusters": 2, "cannot_link": pentagon},
            "has 5 points or groups that are each apart from at least 2",
        ),
        (
            {"clusters": 4, "must_link": [(0, 1), (2, 3)]},
            "makes 3 groups of the 5 points: expected at most 3",
        ),
        ({"clusters": 6}, "at least 6, and there are 5 points"),
        ({"clusters": True}, "clusters is True, expected a number of at least 1"),
        ({"clusters": (1, 2, 3)}, r"clusters is \(1, 2, 3\), expected"),
    ):
        with pytest.raises(ValueError, match=message):
            Constraints.of(5, **told)
    # A star takes two clusters, however many points are apart from its middle.
    star = Constraints.of(6, cannot_link=[(0, other) for other in range(1, 6)], clusters=2)
    assert star.repaired(EVERY).unique(dim=0).tolist() == [[0, 1, 1, 1, 1, 1]]
