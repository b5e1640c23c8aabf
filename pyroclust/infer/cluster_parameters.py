"""The posterior of cluster parameters, given a partition."""

from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.core.memory import check_memory
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.checks import points_of
from pyroclust.partitions import as_partitions, most_clusters

__all__ = ["cluster_parameters"]


def cluster_parameters(
    model: CollapsedModel, data: Points, assignments: Tensor, *, num_samples: int = 1000
) -> dict[str, Tensor]:
    r"""Draw the parameters of every cluster from their exact posterior given the partition.

    .. math:: \theta_k \mid x, c \sim p(\theta_k) \prod_{i: c_i = k} F(x_i; \theta_k)

    Clusters are independent given the partition. Given one estimate the draws leave out how unsure the
    partition is: for that, give posterior draws of the partition, one sample each. Cost O(N + S K).

    Shape:
        data: ``(N, D)``; assignments: ``(..., N)`` canonical.
        output: name -> ``(num_samples, ..., K, *parameter)``, in the units of the data; rows of clusters
        that a partition lacks are draws of the prior.

    Args:
        model: a mixture whose component family is conjugate, its hyperparameters known.
        data: the points.
        assignments: such as :func:`pyroclust.diagnostics.point_estimate` as a tensor.
        num_samples: S.

    Raises:
        ValueError: if the family is not conjugate, or the shapes do not fit.

    References:
        Gelman et al. (2013), Bayesian Data Analysis, chapter 3. http://www.stat.columbia.edu/~gelman/book/

    Example:
        >>> import torch
        >>> from pyroclust.models import gaussian2d
        >>> data, assignments = torch.zeros(4, 2), torch.tensor([0, 0, 0, 1])
        >>> draws = cluster_parameters(gaussian2d(), data, assignments, num_samples=10)
        >>> {name: tuple(value.shape) for name, value in draws.items()}
        {'loc': (10, 2, 2)}
    """
    component = ConjugateComponent.of(
        model.component,
        otherwise="other parameters have no posterior in closed form, run NUTS on the companion model",
    )
    num_samples = check_count("num_samples", num_samples)
    points = points_of(model, data).detach()
    if points.dim() != 2:
        raise ValueError(
            f"data has shape {tuple(points.shape)}, expected one data set (N, {component.dim}): "
            "run data sets one by one"
        )
    component.check(points)
    labels = as_partitions("assignments", assignments, num_points=len(points))
    # Points lie in at most as many clusters, and a cluster has at most D^2 + D numbers.
    wide = most_clusters(labels) * (component.dim + 1) * component.dim
    check_memory(
        8 * num_samples * wide * labels[..., 0].numel(),
        f"num_samples is {num_samples}: parameters",
        remedy="draw fewer",
    )
    counts, moments = block_moments(component, points, labels, weights=model.row_weights)
    shape = (num_samples, *counts.shape)
    return component.sample_parameters(counts.expand(shape), moments.expand(*shape, moments.shape[-1]))
