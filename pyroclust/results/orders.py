"""What the draws of each visiting order of a guide say."""

from dataclasses import dataclass
from typing import Any

from pyroclust.diagnostics import Finding
from pyroclust.diagnostics.draws.num_clusters import count_clusters
from pyroclust.diagnostics.verdicts.findings import orders_finding
from pyroclust.diagnostics.weights.orders import OrderSpread, evidence_by_order, mean_by_order
from pyroclust.results.partition_draws import PartitionDraws

__all__ = ["ORDERS", "Orders", "orders_findings", "orders_of"]

ORDERS = "The spread over visiting orders"


@dataclass(frozen=True)
class Orders:
    """Figures of a guide's draws by each visiting order alone.

    Attributes:
        num_clusters: mean number of clusters of the draws as drawn.
        log_evidence: from their weights, in nats; ``None`` without weights.
    """

    num_clusters: OrderSpread
    log_evidence: OrderSpread | None

    def __repr__(self) -> str:
        """Return how far the orders are apart."""
        orders = len(self.num_clusters.by_order)
        return f"Orders({orders}, mean numbers of clusters {self.num_clusters.spread:.2f} apart)"

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it."""
        evidence = self.log_evidence
        return {
            "num_clusters": vars(self.num_clusters),
            "log_evidence": None if evidence is None else vars(evidence),
        }


def orders_of(draws: PartitionDraws, *, seed: int) -> Orders | None:
    """Return the figures by order; ``None`` where the draws have one order, or it has fewer than two draws.

    Args:
        draws: all draws of the guide that have weights.
        seed: of the permutations that chance is judged by.
    """
    clusters = count_clusters(draws.assignments).ravel()
    counts = mean_by_order(clusters, num_orders=draws.num_orders, seed=seed)
    if counts is None:
        return None
    if draws.log_joint is None or draws.log_prob is None:
        return Orders(counts, None)
    weights = (draws.log_joint - draws.log_prob).ravel()
    return Orders(counts, evidence_by_order(weights, num_orders=draws.num_orders, seed=seed))


def orders_findings(orders: Orders | None) -> tuple[Finding, ...]:
    """Return the question on visiting orders where the answer is bad: a good one is no news.

    Args:
        orders: the figures by each visiting order.
    """
    if orders is None or orders.log_evidence is None:
        return ()
    found = orders_finding(orders.log_evidence)
    return () if found.passed else (found,)
