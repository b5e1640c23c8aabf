"""A guide's draws as importance samples: their weights, their visiting orders, and the evidence."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pyroclust import diagnostics
from pyroclust.diagnostics import Finding, LogEvidence, evidence_headline
from pyroclust.diagnostics.verdicts.findings import orders_finding, weights_findings
from pyroclust.diagnostics.weights.importance import stratified_draws
from pyroclust.diagnostics.weights.orders import OrderSpread, evidence_by_order, mean_by_order
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
        """Return what ``summary.json`` says of it."""
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
