"""The shelf as a table for the terminal."""

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from pyroclust.saving.cards import GuideCard

__all__ = ["guides_table"]


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
