"""Exact posteriors: of partitions of few points by enumeration, of cluster parameters given a partition."""

import torch
from torch import Tensor

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel, JointModel
from pyroclust.infer.checks import log_joint_of, points_of, require_likelihood
from pyroclust.partitions import MAX_ENUMERATED_POINTS, as_partitions, enumerate_partitions, most_clusters

# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22


def _enumerated_log_joint(model: JointModel, data: Points) -> tuple[Tensor, Tensor]:
    require_likelihood(model, what="the exact posterior")
    data = points_of(model, data)
    num_points = data.shape[-model.event_dim]
    if num_points > MAX_ENUMERATED_POINTS:
        raise ValueError(
            f"data has {num_points} points, expected 1 to {MAX_ENUMERATED_POINTS}: "
            "all partitions are enumerated; use CollapsedGibbs for more points"
        )
    partitions = enumerate_partitions(num_points).to(data.device)
    batch, event = data.shape[: -model.event_dim], data.shape[-model.event_dim :]
    sets = data.detach().reshape(-1, 1, *event)
    # Second moments, at most one per pair of coordinates, are the largest array a log_joint makes.
    entries = num_points * (1 + event[1:].numel()) ** 2
    rows = max(1, _MAX_ENTRIES // entries)
    columns = [
        torch.cat([log_joint_of(model, few, block) for few in sets.split(max(1, rows // len(block)))])
        for block in partitions.split(rows)
    ]
    every = torch.cat(columns, -1).reshape(*batch, len(partitions))
    if bool((every == -torch.inf).all(-1).any()):
        raise ValueError(
            "model.log_joint returned -inf for all partitions of a data set, expected some that are "
            "possible: the data lie too far from what the model can make; rescale them, or check the model"
        )
    return partitions, every


def exact_posterior(model: JointModel, data: Points) -> tuple[Tensor, Tensor]:
    r"""Return every partition and its posterior log-probability.

    .. math:: p(c \mid x) = \frac{p(c, x)}{\sum_{c'} p(c', x)}

    Cost O(B Bell(N) N F) for B data sets and F sufficient statistics; work memory is bounded by splitting
    both partitions and data sets.

    Shape:
        data: ``(*batch, N, D)``; output: partitions ``(Bell(N), N)`` int64 and log-probabilities in nats
        ``(*batch, Bell(N))`` float64.

    Raises:
        ValueError: if N is above 10, or the data are not finite.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> partitions, log_probs = exact_posterior(gaussian2d(), data)
        >>> partitions[log_probs.argmax()].tolist()
        [0, 0, 1]
    """
    partitions, log_joint = _enumerated_log_joint(model, data)
    return partitions, log_joint.log_softmax(-1)


def log_evidence(model: JointModel, data: Points) -> Tensor:
    r"""Return the log marginal likelihood of data sets of at most 10 points in nats.

    .. math:: \log p(x) = \log \sum_c p(c, x)

    Shape:
        data: ``(*batch, N, D)``; output: ``(*batch)`` float64.

    Raises:
        ValueError: if N is above 10, or the data are not finite.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> log_evidence(gaussian2d(), torch.zeros(5, 2, 2)).shape
        torch.Size([5])
    """
    return _enumerated_log_joint(model, data)[1].logsumexp(-1)


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
