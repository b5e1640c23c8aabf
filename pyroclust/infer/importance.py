"""Importance sampling of a model's posterior from an amortized guide."""

import time
from dataclasses import replace

import numpy as np
import torch

from pyroclust.core.numbers import check_count
from pyroclust.diagnostics.importance import stratified_draws
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import JointModel, PartitionGuide
from pyroclust.infer.checks import log_joint_of, one_data_set, require_likelihood
from pyroclust.partitions import Draws


def importance_sample(model: JointModel, guide: PartitionGuide, data: Points, *, num_draws: int) -> Draws:
    r"""Draw partitions of a data set from a guide and weight them by a model.

    .. math::
        w_s = p(c_s, x) / q(c_s \mid x), \qquad E\Big[\frac1S \sum_s w_s \, f(c_s)\Big] = \sum_c p(c, x) f(c)

    What the weights are worth say :func:`~pyroclust.diagnostics.importance_efficiency`,
    :func:`~pyroclust.diagnostics.pareto_k` and :func:`~pyroclust.diagnostics.importance_evidence` of
    ``log_weights``. Functions of draws smooth them; :func:`~pyroclust.diagnostics.resample` makes equally
    weighted draws.

    Args:
        model: a model with ``log_joint``.
        guide: a guide whose ``posterior(data)`` has exact log-probabilities.
        data: one data set, ``(N, D)``.
        num_draws: draws S.

    Returns:
        one chain of S draws with ``log_joint``, ``log_prob`` and their difference as ``log_weights``.

    Raises:
        ValueError: if the data are no one finite data set, or ``num_draws`` is below 1.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantProcess
        >>> from pyroclust.models import gaussian2d
        >>> class PriorGuide:
        ...     def posterior(self, data):
        ...         return ChineseRestaurantProcess(0.7, data.shape[-2])
        >>> draws = importance_sample(gaussian2d(), PriorGuide(), torch.zeros(4, 2), num_draws=50)
        >>> draws.assignments.shape, draws.log_weights.shape
        ((1, 50, 4), (1, 50))

    References:
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html
    """
    num_draws = check_count("num_draws", num_draws)
    require_likelihood(model, what="importance sampling")
    data = one_data_set(model, data)
    began = time.perf_counter()
    with torch.no_grad():
        labels, log_prob = guide.posterior(data).sample_and_log_prob((num_draws,))
        log_joint = log_joint_of(model, data, labels)
    draws = Draws(
        name="the guide",
        assignments=labels.unsqueeze(0).cpu().numpy(),
        log_joint=log_joint.double().unsqueeze(0).cpu().numpy(),
        log_prob=log_prob.double().unsqueeze(0).cpu().numpy(),
        seconds=time.perf_counter() - began,
    )
    return replace(draws, log_weights=draws.log_ratios)


def resampled(shares: np.ndarray, num_draws: int) -> np.ndarray:
    """Return places of draws with shares so that they have equal weights, stratified by torch's generator."""
    return stratified_draws(shares, torch.rand(num_draws, dtype=torch.float64).numpy())
