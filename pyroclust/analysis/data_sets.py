"""What is done with one data set among many: read it, draw by the guide and weigh, or run chains."""

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pyroclust.analysis.chains import draw_mcmc
from pyroclust.analysis.compare import scaled
from pyroclust.analysis.picking import ModelAndGuide, pick_guide, tied_values
from pyroclust.analysis.steps import Settings
from pyroclust.core.machine import one_torch_thread, single_precision
from pyroclust.core.messages import first_line
from pyroclust.core.numbers import on_host
from pyroclust.core.random_state import seeded
from pyroclust.data import Standardised, Table, read_table
from pyroclust.data.column_selection import doubts_of_table
from pyroclust.data.datasets import read_new_rows
from pyroclust.diagnostics import (
    SetVerdict,
    Trust,
    importance_efficiency,
    point_estimate,
    point_uncertainty,
)
from pyroclust.diagnostics.differences import marginals
from pyroclust.diagnostics.findings import share_of_sure_pairs, share_together
from pyroclust.diagnostics.importance import smooth_log_weights, stratified_draws
from pyroclust.diagnostics.judging import verdict_of_set
from pyroclust.infer.checks import log_joint_of
from pyroclust.infer.mcmc.named_kernels import has_kernel
from pyroclust.results.answer import likeliest_of
from pyroclust.results.data import AnalysedData
from pyroclust.results.data_sets import ClusteredSet
from pyroclust.results.summaries import DrawsSummary
from pyroclust.saving.cards import NO_GUIDE

# Labels that are drawn in one batch.
_LABELS_AT_ONCE = 4_000_000
_UNKNOWN: Mapping[str, Any] = {
    **{"rows": 0, "clusters": 0, "probability": math.nan, "low": 0, "high": 0},
    **{"certain_rows": math.nan, "certain_pairs": math.nan, "efficiency": math.nan, "pareto_k": math.nan},
    **{"verdict": SetVerdict.FAILED.value, "drawn_by": "", "seconds": 0.0, "note": "", "posterior": []},
}


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A data set that waits to be clustered."""

    name: str
    fingerprint: str
    source: Any  # a file, a data frame, an array, or a table that was read as the first one
    row: Mapping[str, Any] = field(default_factory=dict)  # what is known of it already


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How all data sets are clustered."""

    first: Table  # whose columns all have, and as what they are read
    picked: ModelAndGuide
    words: Mapping[str, Any] | None  # that name the model; None where the guide brings its own
    raw: bool
    num_draws: int
    seed: int
    reading: Mapping[str, Any] = field(default_factory=dict)
    finds_doubts: bool = False  # as where kinds of columns are found out

    def read(self, source: Any) -> tuple[Table, Standardised]:
        """Return a data set as the first one was read, and its points on the scale of the model."""
        if isinstance(source, Table):
            table = source
        elif self.first.shape is None:
            table = read_new_rows(source, self.first, **self.reading)
        else:
            table = read_table(source)
        if len(table.data) < 2:
            raise ValueError(f"it has {len(table.data)} row, expected at least 2")
        points = scaled(table, raw=self.raw, pca=None)
        self.picked.notes_on(table, points)
        return replace(table, doubts=doubts_of_table(table)) if self.finds_doubts else table, points

    def is_tied(self, points: Standardised) -> bool:
        """Say whether rows are so often equal that clusters of a random scale would shrink onto them."""
        is_default = self.words is not None and self.words.get("family") is None
        return is_default and tied_values(self.picked.model, points.data, None) > 0

    def model_for(self, table: Table, points: Standardised) -> Any:
        """Return the model that chains run on: of rows that are often equal one of a fixed scale."""
        if self.words is None or not self.is_tied(points):
            return self.picked.model
        return pick_guide(NO_GUIDE, AnalysedData(table, points), conditions={}, names=self.words).model

    def seed_of(self, *names: str) -> int:
        """Return the seed of what is drawn for some data sets."""
        digest = hashlib.sha256("\0".join((str(self.seed), *names)).encode("utf-8", "surrogatepass"))
        return int.from_bytes(digest.digest()[:4])


@dataclass(frozen=True, kw_only=True)
class _ReadSet:
    of: DataSet
    table: Table
    points: Standardised
    note: str  # why the guide does not draw; empty where it does
    seconds: float  # of reading

    @property
    def number(self) -> int:
        return len(self.points.data)

    def kept(self, row: Mapping[str, Any], **arrays: Any) -> ClusteredSet:
        """Return it with its row of the summaries, which is completed, and its arrays."""
        data = AnalysedData(self.table, self.points).clustered.data
        note = "; ".join(filter(None, (self.note, *self.table.notes, *self.table.doubts)))
        row = {**_UNKNOWN, **row, "rows": self.number, "note": note}
        return ClusteredSet(
            name=self.of.name,
            fingerprint=self.of.fingerprint,
            summary=row,
            row_names=self.table.row_names,
            data=data,
            **arrays,
        )


