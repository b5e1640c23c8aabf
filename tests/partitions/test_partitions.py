import pytest
import torch

from pyroclust import partitions as P


@pytest.mark.parametrize("num_points", range(1, 10))
def test_enumeration_is_complete_canonical_and_unique(num_points):
    labels = P.enumerate_partitions(num_points)
    assert labels.shape == (P.bell_number(num_points), num_points)
    assert labels.dtype == torch.int64
    assert P.is_canonical(labels).all()
    assert len(labels.unique(dim=0)) == len(labels)


def test_bell_numbers():
    assert [P.bell_number(n) for n in range(1, 11)] == [1, 2, 5, 15, 52, 203, 877, 4140, 21147, 115975]


def test_enumeration_returns_a_fresh_copy():
    P.enumerate_partitions(4).fill_(7)
    assert P.enumerate_partitions(4).max() == 3


@pytest.mark.parametrize("num_points", [0, 11])
def test_enumeration_refuses_sizes(num_points):
    with pytest.raises(ValueError, match=f"num_points is {num_points}, expected at (least 1|most 10)"):
        P.enumerate_partitions(num_points)


def test_canonical_agrees_with_a_dictionary():
    torch.manual_seed(0)
    labels = torch.randint(-3, 9, (50, 4, 12))
    result = P.canonical(labels).reshape(-1, 12).tolist()
    for given, found in zip(labels.reshape(-1, 12).tolist(), result, strict=True):
        names = {}
        assert found == [names.setdefault(label, len(names)) for label in given]


def test_canonical_is_idempotent_and_blind_to_renaming():
    labels = P.enumerate_partitions(6)
    assert torch.equal(P.canonical(labels), labels)
    assert torch.equal(P.canonical(torch.randperm(6)[labels]), labels)


@pytest.mark.parametrize("bad", [torch.tensor(3), torch.zeros(2, 0, dtype=torch.int64), torch.zeros(3)])
def test_canonical_refuses(bad):
    with pytest.raises(ValueError, match="assignments has"):
        P.canonical(bad)


def test_constraint():
    values = torch.tensor([[0, 0, 1], [0, 2, 1], [1, 0, 0], [0, -1, 0], [0, 1, 2]])
    expected = torch.tensor([True, False, False, False, True])
    assert torch.equal(P.partition.check(values), expected)
    assert torch.equal(P.partition.check(values.double()), expected)
    assert not P.partition.check(torch.tensor([0.0, 0.5, 1.0]))
    assert P.partition.is_discrete
    assert P.partition.event_dim == 1


def test_num_clusters_counts_distinct_labels():
    labels = P.enumerate_partitions(6)
    assert P.num_clusters(labels).tolist() == [len(set(row)) for row in labels.tolist()]
