"""Is a sampler of partitions calibrated over the data sets of its model, and near an observed one?"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.calibration.certificate import ClusterCountRow
from pyroclust.calibration.simulations import (
    PartitionSampler,
    SimulatedDraws,
    draw_partitions,
    with_gaps_of_data,
)
from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, mean_imputed
from pyroclust.core.random_state import pyro_seeded
from pyroclust.diagnostics import (
    BallCoverage,
    Finding,
    PairReliability,
    SimulationBasedCalibration,
    Trust,
    Verdict,
    ball_coverage,
    pair_reliability,
    sbc,
    total_variation,
)
from pyroclust.diagnostics.findings import near_finding
from pyroclust.diagnostics.judging import (
    combined_p_value,
    judge_calibration,
    judge_local_calibration,
)
from pyroclust.diagnostics.likeness import (
    column_summaries,
    distance_summaries,
    mahalanobis,
)
from pyroclust.diagnostics.limits import MIN_CALIBRATION, written
from pyroclust.distributions.points import Points, as_points, check_finite
from pyroclust.distributions.protocols import Guide, PartitionGuide, takes_missing
from pyroclust.infer.simulation import SimulatedBatch, simulate_batches

# Numbers of clusters beyond this quantile of the prior share a bar.
_TAIL = 1e-3


@dataclass(frozen=True)
class Calibration:
    """What simulated data sets, their true partitions and draws say of a sampler.

    Attributes:
        num_points: N.
        num_datasets: B.
        num_draws: S, draws a data set.
        sbc: ranks of functionals of the truth.
        coverage: of credible balls.
        reliability: of pair probabilities; ``None`` for single points.
        num_clusters: prior against averaged posterior of K; its prior is ``None`` where it is unknown, or
            where data sets were selected.
    """

    num_points: int
    num_datasets: int
    num_draws: int
    sbc: SimulationBasedCalibration
    coverage: BallCoverage
    reliability: PairReliability | None
    num_clusters: ClusterCountRow

    @property
    def p_values(self) -> dict[str, float]:
        """The p-value of each part, by its name in words."""
        p_values = {"functionals": self.sbc.p_value, "credible balls": self.coverage.p_value}
        if self.reliability is not None:
            p_values["pair probabilities"] = self.reliability.p_value
        if self.num_clusters.p_value is not None:
            p_values["averaged number of clusters"] = self.num_clusters.p_value
        return p_values

    @property
    def p_value(self) -> float:
        """All parts in one, by Bonferroni."""
        return combined_p_value(self.p_values)

    @property
    def passed(self) -> bool:
        """Whether the p-value is at least 0.01."""
        return self.verdict.level is Trust.AVERAGE

    @property
    def verdict(self) -> Verdict:
        """What follows, in a sentence that names the parts that failed."""
        return judge_calibration(
            self.p_values,
            num_datasets=self.num_datasets,
            num_points=self.num_points,
            worst_functional=self.sbc.worst.name,
        )

    def __repr__(self) -> str:
        p_value = written(self.p_value, ".2g", MIN_CALIBRATION)
        return (
            f"Calibration({self.num_datasets} data sets of {self.num_points} points, {self.num_draws} draws "
            f"each: {'passed' if self.passed else 'failed'}, p = {p_value})"
        )


def calibration_of(drawn: SimulatedDraws, *, prior: Tensor | None, num_bins: int, seed: int) -> Calibration:
    """Test whether true partitions are one more draw each; the seed is that of ties and shuffles."""
    num_draws, num_datasets, num_points = drawn.draws.shape
    return Calibration(
        num_points=num_points,
        num_datasets=num_datasets,
        num_draws=num_draws,
        sbc=sbc(
            {name: one[0] for name, one in drawn.values.items()},
            {name: one[1:] for name, one in drawn.values.items()},
            seed=seed,
            num_bins=num_bins,
            uniforms=drawn.uniforms,
        ),
        coverage=ball_coverage(drawn.truth, drawn.draws, seed=seed),
        reliability=pair_reliability(drawn.truth, drawn.draws, seed=seed) if num_points > 1 else None,
        num_clusters=cluster_count_row(prior, drawn.num_clusters, num_points=num_points),
    )


@dataclass(frozen=True)
class LocalCalibration:
    """Calibration on the simulated data sets that are nearest to an observed one.

    Attributes:
        calibration: on these data sets.
        num_simulations: data sets simulated.
        radius: largest distance of a chosen data set from the observed one.
        median_distance: median distance of all simulated data sets from the observed one.
        p_value_data: share of data sets, this one included, that lie at least as far from the average; a
            small one says that nothing that was simulated is near.
    """

    calibration: Calibration
    num_simulations: int
    radius: float
    median_distance: float
    p_value_data: float

    @property
    def verdict(self) -> Verdict:
        """That of the calibration; no verdict where the data are unlike all simulations."""
        return judge_local_calibration(self.calibration.verdict, p_value_data=self.p_value_data)

    @property
    def finding(self) -> Finding:
        """The verdict as the answer to one question."""
        return near_finding(
            self.verdict,
            self.calibration.p_value,
            num_nearest=self.calibration.num_datasets,
            num_simulations=self.num_simulations,
        )

    def __repr__(self) -> str:
        near = self.calibration
        return (
            f"LocalCalibration({near.num_datasets} nearest of {self.num_simulations} data sets of "
            f"{near.num_points} points: {self.verdict.level.value}, "
            f"p = {written(near.p_value, '.2g', MIN_CALIBRATION)})"
        )

    def figures(self) -> dict[str, Any]:
        """Return the figures without ranks, fit for JSON; numbers may be those of numpy, or not finite."""
        near, pairs = self.calibration, self.calibration.reliability
        return {
            "verdict": self.verdict.to_dict(),
            "simulations": self.num_simulations,
            "nearest": near.num_datasets,
            "draws": near.num_draws,
            "radius": self.radius,
            "median_distance": self.median_distance,
            "p_value_data": self.p_value_data,
            "p_value": near.p_value,
            "p_values": near.p_values,
            "functionals": {row.name: row.p_value for row in near.sbc.rows},
            "coverage": {"levels": near.coverage.levels, "observed": near.coverage.observed},
            "pairs": None if pairs is None else {name: getattr(pairs, name) for name in ("brier", "ece")},
        }


def cluster_count_row(prior: Tensor | None, clusters: np.ndarray, *, num_points: int) -> ClusterCountRow:
    """Compare numbers of clusters, those of the truth first, ``(S + 1, B)``, with their prior."""
    counts = torch.as_tensor(clusters)
    truth, drawn = counts[0], counts[1:]
    if prior is None:
        width = int(counts.max())
    else:
        # Above the prior's upper tail one bar is enough.
        width = min(num_points, int((prior.cumsum(0) < 1 - _TAIL).sum()) + 1)
        prior = torch.cat([prior[: width - 1], prior[width - 1 :].sum().unsqueeze(0)])
    values = torch.arange(1, width + 1)
    by_dataset = (drawn.clamp(max=width).unsqueeze(-1) == values).double().mean(0)
    averaged, error = by_dataset.mean(0), by_dataset.std(0, correction=0) / len(truth) ** 0.5
    single = torch.bincount(drawn[0].clamp(max=width), minlength=width + 1)[1:]
    simulated = torch.bincount(truth.clamp(max=width), minlength=width + 1)[1:].double() / len(truth)
    return ClusterCountRow(
        num_points=num_points,
        num_datasets=len(truth),
        num_draws=len(drawn),
        prior=None if prior is None else tuple(prior.tolist()),
        simulated=tuple(simulated.tolist()),
        averaged=tuple(averaged.tolist()),
        averaged_se=tuple(error.tolist()),
        single_counts=tuple(single.tolist()),
        total_variation=None if prior is None else total_variation(averaged.numpy(), prior.numpy()),
        # The mean of |normal| is sqrt(2 / pi) standard deviations.
        total_variation_noise=0.5 * math.sqrt(2 / math.pi) * error.sum().item(),
    )


def cluster_count_law(batches: Sequence[SimulatedBatch]) -> Tensor | None:
    """Return the law of 1, ..., N clusters over all batches; ``None`` where it is unknown."""
    points, total = batches[0].assignments.shape[-1], sum(len(one.data) for one in batches)
    laws = []
    for one in batches:
        prior = one.model.partition_prior
        if prior is None:
            return None
        try:
            law = prior.log_prob_num_clusters(points).exp().cpu()
        except ValueError:
            # A random hyperparameter that is not integrated out.
            return None
        laws.append(len(one.data) / total * law)
    return torch.stack(laws).sum(0)


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
    they are. Beside the draws it costs O(B S N (N + min(S, 100))).

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

    Data sets of the same size are simulated, with the same cells missing, and those are kept whose summaries
    (those of :func:`~pyroclust.diagnostics.familiarity`) are nearest to the observed ones, in the metric of
    their covariance.

    *Why this is valid.* A data set is kept for what the data are, and not for its partition: truth and draws
    stay exchangeable in every kept data set, and all tests keep their level. The prior of the number of
    clusters is no reference any more, so that part is left out. *What it cannot see.* Errors that cancel in
    the neighbourhood, or that belong to this very data set; and whether the model describes the data. For
    data unlike all simulations the nearest ones are not near: see ``radius`` beside ``median_distance``, and
    ``p_value_data``.

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
