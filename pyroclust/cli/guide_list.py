"""The shelf as a list for the terminal, as wide as the terminal is."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from pyroclust.text import visible

if TYPE_CHECKING:
    from pyroclust.saving.cards import GuideCard

__all__ = ["guide_list"]

_INDENT = (0, 0, 0, 4)
_FIGURES = (("KL", "exact", "mean_kl", 3), ("efficiency", "sampled", "median_efficiency", 2))


def guide_list(cards: "Iterable[GuideCard]") -> Group:
    """List guides with the headline figures of their certificates, references last."""
    shown: list[RenderableType] = []
    for card in sorted(cards, key=lambda one: one.is_reference):
        least = f"{card.min_points} to " if card.min_points > 1 else "up to "
        points = "any number of points" if card.max_points is None else f"{least}{card.max_points} points"
        kind = "reference, " if card.is_reference else ""
        dim = "" if card.dim is None else f" ({card.dim}-D)"
        shown += [
            Text(visible(f"{card.name}: {kind}{card.model}{dim}, {points}"), style="bold"),
            *(
                Padding(Text(visible(line)), _INDENT, expand=False)
                for line in (card.about, _figures(card), card.verdict)
                if line
            ),
        ]
    return Group(*shown)


def _figures(card: "GuideCard") -> str:
    """Return mean divergences and median efficiencies, by the number of points."""
    said = []
    for word, part, key, digits in _FIGURES:
        figures = ((row.get(key), row.get("num_points")) for row in card.certificate.get(part) or ())
        written = [f"{'unknown' if one is None else f'{one:.{digits}f}'} at {size}" for one, size in figures]
        said += [f"{word} {', '.join(written)}"] if written else []
    return "; ".join(said)
