"""Measure the certificate of a guide: how good it is on fresh data of its model."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np
import torch

from pyroclust.calibration.accuracy import exact_row, order_row, sampled_row, speed_row, truth_row
from pyroclust.calibration.certificate import Certificate
from pyroclust.calibration.cluster_counts import cluster_count_law
from pyroclust.calibration.real_tables import real_tables_row
from pyroclust.calibration.result import Calibration, calibration_of
from pyroclust.calibration.rows import (
    CalibrationRow,
    CoverageRow,
    ExactRow,
    OrderRow,
    RealTablesRow,
    ReliabilityRow,
    SampledRow,
    SpeedRow,
    TruthRow,
)
from pyroclust.calibration.settings import CertificateSettings
from pyroclust.calibration.simulated_draws import draw_partitions
from pyroclust.core.errors import Attempts
from pyroclust.core.random_state import pyro_seeded
from pyroclust.distributions.points import Points
from pyroclust.guides import BlockFilter, PredictiveFilter
from pyroclust.guides.exact_filter import exact_filter
from pyroclust.infer.simulation import SimulatedBatch, simulate_batches
from pyroclust.saving.guides import card_of

__all__ = ["certify"]

# Parts of a certificate, each with random numbers of its own.
_EXACT, _SAMPLED, _TRUTH, _CALIBRATION, _ORDER, _SPEED = range(6)
_LIBRARIES = ("pyroclust", "torch", "pyro-ppl")

Found = TypeVar("Found")
Row = TypeVar("Row")


def certify(
    guide: Any,
    *,
    settings: CertificateSettings | None = None,
    baseline: Any | None = None,
    progress: Callable[[str], None] | None = None,
    tables: Sequence[Points] = (),
    tables_source: str = "tables",
) -> Certificate:
    """Measure everything about a guide on fresh data sets of its model.

    Divergence from exact posteriors, importance weights, log q of the truth beside a baseline, calibration
    (ranks, credible balls, pair probabilities, number of clusters), dependence on the order of the points,
    speed. Models without a likelihood have no divergence, no weights and no rank of the log joint. The
    caller's random state is left alone; the same settings give the same data sets to every guide.

    Args:
        guide: a guide with its ``model``. One with conditions is told eight values drawn from their priors.
        settings: what is measured, and on how much; ``CertificateSettings().within(min_points, max_points)``
            fits a trained guide.
        baseline: another guide of the model, scored on the same data sets; the exact filter of the model by
            default, where there is one.
        progress: told what is measured next.
        tables: real data sets that the guide was not trained on, on the scale that it expects, for a row that
            holds its draws against long chains; seconds to a minute each.
        tables_source: which tables these are, in words.

    A part that fails is left out, with the reason in ``failures``, and the certificate does not pass.

    Raises:
        ValueError: if a setting is not possible.

    Example:
        >>> from dataclasses import replace
        >>> from pyroclust.models import gaussian2d
        >>> settings = replace(CertificateSettings.nothing(), num_calibrated=20, calibrated_points=5)
        >>> certificate = certify(PredictiveFilter(gaussian2d()), settings=settings)
        >>> [row.functional for row in certificate.calibration]
        ['num_clusters', 'entropy', 'together', 'pairs', 'neighbours', 'log_prob', 'log_joint']
    """
    start = time.perf_counter()
    other = _filter_of(guide) if baseline is None else baseline
    settings = settings or CertificateSettings()
    settings.check_memory()
    bench = _Bench(guide, other, settings, progress or (lambda _: None))
    tries = Attempts()
    with torch.no_grad():
        calibration = tries.value_or_none("calibration", bench.calibration)
        found = Certificate(
            seed=bench.settings.seed,
            exact=tries.value_or_none("comparison with exact posteriors", bench.exact) or (),
            sampled=tries.value_or_none("importance sampling", bench.sampled) or (),
            truth=tries.value_or_none("log q of the truth", bench.truth) or (),
            order=tries.value_or_none("dependence on the order", bench.order),
            speed=tries.value_or_none("speed", bench.speed),
            real_tables=tries.value_or_none("real tables", partial(bench.real_tables, tables, tables_source)),
            baseline=None if other is None else type(other).__name__,
            conditions=guide.conditions,
            versions={library: version(library) for library in _LIBRARIES},
            made_for=_made_for(guide),
            failures=tries.reasons,
            **({} if calibration is None else _stored_rows(calibration)),
        )
    return replace(found, seconds=round(time.perf_counter() - start, 1))


@dataclass(frozen=True)
class _Bench:
    """A guide and what it is measured with; every method measures one part, or leaves it out."""

    guide: Any
    baseline: Any | None
    settings: CertificateSettings
    progress: Callable[[str], None]

    def exact(self) -> tuple[ExactRow, ...]:
        """Compare with enumerated posteriors; nothing without a likelihood."""
        points, wanted = self.settings.exact_points, self.settings.num_exact
        if not wanted or not self._has_likelihood:
            return ()
        return (self._on_fresh(_EXACT, "exact posteriors", (wanted, points), exact_row),)

    def sampled(self) -> tuple[SampledRow, ...]:
        """Weight draws, a row a size; nothing without a likelihood."""
        if not self.settings.num_sampled or not self._has_likelihood:
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

    def calibration(self) -> Calibration | None:
        """Test whether the truth is one more draw."""
        settings = self.settings

        def measure(worlds: Sequence[SimulatedBatch]) -> Calibration:
            drawn = draw_partitions(worlds, num_draws=settings.calibrated_draws, with_uniforms=True)
            return calibration_of(
                drawn, prior=cluster_count_law(worlds), num_bins=settings.num_bins, seed=settings.seed
            )

        if not settings.num_calibrated:
            return None
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

        def measure(worlds: Sequence[SimulatedBatch]) -> SpeedRow:
            return speed_row(worlds[0], num_draws=draws, num_repeats=repeats)

        if not repeats:
            return None
        return self._on_fresh(_SPEED, "speed", (1, self.settings.timed_points), measure)

    def real_tables(self, tables: Sequence[Points], source: str) -> RealTablesRow | None:
        """Hold draws on real tables against long chains; nothing without tables."""
        if not tables:
            return None
        self.progress(f"real tables, {len(tables)} of them")
        return real_tables_row(self.guide, tables, source=source, seed=self.settings.seed)

    @cached_property
    def _has_likelihood(self) -> bool:
        """Whether the model has one once the guide's conditions are set."""
        with pyro_seeded(self.settings.seed):
            return bool(self._worlds((1, 2))[0].model.has_likelihood)

    def _on_fresh(
        self,
        part: int,
        what: str,
        size: tuple[int, int],
        measure: Callable[[Sequence[SimulatedBatch]], Found],
    ) -> Found:
        self.progress(f"{what}, {size[0]} data sets of {size[1]} points")
        with pyro_seeded(self.settings.seed, part, size[1]):
            return measure(self._worlds(size))

    def _worlds(self, size: tuple[int, int]) -> tuple[SimulatedBatch, ...]:
        datasets, points = size
        return simulate_batches(
            self.guide.model, self.guide, self.baseline, num_datasets=datasets, num_points=points
        )


