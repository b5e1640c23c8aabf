"""Measure the certificate of a guide: how much is measured, and how good it is on fresh data of its model."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Self, TypeVar

import numpy as np
import torch

from pyroclust.calibration.accuracy import (
    exact_row,
    mixture_row,
    order_row,
    real_tables_row,
    sampled_row,
    speed_row,
    truth_row,
)
from pyroclust.calibration.calibrating import Calibration, calibration_of, cluster_count_law
from pyroclust.calibration.certificate import (
    CalibrationRow,
    Certificate,
    CoverageRow,
    ReliabilityRow,
    SpeedRow,
)
from pyroclust.calibration.simulations import draw_partitions
from pyroclust.core.machine import check_memory
from pyroclust.core.messages import Attempts
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.core.random_state import pyro_seeded
from pyroclust.core.workers import LostTask, check_workers, done_by
from pyroclust.distributions.points import Points
from pyroclust.guides import BlockFilter, PredictiveFilter, SetTransformerMixture
from pyroclust.guides.exact_filters import exact_filter
from pyroclust.infer.simulation import SimulatedBatch, simulate_batches
from pyroclust.partitions import MAX_ENUMERATED_POINTS
from pyroclust.saving.guides import card_of

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


_LIBRARIES = ("pyroclust", "torch", "pyro-ppl")

Row = TypeVar("Row")


def certify(
    guide: Any,
    *,
    settings: CertificateSettings | None = None,
    baseline: Any | None = None,
    progress: Callable[[str], None] | None = None,
    tables: Sequence[Points] = (),
    tables_source: str = "tables",
    client: Any = None,
) -> Certificate:
    """Measure everything about a guide on fresh data sets of its model.

    Divergence from exact posteriors, importance weights, log q of the truth beside a baseline, calibration
    (ranks, credible balls, pair probabilities, number of clusters), dependence on the order of the points,
    speed. Models without a likelihood have no divergence, no weights and no rank of the log joint. The
    caller's random state is left alone; the same settings give the same data sets to every guide.

    Args:
        guide: a guide with its ``model``. One with conditions is conditioned on eight values
            drawn from their priors.
        settings: what is measured, and on how much; ``CertificateSettings().within(min_points, max_points)``
            fits a trained guide.
        baseline: another guide of the model, scored on the same data sets; the exact filter of the model by
            default, where there is one.
        progress: called with what is measured next, in words.
        tables: real data sets that the guide was not trained on, on the scale that it expects, for a row that
            holds its draws against long chains; seconds to a minute each.
        tables_source: which tables these are, in words.
        client: a client of ``dask.distributed``, whose workers measure the parts, a size each; the speed and
            the real tables are those of this process. Figures are the same, up to the rounding of threads.

    A part that fails is left out, with the reason in ``failures``, and the certificate does not pass.

    Raises:
        ValueError: if a setting is not possible, or the client has no workers of these versions.

    Example:
        >>> from dataclasses import replace
        >>> from pyroclust.models import gaussian2d
        >>> settings = replace(CertificateSettings.nothing(), num_calibrated=20, calibrated_points=5)
        >>> certificate = certify(PredictiveFilter(gaussian2d()), settings=settings)
        >>> [row.functional for row in certificate.calibration]
        ['num_clusters', 'entropy', 'together', 'pairs', 'neighbours', 'log_prob', 'log_joint']
    """
    start = time.perf_counter()
    baseline = _filter_of(guide) if baseline is None else baseline
    settings = settings or CertificateSettings()
    _check_memory(settings)
    if client is not None:
        check_workers(client)
    tell = progress or (lambda _: None)
    simulated = partial(simulate_batches, guide.model, guide, baseline)
    tries = Attempts()
    with torch.no_grad():
        with pyro_seeded(settings.seed):
            few = tries.value_or_none("simulation", partial(simulated, num_datasets=1, num_points=2))
        # The model has one once the guide's conditions are set.
        has_likelihood = few is not None and bool(few[0].model.has_likelihood)
        kind = {"has_likelihood": has_likelihood, "is_mixture": isinstance(guide, SetTransformerMixture)}
        parts, found = _parts(settings, **kind), dict[tuple[str, int], Any]()
        shared = simulated, settings, kind
        # Speed last, when nothing else runs.
        for names, there in (([*parts][:-1], client), ([*parts][-1:], None)):
            tasks = _tasks_of(tell, {name: parts[name] for name in names})
            for task, row in done_by(there, _row_or_reason, shared, tasks):
                found[task] = row
        rows: dict[str, Any] = {}
        for field, part in parts.items():
            measured = [found[field, num_points] for num_points in part.datasets]
            reason = next((str(one) for one in measured if isinstance(one, str | LostTask)), None)
            rows[field] = () if reason is not None else tuple(measured)
            tries.reasons |= {} if reason is None else {part.name: reason}
        if tables:
            tell(f"real tables, {len(tables)} of them")
            of_tables = partial(real_tables_row, guide, tables, source=tables_source, seed=settings.seed)
            rows["real_tables"] = tries.value_or_none("real tables", of_tables)
    order, speed, calibration = (next(iter(rows.pop(one)), None) for one in ("order", "speed", "calibration"))
    certificate = Certificate(
        seed=settings.seed,
        order=order,
        speed=speed,
        baseline=None if baseline is None else type(baseline).__name__,
        conditions=guide.conditions,
        versions={library: version(library) for library in _LIBRARIES},
        made_for=_made_for(guide),
        failures=tries.reasons,
        **rows,
        **({} if calibration is None else _calibration_rows(calibration)),
    )
    return replace(certificate, seconds=round(time.perf_counter() - start, 1))


@dataclass(frozen=True)
class _Part:
    """A part of a certificate: fresh data sets of some sizes, and what measures them."""

    # Of its random numbers.
    key: int
    name: str
    data: str
    # Numbers of data sets by their numbers of points.
    datasets: Mapping[int, int]
    measure: Callable[[Sequence[SimulatedBatch]], Any]


def _tasks_of(tell: Callable[[str], None], parts: Mapping[str, _Part]) -> Iterator[tuple[str, int]]:
    """Return the tasks of some parts, a size each, and say what begins."""
    for field, part in parts.items():
        for num_points, num_datasets in part.datasets.items():
            tell(f"{part.data}, {num_datasets} data sets of {num_points} points")
            yield field, num_points


def _row_or_reason(shared: tuple[Any, CertificateSettings, dict[str, bool]], task: tuple[str, int]) -> Any:
    """Measure a part at one size; return why it cannot be where it fails."""
    (simulated, settings, kind), (field, num_points) = shared, task
    part, tries = _parts(settings, **kind)[field], Attempts()

    def row() -> Any:
        batches = simulated(num_datasets=part.datasets[num_points], num_points=num_points)
        return part.measure(batches)

    with torch.no_grad(), pyro_seeded(settings.seed, part.key, num_points):
        measured = tries.value_or_none(part.name, row)
    return tries.reasons.get(part.name, measured)


def _parts(settings: CertificateSettings, *, has_likelihood: bool, is_mixture: bool) -> dict[str, _Part]:
    """Return the parts by their names in a certificate; one that is left out has no data sets."""

    def calibration(batches: Sequence[SimulatedBatch]) -> Calibration:
        draws = draw_partitions(batches, num_draws=settings.calibrated_draws, with_uniforms=True)
        prior = cluster_count_law(batches)
        return calibration_of(draws, prior=prior, num_bins=settings.num_bins, seed=settings.seed)

    def speed(batches: Sequence[SimulatedBatch]) -> SpeedRow:
        return speed_row(batches[0], num_draws=settings.num_draws, num_repeats=settings.num_timed)

    numbers = {size: settings.datasets_at(size) for size in settings.sampled_points}
    sampled = {
        size: number for size, (number, _) in numbers.items() if settings.num_sampled and has_likelihood
    }
    truths = {size: number for size, (_, number) in numbers.items() if settings.num_truths}
    exact = {settings.exact_points: settings.num_exact} if settings.num_exact and has_likelihood else {}
    calibrated = {settings.calibrated_points: settings.num_calibrated} if settings.num_calibrated else {}
    ordered = {settings.ordered_points: settings.num_ordered} if settings.num_ordered else {}
    timed = {settings.timed_points: 1} if settings.num_timed else {}
    claimed = truths if is_mixture else {}
    weigh = partial(sampled_row, num_draws=settings.num_draws)
    turn = partial(order_row, num_orders=settings.num_orders)
    mixture = partial(mixture_row, num_bins=settings.num_bins)
    return {
        "calibration": _Part(3, "calibration", "calibration", calibrated, calibration),
        "exact": _Part(0, "comparison with exact posteriors", "exact posteriors", exact, exact_row),
        "sampled": _Part(1, "importance sampling", "importance sampling", sampled, weigh),
        "truth": _Part(2, "log q of the truth", "log q of the truth", truths, truth_row),
        "mixture": _Part(6, "likelihood and memberships", "mixtures", claimed, mixture),
        "order": _Part(4, "dependence on the order", "visiting orders", ordered, turn),
        "speed": _Part(5, "speed", "speed", timed, speed),
    }


def _check_memory(settings: CertificateSettings) -> None:
    """Refuse, before anything is measured, a part whose labels do not fit into the memory that is left."""
    largest = max(settings.sampled_points, default=0)
    labels = {
        "num_exact": settings.exact_points,
        "num_truths": largest,
        "num_draws": largest if settings.num_sampled else 0,
        "num_calibrated": settings.calibrated_points * settings.calibrated_draws,
        "num_ordered": settings.ordered_points,
        "num_orders": settings.ordered_points if settings.num_ordered else 0,
    }
    for name, each in labels.items():
        number = getattr(settings, name)
        check_memory(8 * number * each, f"{name} is {number}: labels of data sets", remedy="draw fewer")


def _filter_of(guide: Any) -> PredictiveFilter | BlockFilter | None:
    """Return the exact filter of a guide's model; ``None`` for the filter itself and implicit models."""
    if isinstance(guide, PredictiveFilter | BlockFilter):
        return None
    try:
        return exact_filter(guide.model, conditions=guide.conditions)
    except ValueError:
        # Other families, and random hyperparameters that are no conditions of the guide, have no filter.
        return None


