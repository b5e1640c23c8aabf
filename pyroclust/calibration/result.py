"""What simulated data sets say of a sampler: all parts of a calibration, and a verdict."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from pyroclust.calibration.cluster_counts import cluster_count_row
from pyroclust.calibration.rows import ClusterCountRow
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
)
from pyroclust.diagnostics.limits import MIN_CALIBRATION, written
from pyroclust.diagnostics.verdicts.calibration import (
    combined_p_value,
    judge_calibration,
    judge_local_calibration,
)
from pyroclust.diagnostics.verdicts.findings import near_finding

__all__ = ["Calibration", "LocalCalibration", "calibration_of"]


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
        found = {"functionals": self.sbc.p_value, "credible balls": self.coverage.p_value}
        if self.reliability is not None:
            found["pair probabilities"] = self.reliability.p_value
        if self.num_clusters.p_value is not None:
            found["averaged number of clusters"] = self.num_clusters.p_value
        return found

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
        """Return the sizes, and whether it passed."""
        p_value = written(self.p_value, ".2g", MIN_CALIBRATION)
        return (
            f"Calibration({self.num_datasets} data sets of {self.num_points} points, {self.num_draws} draws "
            f"each: {'passed' if self.passed else 'failed'}, p = {p_value})"
        )


def calibration_of(drawn: SimulatedDraws, *, prior: Tensor | None, num_bins: int, seed: int) -> Calibration:
    """Test whether true partitions are one more draw each.

    Args:
        drawn: true partitions and draws.
        prior: probabilities of 1, ..., N clusters; ``None`` where they are unknown.
        num_bins: equal bins of the ranks.
        seed: of the ties where the draws bring no numbers of their own, and of shuffles.

    Raises:
        ValueError: if the bins are not equal, or a functional is nan.
    """
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
        """Return the sizes, and the level of the verdict."""
        found = self.calibration
        return (
            f"LocalCalibration({found.num_datasets} nearest of {self.num_simulations} data sets of "
            f"{found.num_points} points: {self.verdict.level.value}, "
            f"p = {written(found.p_value, '.2g', MIN_CALIBRATION)})"
        )

    def figures(self) -> dict[str, Any]:
        """Return the figures without ranks, fit for JSON; numbers may be those of numpy, or not finite."""
        found, pairs = self.calibration, self.calibration.reliability
        return {
            "verdict": self.verdict.to_dict(),
            "simulations": self.num_simulations,
            "nearest": found.num_datasets,
            "draws": found.num_draws,
            "radius": self.radius,
            "median_distance": self.median_distance,
            "p_value_data": self.p_value_data,
            "p_value": found.p_value,
            "p_values": found.p_values,
            "functionals": {row.name: row.p_value for row in found.sbc.rows},
            "coverage": {"levels": found.coverage.levels, "observed": found.coverage.observed},
            "pairs": None if pairs is None else {name: getattr(pairs, name) for name in ("brier", "ece")},
        }