def _filter_of(guide: Any) -> PredictiveFilter | BlockFilter | None:
    """Return the exact filter of a guide's model; ``None`` for the filter itself and implicit models."""
    if isinstance(guide, PredictiveFilter | BlockFilter):
        return None
    try:
        return exact_filter(guide.model, conditions=guide.conditions)
    except ValueError:
        # Other families, and random hyperparameters that the guide is not told, have no filter.
        return None


def _made_for(guide: Any) -> dict[str, str | None]:
    """Return what tells a guide from others; nothing for one that no card can describe."""
    try:
        return card_of(guide, "", {})[0].made_for
    except ValueError:
        return {}


def _stored_rows(found: Calibration) -> dict[str, Any]:
    """Return the parts of a calibration as a certificate has them."""
    size = {
        "num_points": found.num_points,
        "num_datasets": found.num_datasets,
        "num_draws": found.num_draws,
    }
    pairs = found.reliability
    return {
        "calibration": tuple(
            CalibrationRow(row.name, **size, counts=tuple(row.counts.tolist())) for row in found.sbc.rows
        ),
        "num_clusters": found.num_clusters,
        "coverage": _stored(CoverageRow, found.coverage, size),
        "reliability": None if pairs is None else _stored(ReliabilityRow, pairs, size),
    }


def _stored(kind: type[Row], found: Any, size: Mapping[str, int]) -> Row:
    """Keep what a row has of a result, arrays as tuples."""
    values = {one.name: size.get(one.name, getattr(found, one.name, None)) for one in fields(kind)}  # type: ignore[arg-type]
    return kind(
        **{name: tuple(one.tolist()) if isinstance(one, np.ndarray) else one for name, one in values.items()}
    )
