import pytest
import torch

from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.infer import cluster_parameters, exact
from pyroclust.infer.exact import exact_posterior, log_evidence
from pyroclust.models import Mixture, gaussian2d, nig_mixture, niw_mixture, warped_clusters
from pyroclust.partitions import bell_number


@pytest.mark.parametrize("model", [gaussian2d(), nig_mixture(1), niw_mixture(3)], ids=lambda m: m.name)
def test_posterior_is_normalised_and_proportional_to_the_joint(model):
    torch.manual_seed(0)
    data = torch.randn(2, 3, 6, model.component.dim)
    partitions, log_probs = exact_posterior(model, data)
    assert partitions.shape == (203, 6)
    assert log_probs.shape == (2, 3, 203)
    assert log_probs.dtype == torch.float64
    assert log_probs.logsumexp(-1).abs().max() < 1e-12
    expected = model.log_joint(data.unsqueeze(-3), partitions) - log_evidence(model, data).unsqueeze(-1)
    assert torch.allclose(log_probs, expected, atol=1e-10)


def test_two_points_by_hand():
    """p(together) for two points is a ratio of three normal densities."""
    model = Mixture(ChineseRestaurantPrior(0.5), NormalKnownVariance(1, 2.0))
    data = torch.tensor([[0.4], [1.5]], dtype=torch.float64)
    apart = torch.distributions.Normal(0.0, 5.0**0.5)
    covariance = torch.tensor([[5.0, 4.0], [4.0, 5.0]], dtype=torch.float64)
    together = torch.distributions.MultivariateNormal(torch.zeros(2, dtype=torch.float64), covariance)
    joint = torch.stack([together.log_prob(data.squeeze()).exp() / 1.5, apart.log_prob(data).sum().exp() / 3])
    assert torch.allclose(exact_posterior(model, data)[1].exp(), joint / joint.sum(), atol=1e-6)
    assert torch.allclose(log_evidence(model, data), joint.sum().log(), atol=1e-6)


def test_chunks_change_nothing(monkeypatch):
    torch.manual_seed(1)
    model, data = niw_mixture(2), torch.randn(5, 7, 2)
    whole = exact_posterior(model, data)[1]
    monkeypatch.setattr(exact, "_MAX_ENTRIES", 20_000)
    assert torch.allclose(exact_posterior(model, data)[1], whole, atol=1e-12)


def test_ten_points():
    partitions, log_probs = exact_posterior(gaussian2d(), torch.randn(10, 2))
    assert len(partitions) == bell_number(10)
    assert log_probs.logsumexp(-1).abs() < 1e-12


def test_ten_points_are_the_most():
    with pytest.raises(ValueError, match="data has 11 points, expected 1 to 10"):
        exact_posterior(gaussian2d(), torch.zeros(11, 2))


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
