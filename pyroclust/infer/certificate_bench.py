"""The measurements of a certificate, each on data sets of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pyroclust.infer.certificate_accuracy import (
    exact_row,
    order_row,
    sampled_row,
    speed_row,
    truth_row,
)
from pyroclust.infer.certificate_calibration import CalibrationParts, PartitionChecks, calibration_rows
from pyroclust.infer.certificate_rows import (
    ExactRow,
    OrderRow,
    SampledRow,
    SpeedRow,
    TruthRow,
)
from pyroclust.infer.certificate_settings import CertificateSettings
from pyroclust.infer.likelihood import has_likelihood
from pyroclust.infer.simulation import World, own_random_numbers, simulate_worlds

__all__ = ["Bench"]

# Parts of a certificate, each with random numbers of its own.
_EXACT, _SAMPLED, _TRUTH, _CALIBRATION, _ORDER, _SPEED = range(6)

Row = TypeVar("Row")


@dataclass(frozen=True)
class Bench:
    """A guide and what it is measured with; every method measures one part, or leaves it out.

    Attributes:
        model: the model to simulate from.
        guide: what is measured.
        baseline: another guide of the model, scored on the same data sets; ``None`` without one.
        settings: how much is measured.
        progress: told what is measured next.
        checks: finds coverage and reliability in the draws of the calibration; ``None`` leaves both out.
    """

    model: Any
    guide: Any
    baseline: Any | None
    settings: CertificateSettings
    progress: Callable[[str], None]
    checks: PartitionChecks | None = None

    def exact(self) -> tuple[ExactRow, ...]:
        """Compare with enumerated posteriors; nothing without ``log_joint``."""
        points, wanted = self.settings.exact_points, self.settings.num_exact
        if not wanted or not self._joint():
            return ()
        return (self._on_fresh(_EXACT, "exact posteriors", (wanted, points), exact_row),)

    def sampled(self) -> tuple[SampledRow, ...]:
        """Weight draws, a row a size; nothing without ``log_joint``."""
        if not self.settings.num_sampled or not self._joint():
            return ()
        measure = partial(sampled_row, num_draws=self.settings.num_draws)
        sizes = [(self.settings.datasets_at(n)[0], n) for n in self.settings.sampled_points]
        return tuple(self._on_fresh(_SAMPLED, "importance sampling", one, measure) for one in sizes)

    def truth(self) -> tuple[TruthRow, ...]:
        """Score the partitions that the data were simulated from, a row a size."""
        if not self.settings.num_truths:
            return ()
        sizes = [(self.settings.datasets_at(n)[1], n) for n in self.settings.sampled_points]
        return tuple(self._on_fresh(_TRUTH, "log q of the truth", one, truth_row) for one in sizes)

    def calibration(self) -> CalibrationParts:
        """Rank the truth among draws, average the posterior of K, check the partitions."""
        settings = self.settings
        measure = partial(
            calibration_rows,
            num_draws=settings.calibrated_draws,
            num_bins=settings.num_bins,
            checks=self.checks,
        )
        if not settings.num_calibrated:
            return CalibrationParts()
        size = (settings.num_calibrated, settings.calibrated_points)
        return self._on_fresh(_CALIBRATION, "calibration", size, measure)

    def order(self) -> OrderRow | None:
        """Measure the dependence on the visiting order."""
        measure = partial(order_row, num_orders=self.settings.num_orders)
        if not self.settings.num_ordered:
            return None
        size = (self.settings.num_ordered, self.settings.ordered_points)
        return self._on_fresh(_ORDER, "visiting orders", size, measure)

    def speed(self) -> SpeedRow | None:
        """Time draws of one data set."""
        draws, repeats = self.settings.num_draws, self.settings.num_timed

        def measure(worlds: Sequence[World]) -> SpeedRow:
            return speed_row(worlds[0], num_draws=draws, num_repeats=repeats)

        if not repeats:
            return None
        return self._on_fresh(_SPEED, "speed", (1, self.settings.timed_points), measure)

    def _joint(self) -> bool:
        with own_random_numbers(self.settings.seed):
            return has_likelihood(self._worlds((1, 2))[0].model)

    def _on_fresh(
        self, part: int, what: str, size: tuple[int, int], measure: Callable[[Sequence[World]], Row]
    ) -> Row:
        self.progress(f"{what}, {size[0]} data sets of {size[1]} points")
        with own_random_numbers(self.settings.seed, part, size[1]):
            return measure(self._worlds(size))

    def _worlds(self, size: tuple[int, int]) -> tuple[World, ...]:
        datasets, points = size
        return simulate_worlds(
            self.model, self.guide, self.baseline, num_datasets=datasets, num_points=points
        )
