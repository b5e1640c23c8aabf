"""What simulated data sets say of a sampler: all parts of a calibration, and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.calibration.certificate import ClusterCountRow
from pyroclust.calibration.simulated_draws import SimulatedDraws
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
from pyroclust.diagnostics.limits import MIN_CALIBRATION, written
from pyroclust.diagnostics.verdicts.calibration import (
    combined_p_value,
    judge_calibration,
    judge_local_calibration,
)
from pyroclust.diagnostics.verdicts.findings import near_finding
from pyroclust.infer.simulation import SimulatedBatch

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
