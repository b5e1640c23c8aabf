"""How good a guide is on fresh data of its model: divergence, efficiency, calibration, orders, speed."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import torch

from pyroclust.calibration.accuracy import (
    exact_row,
    order_row,
    sampled_row,
    speed_row,
    truth_row,
)
from pyroclust.calibration.ranks import CalibrationParts, PartitionChecks, calibration_rows
from pyroclust.calibration.rows import (
    CalibrationRow,
    ClusterCountRow,
    CoverageRow,
    ExactRow,
    OrderRow,
    ReliabilityRow,
    SampledRow,
    SpeedRow,
    TruthRow,
)
from pyroclust.calibration.settings import CertificateSettings
from pyroclust.infer.simulation import World, simulate, simulate_worlds
from pyroclust.random_state import own_random_numbers

__all__ = ["Bench", "Certificate", "ExactRow", "SampledRow", "certify", "full_certificate", "simulate"]

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
            return self._worlds((1, 2))[0].model.has_likelihood

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


_LIBRARIES = ("pyroclust", "torch", "pyro-ppl")


@dataclass(frozen=True)
class Certificate:
    """What was measured, by part; a part that was left out, or that the model cannot have, is empty.

    Attributes:
        seed: of all data sets and draws.
        exact: divergence from enumerated posteriors.
        sampled: importance sampling, a row a size.
        truth: log q of the truth beside a baseline, a row a size.
        calibration: ranks of the truth, a row a functional.
        num_clusters: prior against averaged posterior of K.
        coverage: of credible balls of partitions, in the draws of the calibration.
        reliability: of pair probabilities, in the same draws.
        order: dependence on the visiting order.
        speed: draws a second.
        seconds: what the certificate took.
        baseline: class of the baseline; ``None`` without one.
        conditions: hyperparameters that the guide is told; eight values are drawn from their priors.
        versions: of the libraries that measured.
    """

    seed: int
    exact: tuple[ExactRow, ...] = ()
    sampled: tuple[SampledRow, ...] = ()
    truth: tuple[TruthRow, ...] = ()
    calibration: tuple[CalibrationRow, ...] = ()
    num_clusters: ClusterCountRow | None = None
    order: OrderRow | None = None
    speed: SpeedRow | None = field(default=None, compare=False)
    seconds: float | None = field(default=None, compare=False)
    baseline: str | None = None
    conditions: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    coverage: CoverageRow | None = None
    reliability: ReliabilityRow | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and ``None``, ready for JSON; what a card stores."""
        return _plain(asdict(self))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Certificate":
        """Read what :meth:`to_dict` wrote; entries that are missing are empty, others are passed over.

        Raises:
            ValueError: if an entry has not the right form.

        Example:
            >>> row = ExactRow(8, 200, 0.01, 0.005, 0.001)
            >>> Certificate.from_dict(Certificate(1, (row,)).to_dict()).exact[0] == row
            True
        """
        try:
            parts: dict[str, Any] = {
                name: tuple(_row(kind, one) for one in content.get(name, ())) for name, kind in _ROWS
            }
            parts |= {name: _row(kind, content[name]) for name, kind in _SINGLE if content.get(name)}
            parts |= {name: content[name] for name in ("seconds", "baseline", "versions") if name in content}
            names = tuple(content.get("conditions", ()))
            return cls(seed=int(content["seed"]), conditions=names, **parts)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"content lacks or garbles an entry of a certificate ({error})") from None


_ROWS: tuple[tuple[str, type[Any]], ...] = (
    ("exact", ExactRow),
    ("sampled", SampledRow),
    ("truth", TruthRow),
    ("calibration", CalibrationRow),
)
_SINGLE: tuple[tuple[str, type[Any]], ...] = (
    ("num_clusters", ClusterCountRow),
    ("coverage", CoverageRow),
    ("reliability", ReliabilityRow),
    ("order", OrderRow),
    ("speed", SpeedRow),
)


def certify(
    model: Any,
    guide: Any,
    *,
    seed: int = 1,
    num_exact: int = 200,
    exact_points: int = 8,
    num_sampled: int = 50,
    sampled_points: tuple[int, ...] = (20, 50, 100),
    num_draws: int = 1000,
) -> Certificate:
    """Measure divergence and efficiency only; the same seed gives the same data sets to every guide.

    Args:
        model: collapsed model with ``log_joint``.
        guide: anything with ``posterior(data)``.
        seed: of data sets and draws.
        num_exact: data sets that are enumerated.
        exact_points: their number of points, at most 10.
        num_sampled: data sets at each larger size.
        sampled_points: the larger sizes.
        num_draws: draws a data set.
    """
    settings = CertificateSettings(
        seed=seed,
        num_exact=num_exact,
        exact_points=exact_points,
        num_sampled=num_sampled,
        sampled_points=sampled_points,
        num_draws=num_draws,
    )
    none = replace(settings, num_truths=0, num_calibrated=0, num_ordered=0, num_timed=0)
    return full_certificate(model, guide, settings=none)


def full_certificate(
    model: Any,
    guide: Any,
    *,
    settings: CertificateSettings | None = None,
    baseline: Any | None = None,
    progress: Callable[[str], None] | None = None,
    checks: PartitionChecks | None = None,
) -> Certificate:
    """Measure everything about a guide on fresh data sets of a model.

    Models without ``log_joint`` have no divergence, no efficiency and no rank of the log joint. The caller's
    random state is left alone; the same settings give the same data sets to every guide.

    Args:
        model: the model to simulate from.
        guide: anything with ``posterior(data)``.
        settings: what to measure, and on how much.
        baseline: another guide of the model, scored on the same data sets.
        progress: told what is measured next.
        checks: finds coverage and reliability in the draws of the calibration; ``None`` leaves both out.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> guide = PredictiveFilter(gaussian2d())
        >>> sizes = {"num_exact": 2, "num_sampled": 0, "num_truths": 0, "num_ordered": 0, "num_timed": 0}
        >>> settings = CertificateSettings(exact_points=4, num_calibrated=20, calibrated_points=5, **sizes)
        >>> certificate = full_certificate(guide.model, guide, settings=settings)
        >>> [row.functional for row in certificate.calibration]
        ['num_clusters', 'entropy', 'together', 'pairs', 'neighbours', 'log_prob', 'log_joint']
    """
    start = time.perf_counter()
    tell = progress or (lambda _: None)
    bench = Bench(model, guide, baseline, settings or CertificateSettings(), tell, checks)
    with torch.no_grad():
        calibrated = bench.calibration()
        found = Certificate(
            seed=bench.settings.seed,
            exact=bench.exact(),
            sampled=bench.sampled(),
            truth=bench.truth(),
            calibration=calibrated.rows,
            num_clusters=calibrated.num_clusters,
            coverage=calibrated.coverage,
            reliability=calibrated.reliability,
            order=bench.order(),
            speed=bench.speed(),
            baseline=None if baseline is None else type(baseline).__name__,
            conditions=guide.conditions,
            versions={library: version(library) for library in _LIBRARIES},
        )
    return replace(found, seconds=round(time.perf_counter() - start, 1))


def _plain(value: Any) -> Any:
    """Turn tuples into lists, and numbers that JSON does not have into ``None``."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def _row(kind: type[Row], content: Mapping[str, Any]) -> Row:
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    values = {name: tuple(one) if isinstance(one, list) else one for name, one in content.items()}
    return kind(**{name: one for name, one in values.items() if name in known})
