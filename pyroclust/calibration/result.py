"""What simulated data sets say of a sampler: all parts of a calibration, and a verdict."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyroclust.diagnostics import (
    BallCoverage,
    PairReliability,
    SimulationBasedCalibration,
    Trust,
    Verdict,
    goodness_of_fit,
)

if TYPE_CHECKING:
    from pyroclust.calibration.rows import ClusterCountRow

__all__ = ["Calibration", "LocalCalibration"]

_SMALLEST_P = 0.01


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
    num_clusters: "ClusterCountRow"

    @property
    def p_values(self) -> dict[str, float]:
        """The p-value of each part, by its name in words."""
        found = {"functionals": self.sbc.p_value, "credible balls": self.coverage.p_value}
        if self.reliability is not None:
            found["pair probabilities"] = self.reliability.p_value
        row = self.num_clusters
        if row.prior is not None:
            p = goodness_of_fit(np.array(row.single_counts), np.array(row.prior))
            found["averaged number of clusters"] = p
        return found

    @property
    def p_value(self) -> float:
        """All parts in one, by Bonferroni."""
        found = self.p_values.values()
        return min(1.0, len(found) * min(found))

    @property
    def passed(self) -> bool:
        """Whether the p-value is at least 0.01."""
        return self.p_value >= _SMALLEST_P

    @property
    def verdict(self) -> Verdict:
        """What follows, in a sentence that names the parts that failed."""
        size = f"{self.num_datasets} data sets of {self.num_points} points"
        if self.passed:
            return Verdict(
                Trust.AVERAGE,
                f"Calibrated as far as {size} can tell (p = {self.p_value:.2g}): probabilities are right on "
                "average over data sets like these.",
            )
        limit = _SMALLEST_P / len(self.p_values)
        failed = [f"{self._name(part)}, p = {p:.2g}" for part, p in self.p_values.items() if p < limit]
        return Verdict(Trust.DISTRUST, f"Not calibrated on {size}: {'; '.join(failed)}.")

    def _name(self, part: str) -> str:
        return f"{part} (worst: {self.sbc.worst.name})" if part == "functionals" else part


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
        found = self.calibration.verdict
        if self.calibration.passed and self.p_value_data < _SMALLEST_P:
            return Verdict(
                Trust.UNKNOWN,
                "No verdict: the sampler is calibrated on the simulated data sets nearest to this one, but "
                f"this one is unlike all of them (p = {self.p_value_data:.2g}).",
            )
        return found

    def figures(self) -> dict[str, Any]:
        """Return the figures without ranks, fit for JSON; numbers may be those of numpy, or not finite."""
        found, verdict = self.calibration, self.verdict
        pairs = found.reliability
        return {
            "verdict": {"level": verdict.level.value, "sentence": verdict.sentence},
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
