"""Is a sampler of partitions calibrated over the data sets of its model?"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.calibration.result import Calibration, LocalCalibration, calibration_of, cluster_count_law
from pyroclust.calibration.simulated_datasets import with_gaps_of_data
from pyroclust.calibration.simulated_draws import PartitionSampler, draw_partitions
from pyroclust.core.arrays import mean_imputed
from pyroclust.core.counts import check_count
from pyroclust.core.memory import check_memory
from pyroclust.core.random_state import pyro_seeded
from pyroclust.diagnostics.simulations.familiarity import (
    column_summaries,
    distance_summaries,
    mahalanobis,
)
from pyroclust.distributions.points import Points, as_points, check_finite
from pyroclust.distributions.protocols import Guide, PartitionGuide, takes_missing
from pyroclust.infer.simulation import simulate_batches

_MOST_POINTS = 300


def calibrate(
    sampler: PartitionGuide | PartitionSampler,
    model: Any,
    *,
    num_points: int = 30,
    num_datasets: int = 500,
    num_draws: int = 99,
    num_bins: int = 20,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Calibration:
    """Simulate data sets, draw their partitions, and test whether the truth is one more draw.

    Four parts: ranks of partition functionals (simulation-based calibration), coverage of credible balls,
    reliability of pair probabilities, and the prior of the number of clusters against the averaged posterior.
    All tests are exact, or exact up to chi-square approximations, for independent draws: thin a chain until
    they are. A sampler that passes is right on average over the model's data sets, as far as these quantities
    and this many data sets can tell. Beside the draws it costs O(B S N (N + min(S, 100))).

    Args:
        sampler: a guide (anything with ``posterior(data)``), or a callable from data ``(B, N, ...)`` to draws
            ``(num_draws, B, N)``, tensor or array; labels may be any integers. A guide with conditions is
            conditioned on eight values drawn from their priors.
        model: the model to simulate from; or for a guide that fits many, as one of tables of any columns, a
            law of models such as :class:`~pyroclust.models.AnyTable`.
        num_points: N, of each data set.
        num_datasets: B.
        num_draws: S; one less than a multiple of ``num_bins``.
        num_bins: equal bins of the ranks.
        seed: same seed, same data sets for every sampler; the caller's random state is left alone.
        progress: called with what is done next, in words.

    Raises:
        ValueError: if a number is not possible, or the sampler gives draws of another shape.

    References:
        Talts et al. (2018), Validating Bayesian inference algorithms with simulation-based calibration.
        https://arxiv.org/abs/1804.06788

    Example:
        >>> from pyroclust.infer import exact_posterior
        >>> from pyroclust.models import overlap2d
        >>> model = overlap2d()
        >>> def exact(data):
        ...     partitions, log_probs = exact_posterior(model, data)
        ...     return partitions[torch.distributions.Categorical(logits=log_probs).sample((19,))]
        >>> calibrate(exact, model, num_points=4, num_datasets=100, num_draws=19).passed
        True
    """
    _check_sizes(num_points, num_datasets, num_draws, num_bins)
    if progress is not None:
        progress(f"simulations, {num_datasets:,} data sets of {num_points} points")
    with torch.no_grad(), pyro_seeded(seed, num_points):
        batches = simulate_batches(model, sampler, None, num_datasets=num_datasets, num_points=num_points)
        prior = cluster_count_law(batches)
        draws = draw_partitions(batches, num_draws=num_draws, progress=progress)
    return calibration_of(draws, prior=prior, num_bins=num_bins, seed=seed)


def calibrate_near(
    sampler: PartitionGuide | PartitionSampler,
    model: Any,
    data: Points,
    *,
    num_simulations: int = 2000,
    num_nearest: int = 200,
    num_draws: int = 99,
    num_bins: int = 20,
    see: Callable[[np.ndarray], np.ndarray] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> LocalCalibration:
    """Calibrate a sampler on simulated data sets that look like the observed one.

    Data sets of the same size are simulated, and those are kept whose summaries (distances between points,
    means and spreads of columns: those of :func:`~pyroclust.diagnostics.familiarity`) are nearest to the
    observed ones, in the metric of their covariance.

    *Why this is valid.* A data set is kept for what the data are, and not for its partition. Given the data,
    the true partition is a draw from p(c | x) whether the data set is kept or not, and draws of an exact
    sampler are further draws from it: truth and draws stay exchangeable in every kept data set, and all tests
    keep their level. The prior of the number of clusters is no reference any more: near this data set other
    numbers of clusters may be usual, so that part is left out.

    Where cells of the data are missing, the same are left out of every simulation.

    *What it cannot see.* Errors that cancel in the neighbourhood, or that belong to this very data set; and
    whether the model describes the data. For data unlike all simulations the nearest ones are not near: see
    ``radius`` beside ``median_distance``, and ``p_value_data``.

    Args:
        sampler: as for :func:`calibrate`; a guide with conditions must be conditioned first, and ``model`` be
            its model then.
        model: the model to simulate from.
        data: the observed points, ``(N, D)``.
        num_simulations: data sets simulated.
        num_nearest: data sets kept.
        num_draws: S, draws a data set; one less than a multiple of ``num_bins``.
        num_bins: equal bins of the ranks.
        see: what data sets are compared by, ``(..., N, D)`` to vectors without gaps; as they are by default,
            missing cells at the mean of their column.
        seed: of everything; the caller's random state is left alone.
        progress: called with what is done next, in words.

    Raises:
        ValueError: if a number is not possible, the data have another dimension than the model or are not
            finite, or the guide has conditions that are not set.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import overlap2d
        >>> guide, data = PredictiveFilter(overlap2d()), torch.zeros(2, 2)
        >>> near = calibrate_near(guide, guide.model, data, num_simulations=300, num_nearest=60)
        >>> near.calibration.num_datasets, near.radius < near.median_distance
        (60, True)
    """
    data = as_points(data)
    _check_sizes(len(data), num_nearest, num_draws, num_bins)
    _check_near(sampler, model, data, num_simulations, num_nearest)
    if progress is not None:
        progress(f"simulations, {num_simulations:,} data sets of {len(data)} points")
    with torch.no_grad(), pyro_seeded(seed, len(data), num_simulations):
        (batch,) = simulate_batches(model, sampler, None, num_datasets=num_simulations, num_points=len(data))
        batch = replace(batch, data=with_gaps_of_data(batch.data, data))
        rows = _summaries(data, batch.data, see=mean_imputed if see is None else see)
        apart = mahalanobis(rows, rows[0])[1:]
        usual = mahalanobis(rows, rows.mean(0))
        kept = torch.as_tensor(np.argsort(apart, kind="stable")[:num_nearest])
        near = replace(batch, data=batch.data[kept], assignments=batch.assignments[kept])
        draws = draw_partitions((near,), num_draws=num_draws, progress=progress)
    return LocalCalibration(
        calibration=calibration_of(draws, prior=None, num_bins=num_bins, seed=seed),
        num_simulations=num_simulations,
        radius=float(apart[kept].max()),
        median_distance=float(np.median(apart)),
        p_value_data=float((usual >= usual[0]).mean()),
    )


def _check_sizes(num_points: int, num_datasets: int, num_draws: int, num_bins: int) -> None:
    check_count("num_points", num_points)
    check_count("num_datasets", num_datasets)
    check_count("num_bins", num_bins, at_least=2)
    check_count("num_draws", num_draws)
    check_memory(
        2 * 8 * num_points * num_datasets * (num_draws + 1),
        f"num_datasets is {num_datasets} and num_draws is {num_draws}: draws of {num_points} points",
        remedy="ask for fewer",
    )
    if (num_draws + 1) % num_bins:
        raise ValueError(
            f"num_draws is {num_draws}, expected one less than a multiple of num_bins, {num_bins}"
        )


def _check_near(sampler: Any, model: Any, data: Tensor, num_simulations: int, num_nearest: int) -> None:
    if data.shape[1:] != tuple(model.event_shape):
        raise ValueError(
            f"data has shape {tuple(data.shape)}, expected (N, {', '.join(map(str, model.event_shape))}), "
            "points of the model's dimension"
        )
    if not takes_missing(model) or not bool(data.isnan().any()):
        check_finite(data)
    check_count("num_simulations", num_simulations)
    check_memory(
        4 * 8 * num_simulations * data.numel(),
        f"num_simulations is {num_simulations}: data sets of {len(data)} points",
        remedy="simulate fewer",
    )
    if num_nearest > num_simulations:
        raise ValueError(f"num_nearest is {num_nearest}, expected at most num_simulations, {num_simulations}")
    if names := sampler.conditions if isinstance(sampler, Guide) else ():
        raise ValueError(
            f"the guide has the conditions {', '.join(names)}, expected one that is told them: call "
            "guide.condition(...) first"
        )


def _summaries(data: Tensor, simulated: Tensor, *, see: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Describe the data, first, and all simulated data sets by at most 300 points, ``(1 + S, P)``."""
    every = torch.cat([data.to(simulated).unsqueeze(0), simulated])
    # Points of a data set are exchangeable in the simulations, not in the data.
    order = torch.randperm(every.shape[1])[:_MOST_POINTS]
    sets = every[:, order].flatten(2).double().cpu().numpy()
    seen = see(sets)
    return np.column_stack([distance_summaries(seen), *column_summaries(seen).values()])