def _made_for(guide: Any) -> dict[str, str | None]:
    """Return what tells a guide from others; nothing for one that no card can describe."""
    try:
        return card_of(guide, "", {})[0].made_for
    except ValueError:
        return {}


def _calibration_rows(calibration: Calibration) -> dict[str, Any]:
    """Return the parts of a calibration as a certificate has them."""
    sizes = {name: getattr(calibration, name) for name in ("num_points", "num_datasets", "num_draws")}
    pairs = calibration.reliability
    return {
        "calibration": tuple(
            CalibrationRow(row.name, **sizes, counts=tuple(row.counts.tolist()))
            for row in calibration.sbc.rows
        ),
        "num_clusters": calibration.num_clusters,
        "coverage": _row(CoverageRow, calibration.coverage, sizes),
        "reliability": None if pairs is None else _row(ReliabilityRow, pairs, sizes),
    }


def _row(kind: type[Row], result: Any, sizes: Mapping[str, int]) -> Row:
    """Keep what a row has of a result, arrays as tuples."""
    names = [one.name for one in fields(kind) if one.name not in sizes]  # type: ignore[arg-type]
    values = {name: getattr(result, name) for name in names}
    return kind(
        **sizes,
        **{name: tuple(one.tolist()) if isinstance(one, np.ndarray) else one for name, one in values.items()},
    )
