"""What steps find: weights, visiting orders and evidence of a guide, classical methods, constraints."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from pyroclust import diagnostics
from pyroclust.baselines import BaselineResult
from pyroclust.baselines.scores import PartitionScores
from pyroclust.core.messages import listed, range_in_words
from pyroclust.diagnostics import Finding, LogEvidence, evidence_headline
from pyroclust.diagnostics.constraint_effect import ConstraintEffect, ConstraintOdds
from pyroclust.diagnostics.findings import orders_finding, weights_findings
from pyroclust.diagnostics.importance import OrderSpread, evidence_by_order, mean_by_order, stratified_draws
from pyroclust.partitions import Draws


@dataclass(frozen=True)
class Weighting:
    """A guide's draws as importance samples of the posterior."""

    log_weights: np.ndarray  # log p(c, x) - log q(c) in nats, (S,)
    weights: np.ndarray  # Pareto-smoothed and normalised, (S,)
    pareto_k: float  # shape of the weights' tail; nan where it cannot be fitted, -inf where they are bounded
    efficiency: float  # effective share of the draws by the weights before smoothing, in (0, 1]
    effective_draws: float  # of the smoothed weights, which are those that are used

    @classmethod
    def of(cls, draws: Draws) -> "Weighting":
        """Weigh draws with log q and log p."""
        log = np.asarray(draws.log_ratios, dtype=np.float64).ravel()
        weights = diagnostics.importance_weights(log)
        efficiency = diagnostics.importance_efficiency(log)
        worth = diagnostics.effective_draws(weights)
        return cls(log, weights, diagnostics.pareto_k(log), efficiency, worth)

    def __repr__(self) -> str:
        return f"Weighting({len(self.weights):,} draws worth {self.effective_draws:.0f})"

    @property
    def checks(self) -> tuple[Finding, ...]:
        """Whether the tail is short, and the draws are worth enough."""
        return weights_findings(self.pareto_k, self.effective_draws)

    def resampled(self, draws: Draws, shown: Draws, *, seed: int) -> Draws:
        """Return as many of the draws that have these weights as are shown, of equal weights."""
        # One number for all: draws that are to be shown lie closest to their weights so.
        uniform = np.full(shown.num_draws, np.random.default_rng(seed).random())
        rows = stratified_draws(self.weights, uniform)
        return replace(shown, assignments=draws.flat[rows][None], log_joint=None, log_prob=None)

    def figures(self) -> dict[str, Any]:
        return {
            "draws": len(self.weights),
            "efficiency": self.efficiency,
            "effective_draws": self.effective_draws,
            "pareto_k": self.pareto_k,
        }


@dataclass(frozen=True)
class Orders:
    """Figures of a guide's draws by each visiting order alone."""

    num_clusters: OrderSpread  # mean number of clusters of the draws as drawn
    log_evidence: OrderSpread | None  # from their weights, in nats; None without weights

    @classmethod
    def of(cls, draws: Draws, *, num_orders: int, seed: int) -> "Orders | None":
        """Return the figures by order; ``None`` where there is one, or it has fewer than two draws."""
        clusters = draws.num_clusters.ravel()
        counts = mean_by_order(clusters, num_orders=num_orders, seed=seed)
        if counts is None:
            return None
        if draws.log_ratios is None:
            return cls(counts, None)
        weights = draws.log_ratios.ravel()
        return cls(counts, evidence_by_order(weights, num_orders=num_orders, seed=seed))

    def __repr__(self) -> str:
        orders = len(self.num_clusters.by_order)
        return f"Orders({orders}, mean numbers of clusters {self.num_clusters.spread:.2f} apart)"

    @property
    def checks(self) -> tuple[Finding, ...]:
        """Whether orders differ by no more than chance; a good answer is no news."""
        if self.log_evidence is None:
            return ()
        found = orders_finding(self.log_evidence)
        return () if found.passed else (found,)


@dataclass(frozen=True)
class Evidence:
    """Estimates of log p(data) from the same data and model."""

    estimates: Sequence[LogEvidence]

    def __repr__(self) -> str:
        return f"Evidence({evidence_headline(self.estimates)!r})"

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it: the figure to state, and every estimate."""
        return {
            "headline": evidence_headline(self.estimates).figures(),
            "estimates": [asdict(one) | {"reliable": one.is_reliable} for one in self.estimates],
        }


@dataclass(frozen=True)
class BaselineRow:
    """One classical clustering, seen from the posterior, or why there is none."""

    name: str
    result: BaselineResult | None = None
    failed: str = ""  # why there is no result, in a sentence without its end
    # Posterior expected variation of information, in bits; the point estimate's is the least that the
    # search found.
    expected_vi: float = math.nan
    # Whether it lies in the 95 % credible ball around the point estimate; None without a ball.
    inside: bool | None = None
    # Scores with the point estimate as the truth; None without an estimate.
    to_estimate: PartitionScores | None = None
    to_labels: PartitionScores | None = None  # scores against the known labels, or None

    def __repr__(self) -> str:
        how = "failed" if self.result is None else f"{self.result.num_clusters} clusters"
        return f"BaselineRow({self.name}: {how})"

    def figures(self) -> dict[str, Any]:
        result, estimate, labels = self.result, self.to_estimate, self.to_labels
        if result is None:
            return {"name": self.name, "failed": self.failed}
        return {
            "name": self.name,
            "about": result.about,
            "num_clusters": result.num_clusters,
            "seconds": result.seconds,
            "expected_vi": self.expected_vi,
            "inside_credible_ball": self.inside,
            "adjusted_rand_to_estimate": None if estimate is None else estimate.adjusted_rand,
            "adjusted_rand_to_labels": None if labels is None else labels.adjusted_rand,
        }


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