def label_sets(plan: Plan, sets: Sequence[DataSet]) -> list[ClusteredSet]:
    """Draw from the guide, all data sets of one size in a batch; what needs chains is marked.

    A data set that cannot be used is a row with the reason.
    """
    done: dict[str, ClusteredSet] = {}
    by_size: dict[int, list[_ReadSet]] = {}
    for one in sets:
        began = time.process_time()
        try:
            table, points = plan.read(one.source)
            why = _why_no_guide(plan, points)
        except Exception as error:
            done[one.name] = failed_set(one, _reason(error, one))
            continue
        read = _ReadSet(of=one, table=table, points=points, note=why, seconds=time.process_time() - began)
        if why and has_kernel(plan.picked.model):
            done[one.name] = read.kept({"verdict": SetVerdict.CHAINS.value, "seconds": read.seconds})
        else:
            by_size.setdefault(read.number, []).append(read)
    for number, alike in by_size.items():
        size = max(1, _LABELS_AT_ONCE // (plan.num_draws * number))
        for first in range(0, len(alike), size):
            batch = alike[first : first + size]
            done |= {one.name: one for one in _drawn(plan, batch)}
    return [done[one.name] for one in sets]


def _why_no_guide(plan: Plan, points: Standardised) -> str:
    """Say why the guide is not for a data set; nothing where it is."""
    picked, number = plan.picked, len(points.data)
    if picked.guide is None:
        return ""
    if number < picked.min_points:
        return f"the guide was trained on {picked.min_points:,} rows or more"
    if picked.max_points is not None and number > picked.max_points:
        return f"the guide was trained on up to {picked.max_points:,} rows"
    if plan.is_tied(points):
        return "few rows are different: the scale of clusters is fixed"
    return ""


def _drawn(plan: Plan, batch: Sequence[_ReadSet]) -> list[ClusteredSet]:
    """Draw for data sets of one size together; where that fails, for each alone."""
    if plan.picked.guide is None:
        return [one.kept({"verdict": SetVerdict.CHAINS.value, "seconds": one.seconds}) for one in batch]
    began = time.process_time()
    try:
        labels, log_ratios = _draw(plan, batch)
    except Exception as error:
        if len(batch) > 1:
            return [one for alone in batch for one in _drawn(plan, [alone])]
        return [failed_set(batch[0].of, _reason(error, batch[0].of))]
    each = (time.process_time() - began) / len(batch)
    return [
        _summarised(
            one,
            labels[:, place],
            None if log_ratios is None else log_ratios[:, place],
            seed=plan.seed_of(one.of.name),
            seconds=one.seconds + each,
        )
        for place, one in enumerate(batch)
    ]


def _draw(plan: Plan, batch: Sequence[_ReadSet]) -> tuple[np.ndarray, np.ndarray | None]:
    """Return labels ``(S, B, N)`` and log p - log q ``(S, B)``, ``None`` without a likelihood."""
    model, guide, first = plan.picked.model, plan.picked.guide, batch[0].table
    with (
        seeded(plan.seed_of(*(one.of.name for one in batch))),
        torch.no_grad(),
        one_torch_thread(),
        single_precision(),
    ):
        data = torch.from_numpy(np.stack([one.points.data for one in batch]))
        if first.shape is not None:
            data = data.unflatten(-1, first.shape.event_shape)
        labels, log_prob = guide.posterior(data).sample_and_log_prob((plan.num_draws,))
        log_ratios = None
        if model.has_likelihood:
            log_ratios = (log_joint_of(model, data, labels).double() - log_prob.double()).numpy()
    return labels.numpy(), log_ratios


def _summarised(
    one: _ReadSet, labels: np.ndarray, log_ratios: np.ndarray | None, *, seed: int, seconds: float
) -> ClusteredSet:
    began = time.process_time()
    efficiency = k = math.nan
    verdict, equal = SetVerdict.ALONE, labels
    if log_ratios is not None:
        efficiency, (smoothed, k) = importance_efficiency(log_ratios), smooth_log_weights(log_ratios)
        verdict = verdict_of_set(efficiency, k, num_draws=len(labels))
        if verdict is not SetVerdict.CHAINS:
            uniform = np.random.default_rng(seed).random(len(labels))
            equal = labels[stratified_draws(np.exp(smoothed), uniform)]
    estimate = point_estimate(equal, seed=0)
    figures, certainty = _figures(equal, estimate)
    row = {"efficiency": efficiency, "pareto_k": k, "verdict": verdict.value, "drawn_by": "guide"}
    return one.kept(
        {**figures, **row, "seconds": seconds + time.process_time() - began},
        assignments=labels.astype(np.int32),
        log_weights=np.zeros(len(labels)) if log_ratios is None else log_ratios,
        estimate=estimate,
        certainty=certainty,
    )


def _figures(labels: np.ndarray, estimate: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Return what draws say of the clusters, and how certain a point estimate is."""
    posterior, certainty = marginals(labels), 1 - point_uncertainty(labels, estimate)
    likeliest = likeliest_of(posterior.counts)
    low, high = likeliest["interval"]
    figures = {
        "clusters": likeliest["num_clusters"],
        "probability": likeliest["probability"],
        "low": low,
        "high": high,
        "certain_rows": share_together(certainty),
        "certain_pairs": share_of_sure_pairs(posterior.together),
        "posterior": np.trim_zeros(posterior.counts[1:], "b").tolist(),
    }
    return figures, certainty


def run_chains(plan: Plan, one: DataSet) -> ClusteredSet:
    """Draw by chains that go on until they have converged, for a data set that was read before."""
    began = time.process_time()
    try:
        table, points = plan.read(one.source)
        model, seed = plan.model_for(table, points), plan.seed_of(one.name)
        data = torch.tensor(points.data)
        if table.shape is not None:
            data = data.unflatten(-1, table.shape.event_shape)
        with one_torch_thread(), single_precision():
            drawn = draw_mcmc(model, data, Settings(), seed=seed).draws
            summary = DrawsSummary(drawn, name="MCMC", seed=0, key="mcmc")
            has_converged = summary.verdict.level in (Trust.TRUST, Trust.AVERAGE)
            estimate = summary.assignments
            figures, certainty = _figures(summary.labels, estimate)
    except Exception as error:
        return without_chains(one, _reason(error, one), seconds=time.process_time() - began)
    some = np.linspace(0, drawn.num_draws - 1, plan.num_draws).round().astype(int)
    verdict = SetVerdict.SURE if has_converged else SetVerdict.NOT_CONVERGED
    row = {**one.row, **figures, "verdict": verdict.value, "drawn_by": "chains"}
    row["seconds"] = one.row["seconds"] + time.process_time() - began
    return ClusteredSet(
        name=one.name,
        fingerprint=one.fingerprint,
        summary=row,
        assignments=drawn.flat[some],
        log_weights=np.zeros(plan.num_draws),
        estimate=estimate,
        certainty=certainty,
    )


def without_chains(one: DataSet, reason: str, *, seconds: float = 0.0) -> ClusteredSet:
    """Return a data set as it was, with the reason why chains failed."""
    note = "; ".join(filter(None, (one.row["note"], f"chains failed: {reason}")))
    row = {**one.row, "note": note, "seconds": one.row["seconds"] + seconds}
    return ClusteredSet(name=one.name, fingerprint=one.fingerprint, summary=row)


def failed_set(one: DataSet, reason: str) -> ClusteredSet:
    """Return a data set that could not be used, with the reason."""
    return ClusteredSet(
        name=one.name, fingerprint=one.fingerprint, summary={**_UNKNOWN, **one.row, "note": reason}
    )


def _reason(error: Exception, one: DataSet) -> str:
    """Return what is wrong with a data set, without its name."""
    said = first_line(error)
    names = [one.name, *([Path(one.source).stem] if isinstance(one.source, str | Path) else [])]
    for name in (*names, "table", "array"):
        said = said.removeprefix(f"{name}: ").removeprefix(f"{name} has ")
    return said


def fingerprint_of(source: Any) -> str:
    """Return what changes where a data set changes: of a file its size and time, else a checksum.

    It is empty of what cannot be read.
    """
    try:
        if isinstance(source, str | Path):
            status = Path(source).stat()
            return f"{status.st_size} bytes of {status.st_mtime_ns}"
        if hasattr(source, "to_csv"):
            content = source.to_csv().encode("utf-8", "surrogatepass")
        else:
            array = np.ascontiguousarray(source.data if isinstance(source, Table) else on_host(source))
            content = repr((array.dtype, array.shape)).encode() + array.tobytes()
    except (OSError, ValueError, TypeError):
        return ""
    return hashlib.sha256(content).hexdigest()[:16]
