"""What a user knows of the partition, what the data say of it, and what it changed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.attempts import Attempts
from pyroclust.diagnostics import Finding, LogEvidence
from pyroclust.diagnostics.differences.agreement import Marginals
from pyroclust.diagnostics.differences.conditioning import Conditioning, conditioning
from pyroclust.diagnostics.verdicts.constraints import ConstraintOdds, constraint_odds, moved_points
from pyroclust.partitions import Draws
from pyroclust.text import listed

__all__ = [
    "ConstraintSummary",
    "FreePosterior",
    "Knowledge",
    "KnownRows",
    "summarise_constraints",
]

_EFFECT = "What the constraints changed"
# Groups and pairs that are spelled, and rows of a group.
_MOST_SPELLED, _MOST_ROWS = 5, 8


@dataclass(frozen=True)
class KnownRows:
    """Constraints in the words of the table."""

    row_names: tuple[str, ...]  # of all N rows
    groups: tuple[tuple[int, ...], ...]  # the points of each group that belongs together, at least two each
    must_link: np.ndarray  # pairs that were given, (P, 2); none of those that labels imply
    cannot_link: np.ndarray  # likewise, pairs that are apart
    labels: np.ndarray | None  # what is known by labels, (N,) with None elsewhere; None without any
    # Points of groups that are apart, one of each, (P, 2); rows that are in no group are one.
    apart: np.ndarray
    bound: np.ndarray  # points that something is known of, (M,)

    def __repr__(self) -> str:
        return f"KnownRows({self.sentence})"

    def allows(self, assignments: np.ndarray) -> bool:
        """Return whether a partition keeps the constraints."""
        together = all(len(set(assignments[list(one)].tolist())) == 1 for one in self.groups)
        labels = assignments[self.apart]
        return together and bool((labels[:, 0] != labels[:, 1]).all())

    @property
    def sentence(self) -> str:
        """How much is known."""
        grouped, number = sum(map(len, self.groups)), len(self.groups)
        belong = "groups that belong" if number != 1 else "group that belongs"
        pairs = f"{len(self.apart):,} pair{'s' * (len(self.apart) != 1)} of groups or rows"
        return (
            f"{len(self.bound):,} of {len(self.row_names):,} rows: {grouped:,} in {number:,} {belong} "
            f"together, {pairs} apart"
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
        left = len(self.groups[_MOST_SPELLED:]), len(self.cannot_link[_MOST_SPELLED:])
        more = [
            f"{count:,} more {name}{'s' * (count != 1)}"
            for count, name in zip(left, ("group", "pair"), strict=True)
            if count
        ]
        return (*found, f"And {' and '.join(more)}.") if more else tuple(found)

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it."""
        return {
            "rows": len(self.bound),
            "groups": len(self.groups),
            "rows_in_groups": sum(map(len, self.groups)),
            "pairs_apart": len(self.apart),
            "must_link": len(self.must_link),
            "cannot_link": len(self.cannot_link),
            "labelled": 0 if self.labels is None else sum(one is not None for one in self.labels),
        }


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


@dataclass(frozen=True)
class Knowledge:
    """Constraints on the rows of a comparison."""

    rows: KnownRows
    log_prior: float  # log P(constraints) under the prior of the partitions, in nats; nan where unknown
    why_no_prior: str  # why it is, without a full stop
    free: FreePosterior | None  # the posterior without; None where that failed

    def __repr__(self) -> str:
        return f"Knowledge({self.rows.sentence})"


@dataclass(frozen=True)
class ConstraintSummary:
    """Everything that a report, a terminal table or a JSON file says of constraints."""

    knowledge: Knowledge  # the constraints, and the posterior without them
    odds: ConstraintOdds | None  # what the data say of them; None where there is no model
    effect: Conditioning | None  # the posterior without and with them; None where one is missing
    moved: np.ndarray  # points that they moved, those that moved most first, (P,)
    failures: tuple[str, ...] = ()  # why parts are missing, a sentence each

    def __repr__(self) -> str:
        return f"ConstraintSummary({self.knowledge.rows.sentence}; {len(self.moved)} moved)"

    @property
    def checks(self) -> tuple[Finding, ...]:
        """Whether the data speak for the constraints, and whether that can be relied on."""
        free = self.knowledge.free
        asked = () if self.odds is None else (self.odds.finding,)
        return (*asked, *(() if free is None else free.findings))

    @property
    def sentence(self) -> str:
        """How many rows moved, and how far the uncertainty fell."""
        if self.effect is None:
            return "What the constraints changed is unknown."
        before, after = self.effect.before.disagreeing, self.effect.after.disagreeing
        among = len(self.effect.points)
        moved = f"{len(self.moved):,} of {among:,} rows moved"
        return f"{moved}; pairs in doubt: {before:,.1f} without the constraints, {after:,.1f} with them"

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it; numbers may be nan."""
        free = self.knowledge.free
        names = self.knowledge.rows.row_names
        return {
            "known": self.knowledge.rows.figures(),
            "odds": None if self.odds is None else self.odds.figures(),
            "moved_rows": [names[point] for point in self.moved.tolist()],
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


def summarise_constraints(
    knowledge: Knowledge, after: Marginals, evidences: Sequence[LogEvidence] | None
) -> ConstraintSummary:
    """Compute what constraints changed."""
    free, tries = knowledge.free, Attempts()
    prior: dict[str, Any] = {"log_prior": knowledge.log_prior, "why_no_prior": knowledge.why_no_prior}
    nothing, odds = np.empty(0, dtype=np.int64), None
    if free is None:
        why = "there is no posterior without them to compare with"
        odds = ConstraintOdds(**prior, log_posterior=math.nan, error=math.nan, why_no_posterior=why)
        return ConstraintSummary(knowledge, odds, None, nothing)
    if evidences is not None:
        odds = constraint_odds(
            evidences, free.evidences, **prior, kept=free.kept, effective_draws=free.effective_draws
        )
    effect = tries.make(_EFFECT, lambda: conditioning(free.draws.assignments, after))
    moved = nothing if effect is None else moved_points(effect)
    return ConstraintSummary(knowledge, odds, effect, moved, tries.failures)
