"""Data given a partition, the cluster parameters integrated out."""

from typing import Any

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.distributions.families.component import Component, ConjugateComponent
from pyroclust.distributions.points import broadcast_shapes, check_tensor
from pyroclust.partitions import check_label_vectors, most_clusters


def block_moments(
    component: ConjugateComponent, data: Tensor, assignments: Tensor, *, weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Sum counts ``(..., K)`` and moments ``(..., K, F)`` over the clusters of each partition, float64.

    Shape:
        data: ``(..., N, D)``; assignments: ``(..., N)``, broadcast; weights: how many equal points one is,
        ``(N,)``.
    """
    moments = component.moments(data)
    each = moments.new_ones(moments.shape[-2]) if weights is None else weights.to(moments)
    if weights is not None:
        moments = each.unsqueeze(-1) * moments
    batch = broadcast_shapes(moments.shape[:-2], assignments.shape[:-1])
    moments = moments.expand(*batch, *moments.shape[-2:])
    labels = assignments.expand(*batch, assignments.shape[-1])
    width = most_clusters(assignments)
    counts = moments.new_zeros(*batch, width).scatter_add_(-1, labels, each.expand(labels.shape))
    index = labels.unsqueeze(-1).expand_as(moments)
    return counts, moments.new_zeros(*batch, width, moments.shape[-1]).scatter_add_(-2, index, moments)


class ClusteredData(TorchDistribution):
    r"""Data sets of points whose clusters are known and whose cluster parameters are integrated out.

    .. math:: \log p(x \mid c) = \sum_k \log \int \prod_{i: c_i = k} F(x_i; \theta) \, G_0(d\theta)

    Every component family samples; the log-density needs a conjugate one.

    Args:
        component: the family, all hyperparameters known.
        assignments: labels 0 to N - 1, ``(..., N)``; equal ones are a cluster.
        weights: how many equal points each stands for, ``(N,)``; such data can be scored, not sampled.
        validate_args: check labels, and that values lie in the support of the family.

    Raises:
        ValueError: if the shapes do not fit, or (under validation) a label is not one of 0 to N - 1.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(
        self,
        component: Component,
        assignments: Tensor,
        *,
        weights: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        batch = _batch(component, assignments)
        num_points = assignments.shape[-1]
        super().__init__(batch, Size((num_points, component.dim)), validate_args=validate_args)
        if self._validate_args:
            _check_labels(assignments)
        self.component, self.assignments = component, assignments.long().expand(*batch, num_points)
        self.weights = weights

    @property
    def support(self) -> constraints.Constraint:
        return constraints.independent(self.component.support, 1)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "ClusteredData":
        assignments = self.assignments.expand(*batch_shape, self.assignments.shape[-1])
        return ClusteredData(
            self.component, assignments, weights=self.weights, validate_args=self._validate_args
        )

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        if self.weights is not None:
            raise ValueError("weights given, expected none: equal points that stand for one another are data")
        with torch.no_grad():
            shape = (*sample_shape, *self.assignments.shape)
            return self.component.sample(self.assignments.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        component = ConjugateComponent.of(
            self.component,
            otherwise="for others the likelihood of a partition has no formula; keep the cluster parameters, "
            "as AuxiliaryGibbs does, or train a guide by simulation",
        )
        self._check_shape(value)
        if self._validate_args:
            component.check(value)
        counts, moments = block_moments(component, value, self.assignments, weights=self.weights)
        return component.log_likelihood(counts, moments)

    def _check_shape(self, value: Tensor) -> None:
        check_tensor("value", value)
        try:
            fits = value.shape[-2:] == self.event_shape
            broadcast_shapes(value.shape[:-2], self.batch_shape)
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"value has shape {tuple(value.shape)}, expected (..., "
                f"{', '.join(map(str, self.event_shape))}) "
                f"where ... broadcasts with the batch {tuple(self.batch_shape)}"
            )


def _batch(component: Component, assignments: Tensor) -> Size:
    check_label_vectors("assignments", assignments)
    try:
        return broadcast_shapes(assignments.shape[:-1], component.batch_shape)
    except ValueError:
        raise ValueError(
            f"assignments has shape {tuple(assignments.shape)}, expected (..., N) where ... broadcasts with "
            f"the hyperparameters of the family, {tuple(component.batch_shape)}"
        ) from None


def _check_labels(assignments: Tensor) -> None:
    num_points, labels = assignments.shape[-1], assignments.long()
    whole = not assignments.is_floating_point() or bool((labels == assignments).all())
    if labels.numel() and not (whole and labels.min() >= 0 and labels.max() < num_points):
        raise ValueError(
            f"assignments holds labels other than the whole numbers from 0 to {num_points - 1}, the labels "
            f"of {num_points} points; call pyroclust.partitions.canonical on it first"
        )
