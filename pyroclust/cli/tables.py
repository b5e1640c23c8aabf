"""Results as tables for the terminal."""

import math
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pyroclust.cards import GuideCard
    from pyroclust.comparing import ComparisonResult

__all__ = ["comparison_view", "guides_table"]

_MOST_CLUSTER_ROWS = 12


def comparison_view(result: "ComparisonResult") -> RenderableType:
    """Lay out a comparison as the report does: clusters, agreement, chains, weights, cost, verdict."""
    comparison = result.comparison
    num_points, dim = comparison.data.shape
    head = Text(f"{comparison.source}: {num_points} points, {', '.join(comparison.columns)} ({dim}-D)\n")
    head.append(f"{comparison.guide_name} beside {comparison.mcmc.name} on {comparison.model_name}")
    parts: list[RenderableType] = [
        head,
        _clusters(result),
        _agreement(result),
        _chains(result),
        _cost(result),
    ]
    parts += [Text(f"Note: {note}") for note in comparison.notes]
    parts.append(Text(result.summary.verdict.sentence, style="bold"))
    return Group(*parts)


def _clusters(result: "ComparisonResult") -> Table:
    found = result.summary.num_clusters
    table = Table(title="Posterior of the number of clusters", title_justify="left")
    for column in ("clusters", "guide", "weighted", "MCMC"):
        table.add_column(column, justify="right")
    largest = found.mcmc + found.guide
    shown = sorted(sorted(range(len(found.values)), key=lambda i: -largest[i])[:_MOST_CLUSTER_ROWS])
    for i in shown:
        if largest[i] >= 0.001:
            table.add_row(
                str(found.values[i]), *(f"{p[i]:.3f}" for p in (found.guide, found.corrected, found.mcmc))
            )
    return table


def _agreement(result: "ComparisonResult") -> Table:
    summary = result.summary
    table = Table(title="Distance from MCMC", title_justify="left")
    table.add_column("")
    for column in ("guide", "weighted", "MCMC's halves"):
        table.add_column(column, justify="right")
    rows = {
        "total variation of the number of clusters": "total_variation",
        "largest co-assignment difference": "largest_difference",
        "mean co-assignment difference": "mean_difference",
    }
    for title, field in rows.items():
        plain, weighted = getattr(summary.agreement, field), getattr(summary.agreement_corrected, field)
        table.add_row(title, *map(_short, (plain, weighted, getattr(summary.agreement, f"noise_{field}"))))
    return table


def _chains(result: "ComparisonResult") -> Table:
    table = Table(title="Convergence of MCMC", title_justify="left")
    table.add_column("functional")
    for column in ("mean", "sd", "R-hat", "bulk ESS", "tail ESS"):
        table.add_column(column, justify="right")
    for row in result.summary.convergence:
        figures = ("constant", "", "") if row.constant else _convergence_figures(row)
        table.add_row(row.name, _short(row.mean), _short(row.sd), *figures)
    return table


def _convergence_figures(row: Any) -> tuple[str, str, str]:
    return f"{row.rhat:.3f}", f"{row.ess_bulk:.0f}", f"{row.ess_tail:.0f}"


def _cost(result: "ComparisonResult") -> Table:
    summary, comparison = result.summary, result.comparison
    weighting = summary.weighting
    table = Table(title="Cost and weights", title_justify="left")
    for column, justify in (("", "left"), ("guide", "right"), ("MCMC", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    table.add_row("draws", str(len(weighting.weights)), str(comparison.mcmc.log_joint.size))
    table.add_row("seconds", _short(comparison.guide.seconds), _short(comparison.mcmc.seconds))
    table.add_row("seconds per effective draw", _short(summary.guide_seconds), _short(summary.mcmc_seconds))
    table.add_row("importance-sampling efficiency", f"{weighting.efficiency:.3f}", "")
    table.add_row("Pareto k", _short(weighting.pareto_k), "")
    evidence = f"{weighting.log_evidence:.2f} ± {weighting.log_evidence_error:.2f}"
    table.add_row("log evidence, nats", evidence, "")
    rand = (summary.estimate_guide.truth_rand, summary.estimate_mcmc.truth_rand)
    if rand[0] is not None and rand[1] is not None:
        table.add_row("adjusted Rand index to the labels", _short(rand[0]), _short(rand[1]))
    return table


def guides_table(cards: "tuple[GuideCard, ...]") -> Table:
    """List guides with the headline figures of their certificates; ``pyroclust check`` shows all."""
    table = Table()
    for column in ("guide", "model", "points", "KL at N", "efficiency at N", "calibrated"):
        table.add_column(column, no_wrap=True, justify="right" if column == "points" else "left")
    table.add_column("about", min_width=30)
    for card in cards:
        points = "any" if card.max_points is None else f"to {card.max_points}"
        model = f"{card.model} ({card.dim}-D)"
        sampled, exact = (card.certificate.get(part) or () for part in ("sampled", "exact"))
        efficiency = "\n".join(f"{row['median_efficiency']:.2f} at {row['num_points']}" for row in sampled)
        divergence = "\n".join(f"{row['mean_kl']:.3f} at {row['num_points']}" for row in exact)
        table.add_row(card.name, model, points, divergence, efficiency, _calibrated(card), card.about)
    return table


def _calibrated(card: "GuideCard") -> str:
    """Say for how many functionals the ranks of the truth were uniform."""
    tests = [
        one["passed"]
        for one in (card.certificate.get("verdict") or {}).get("findings", ())
        if one["what"].startswith(("calibration", "averaged posterior"))
    ]
    return f"{sum(tests)} of {len(tests)}" if tests else "-"


def _short(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"
