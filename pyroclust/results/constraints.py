"""What a user knows of the partition, what the data say of it, and what it changed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyroclust.core.messages import listed, range_in_words
from pyroclust.diagnostics import Finding, LogEvidence
from pyroclust.diagnostics.differences.constraint_effect import ConstraintEffect
from pyroclust.diagnostics.verdicts.constraints import ConstraintOdds
from pyroclust.partitions import Draws

# Groups and pairs that are spelled, and rows of a group.
_MOST_SPELLED, _MOST_ROWS = 5, 8


@dataclass(frozen=True)
class FreePosterior:
    """Draws of the same model's posterior without constraints."""

    draws: Draws  # of the guide, refined, or of MCMC
    kept: np.ndarray  # which of them keep the constraints, (chains, draws)
    effective_draws: float  # what they are worth for that
    evidences: tuple[LogEvidence, ...]  # estimates of log p(data) of the free model
    findings: tuple[Finding, ...]  # whether the draws can be relied on

    def __repr__(self) -> str:
        return f"FreePosterior({self.draws.name}: {self.kept.mean():.1%} of the draws keep the constraints)"


@dataclass(frozen=True, kw_only=True)
class RowConstraints:
    """Constraints on the rows of a table, what the data say of them, and what they changed."""

    row_names: tuple[str, ...]  # of all N rows
    groups: tuple[tuple[int, ...], ...]  # the points of each group that belongs together, at least two each
    must_link: np.ndarray  # pairs that were given, (P, 2); none of those that labels imply
    cannot_link: np.ndarray  # likewise, pairs that are apart
    labels: np.ndarray | None  # what is known by labels, (N,) with None elsewhere; None without any
    # Points of groups that are apart, one of each, (P, 2); rows that are in no group are one.
    apart: np.ndarray
    bound: np.ndarray  # points that something is known of, (M,)
    row_weights: np.ndarray | None = None  # how many equal rows each row stands for, (N,)
    clusters: tuple[int, int] | None = None  # the fewest and the most clusters; None for any number
    log_prior: float = math.nan  # log P(constraints) under the prior of partitions, in nats; nan if unknown
    why_no_prior: str = "nobody asked for it"  # why it is, without a full stop
    free: FreePosterior | None = None  # the posterior without; None where that failed
    odds: ConstraintOdds | None = None  # what the data say of them; None where there is no model
    effect: ConstraintEffect | None = None  # the posterior without and with them; None where one is missing
    # Points that they moved, those that moved most first, (P,).
    moved: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __repr__(self) -> str:
        return f"RowConstraints({self.sentence})"

    def allows(self, assignments: np.ndarray) -> bool:
        """Return whether a partition keeps the constraints."""
        together = all(len(set(assignments[list(one)].tolist())) == 1 for one in self.groups)
        labels = assignments[self.apart]
        fewest, most = self.clusters or (1, len(assignments))
        enough = fewest <= len(np.unique(assignments)) <= most
        return together and enough and bool((labels[:, 0] != labels[:, 1]).all())

    @property
    def sentence(self) -> str:
        """How much is known."""
        limits = "" if self.clusters is None else range_in_words(self.clusters)
        if not len(self.bound):
            return limits
        grouped, number = sum(map(len, self.groups)), len(self.groups)
        belong = "groups that belong" if number != 1 else "group that belongs"
        pairs = f"{len(self.apart):,} pair{'s' * (len(self.apart) != 1)} of groups or rows"
        return (
            f"{len(self.bound):,} of {len(self.row_names):,} rows: {grouped:,} in {number:,} {belong} "
            f"together, {pairs} apart{'; ' * bool(limits)}{limits}"
        )

    @property
    def spelled(self) -> tuple[str, ...]:
        """The first groups and pairs, a sentence each."""

        def rows(points: Sequence[int]) -> str:
            return f"rows {listed((self.row_names[one] for one in points), _MOST_ROWS)}"

        found = [f"Together: {rows(one)}." for one in self.groups[:_MOST_SPELLED]]
        found += [f"Apart: {rows(pair)}." for pair in self.cannot_link[:_MOST_SPELLED].tolist()]
        if self.labels is not None:
            classes = list(dict.fromkeys(one for one in self.labels if one is not None))
            if len(classes) > 1:
                found.append(f"Apart: rows with different labels ({listed(classes, _MOST_SPELLED)}).")
        left = {"group": len(self.groups) - _MOST_SPELLED, "pair": len(self.cannot_link) - _MOST_SPELLED}
        more = [f"{count:,} more {name}{'s' * (count != 1)}" for name, count in left.items() if count > 0]
        return (*found, f"And {' and '.join(more)}.") if more else tuple(found)

    @property
    def checks(self) -> tuple[Finding, ...]:
        """Whether the data speak for the constraints, and whether that can be relied on."""
        asked = () if self.odds is None else (self.odds.finding,)
        return (*asked, *(() if self.free is None else self.free.findings))

    @property
    def change(self) -> str:
        """How many rows moved, and how far the uncertainty fell."""
        if self.effect is None:
            return "What the constraints changed is unknown."
        before, after = self.effect.before.disagreeing, self.effect.after.disagreeing
        times = np.ones(len(self.row_names), np.int64) if self.row_weights is None else self.row_weights
        moved = f"{times[self.moved].sum():,} of {times[self.effect.points].sum():,} rows moved"
        return f"{moved}; pairs in doubt: {before:,.1f} without the constraints, {after:,.1f} with them"

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it; numbers may be nan."""
        free = self.free
        return {
            "known": {
                "rows": len(self.bound),
                "groups": len(self.groups),
                "rows_in_groups": sum(map(len, self.groups)),
                "pairs_apart": len(self.apart),
                "must_link": len(self.must_link),
                "cannot_link": len(self.cannot_link),
                "labelled": 0 if self.labels is None else sum(one is not None for one in self.labels),
            },
            "odds": None if self.odds is None else self.odds.figures(),
            "moved_rows": [self.row_names[point] for point in self.moved.tolist()],
            "effect": None if self.effect is None else self.effect.figures(),
            "without": None
            if free is None
            else {
                "draws": free.draws.name,
                "seconds": free.draws.seconds,
                "share_that_keeps_them": float(free.kept.mean()),
                "log_evidence": [vars(one) for one in free.evidences],
            },
        }
