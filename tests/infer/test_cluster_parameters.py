"""Cluster parameters given a partition, against conjugate formulas."""

import pytest
import torch

from pyroclust.infer import cluster_parameters
from pyroclust.models import gaussian2d, nig_mixture, niw_mixture, warped_clusters

SAMPLES = 20_000


def test_means_follow_the_conjugate_formula():
    model = gaussian2d()
    data = torch.tensor([[1.0, 2.0], [2.0, 0.0], [3.0, 1.0], [-8.0, 4.0]])
    assignments = torch.tensor([0, 0, 0, 1])
    found = cluster_parameters(model, data, assignments, num_samples=SAMPLES)["loc"]
    prior, noise = float(model.component.prior_scale), float(model.component.scale)
    for k, members in enumerate((data[:3], data[3:])):
        precision = 1 / prior**2 + len(members) / noise**2
        expected = members.sum(0) / noise**2 / precision
        torch.testing.assert_close(
            found[:, k].mean(0).double(),
            expected.double(),
            atol=5 * float(precision) ** -0.5 / SAMPLES**0.5,
            rtol=0,
        )
        torch.testing.assert_close(found[:, k].var(0).mean().item(), 1 / float(precision), rtol=0.05, atol=0)


def test_many_partitions_at_once_and_absent_clusters():
    data = torch.randn(5, 2)
    partitions = torch.tensor([[0, 0, 0, 0, 0], [0, 1, 2, 0, 1]])
    found = cluster_parameters(niw_mixture(2), data, partitions, num_samples=7)
    assert found["loc"].shape == (7, 2, 3, 2)
    assert found["scale_tril"].shape == (7, 2, 3, 2, 2)


def test_refuses_what_has_no_closed_form():
    with pytest.raises(ValueError, match="expected a conjugate family"):
        cluster_parameters(warped_clusters(), torch.zeros(2, 2), torch.tensor([0, 0]))
    with pytest.raises(ValueError, match=r"assignments has shape \(2,\), expected \(..., 3\)"):
        cluster_parameters(nig_mixture(), torch.zeros(3, 1), torch.tensor([0, 0]))
    with pytest.raises(ValueError, match="num_samples is 0"):
        cluster_parameters(nig_mixture(), torch.zeros(2, 1), torch.tensor([0, 0]), num_samples=0)
