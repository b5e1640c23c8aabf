"""How much is measured for a certificate."""

import math
from dataclasses import dataclass, fields, replace
from typing import Self

from pyroclust.core.counts import check_count, check_seed
from pyroclust.partitions import MAX_ENUMERATED_POINTS

_LARGER_SIZES = (20, 50, 100, 300)
# Beyond this size there are fewer data sets, so that large ones do not take all the time.
_MODERATE_POINTS = 100


@dataclass(frozen=True)
class CertificateSettings:
    """Sizes of the measurements; a number of data sets that is 0 leaves the part out.

    The defaults take one to three minutes on one core.

    Attributes:
        seed: of all data sets and draws.
        num_exact: data sets that are enumerated.
        exact_points: their number of points, at most 10.
        num_sampled: data sets of importance sampling at each larger size, fewer beyond 100 points.
        sampled_points: the larger sizes.
        num_draws: draws a data set.
        num_truths: data sets of log q of the truth at each larger size, fewer beyond 100 points.
        num_calibrated: data sets of simulation-based calibration.
        calibrated_points: their number of points.
        calibrated_draws: draws of each; one less than a multiple of ``num_bins``.
        num_bins: bins of the ranks.
        num_ordered: data sets of the order invariance.
        num_orders: orders of each.
        ordered_points: their number of points.
        num_timed: repeats of the measurement of speed.
        timed_points: its number of points.

    Raises:
        ValueError: if a number is negative, or the bins do not divide the ranks.

    Example:
        >>> CertificateSettings().within(1, 100).sampled_points
        (20, 50, 100)
        >>> CertificateSettings().datasets_at(100), CertificateSettings().datasets_at(300)
        ((50, 1000), (16, 333))
    """

    seed: int = 1
    num_exact: int = 200
    exact_points: int = 8
    num_sampled: int = 50
    sampled_points: tuple[int, ...] = _LARGER_SIZES
    num_draws: int = 1000
    num_truths: int = 1000
    num_calibrated: int = 500
    calibrated_points: int = 30
    calibrated_draws: int = 99
    num_bins: int = 20
    num_ordered: int = 100
    num_orders: int = 100
    ordered_points: int = 20
    num_timed: int = 3
    timed_points: int = 100

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            lowest = 0 if field.name in ("seed", *_PARTS) else 1
            for one in value if isinstance(value, tuple) else (value,):
                check_count(field.name, one, at_least=lowest)
        check_seed(self.seed)
        if self.num_exact:
            check_count("exact_points", self.exact_points, at_most=MAX_ENUMERATED_POINTS)
        if (self.calibrated_draws + 1) % self.num_bins:
            raise ValueError(
                f"calibrated_draws is {self.calibrated_draws}, expected one less than a multiple of the "
                f"{self.num_bins} bins, such as {5 * self.num_bins - 1}"
            )

    @classmethod
    def nothing(cls, *, seed: int = 1) -> Self:
        """Return settings that leave every part out, to name those that are wanted."""
        return cls(
            seed, num_exact=0, num_sampled=0, num_truths=0, num_calibrated=0, num_ordered=0, num_timed=0
        )

    @classmethod
    def quick(cls) -> Self:
        """Return settings for a look of some seconds; differences must be large to show."""
        return cls(
            num_exact=40,
            exact_points=6,
            num_sampled=10,
            sampled_points=(20, 50),
            num_draws=400,
            num_truths=200,
            num_calibrated=200,
            calibrated_points=20,
            num_ordered=20,
            num_orders=50,
            num_timed=1,
        )

    def within(self, min_points: int, max_points: int | None) -> Self:
        """Return the settings without sizes beyond those that a guide was trained for.

        Enumeration is left out of guides of more points than can be enumerated.

        Args:
            min_points: smallest number of points in training.
            max_points: largest number of points; ``None`` where any number is fine.

        Example:
            >>> settings = CertificateSettings().within(100, 500)
            >>> settings.sampled_points, settings.calibrated_points, settings.num_exact
            ((100, 300), 100, 0)
        """
        most = math.inf if max_points is None else max_points

        def inside(size: int) -> int:
            return int(min(max(size, min_points), most))

        return replace(
            self,
            num_exact=self.num_exact if min_points <= MAX_ENUMERATED_POINTS else 0,
            exact_points=int(min(self.exact_points, most)),
            sampled_points=tuple(n for n in self.sampled_points if min_points <= n <= most),
            calibrated_points=inside(self.calibrated_points),
            ordered_points=inside(self.ordered_points),
            timed_points=inside(self.timed_points),
        )

    def datasets_at(self, num_points: int) -> tuple[int, int]:
        """Return the numbers of data sets of importance sampling and of log q of the truth at a size.

        Beyond 100 points all data sets of a size have the same number of points together.
        """
        share = min(1.0, _MODERATE_POINTS / num_points)
        sampled, truths = int(share * self.num_sampled), int(share * self.num_truths)
        return max(1, sampled), max(1, truths)


# None of them leaves a part out.
_PARTS = ("num_exact", "num_sampled", "num_truths", "num_calibrated", "num_ordered", "num_timed")
