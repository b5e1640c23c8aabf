"""Warped clusters: the law of the partitions, the geometry of the points, and what is refused."""

import math
import pickle

import pytest
import torch
from partition_laws import assert_counts_fit, partition_counts
from scipy import stats

from pyroclust.infer import simulate
from pyroclust.models import warped_clusters
from pyroclust.models.warped_clusters import WarpedArc
from pyroclust.partitions import canonical, enumerate_partitions


def test_partitions_are_those_of_the_published_generator():
    """Keep each of three more components with probability one half, renormalise weights, draw labels."""
    torch.manual_seed(1)
    draws = 40_000
    weights = torch.distributions.Dirichlet(torch.full((4,), 5.0)).sample((draws,))
    kept = torch.rand(draws, 4) < 0.5
    kept[:, 0] = True
    labels = canonical(torch.multinomial(weights * kept, 5, replacement=True))
    expected = warped_clusters().prior.log_prob(enumerate_partitions(5)).exp()
    assert_counts_fit(partition_counts(labels), expected)


def arc(half_axes, angle=0.2, rotation=0.0, centre=(0.0, 0.0)):
    values = {"angle": angle, "log_spread": math.log(0.1), "rotation": rotation}
    parameters = {name: torch.tensor(one) for name, one in values.items()}
    return WarpedArc({**parameters, "half_axes": torch.tensor(half_axes), "centre": torch.tensor(centre)})


def test_points_of_a_circle_have_normal_angles_and_radii():
    torch.manual_seed(2)
    points = arc([5.0, 5.0], rotation=0.7, centre=(3.0, -2.0)).sample((5000,)) - torch.tensor([3.0, -2.0])
    angle = torch.atan2(points[:, 1], points[:, 0]) - 0.7
    turn = 0.8 * math.pi
    assert stats.kstest(angle.numpy(), stats.norm(0.2 * turn, 0.1 * turn).cdf).pvalue > 1e-3
    assert stats.kstest(points.norm(dim=-1).numpy(), stats.norm(5.0, 0.1).cdf).pvalue > 1e-3


def test_noise_lies_across_an_ellipse():
    """The gradient of the ellipse's equation is normal to it: residual over length is the noise."""
    torch.manual_seed(3)
    points = arc([4.0, 2.0]).sample((5000,)).double()
    axes = torch.tensor([4.0, 2.0])
    residual = (points / axes).square().sum(-1) - 1
    length = 2 * (points / axes.square()).norm(dim=-1)
    noise = residual / length
    assert noise.mean().abs() < 0.01
    assert noise.std().item() == pytest.approx(0.1, rel=0.05)


def test_rotation_and_centre_move_the_arc():
    shape = {"half_axes": [3.0, 1.0], "angle": 0.3}
    torch.manual_seed(4)
    plain = arc(**shape).sample((10,))
    torch.manual_seed(4)
    moved = arc(**shape, rotation=math.pi / 2, centre=(1.0, 2.0)).sample((10,))
    assert torch.allclose(
        moved - torch.tensor([1.0, 2.0]), plain.flip(-1) * torch.tensor([-1.0, 1.0]), atol=1e-5
    )


def test_cluster_parameters_have_their_prior():
    torch.manual_seed(5)
    drawn = warped_clusters(centre_scale=1.5).component.sample_prior((4000,))
    laws = {
        "angle": stats.norm(0, 3),
        "log_spread": stats.norm(math.log(0.25), 0.1),
        "half_axes": stats.norm(0, 2),
        "rotation": stats.uniform(0, 2 * math.pi),
        "centre": stats.norm(0, 1.5),
    }
    for name, law in laws.items():
        assert stats.kstest(drawn[name].flatten().numpy(), law.cdf).pvalue > 1e-3


def test_there_is_no_density():
    model, data = warped_clusters(), torch.zeros(4, 2)
    with pytest.raises(NotImplementedError, match="can only be simulated"):
        arc([1.0, 1.0]).log_prob(data)
    with pytest.raises(ValueError, match="expected a conjugate family"):
        model.log_joint(data, torch.zeros(4, dtype=torch.int64))
    assert int(simulate(model, torch.empty(200, 40, 2))[1].max()) < 4


def test_it_pickles():
    assert pickle.loads(pickle.dumps(warped_clusters())).name == "warped_clusters"
