"""Names of losses, counts and users' things for people."""

import matplotlib as mpl

from pyroclust.core.text import visible
from pyroclust.diagnostics import (
    AdjustedRand,
    Binder,
    NormalisedVariationOfInformation,
    PartitionLoss,
    VariationOfInformation,
)

__all__ = ["counted", "loss_name", "loss_unit", "plain_text", "with_unit"]

_LOSSES = {
    VariationOfInformation: "variation of information",
    Binder: "Binder loss",
    NormalisedVariationOfInformation: "normalised variation of information",
    AdjustedRand: "one minus the adjusted Rand index",
}


def counted(number: int, noun: str) -> str:
    """Write a number of things, with an s unless it is one.

    Example:
        >>> counted(1, "cluster"), counted(3, "cluster")
        ('1 cluster', '3 clusters')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def plain_text(name: str) -> str:
    r"""Write a user's name so that matplotlib shows it as it is: no formula, no control, in legends too.

    Example:
        >>> print(plain_text(r"a$\frac"), plain_text("tab\t"))
        a\$\frac tab\t
    """
    text = visible(str(name))
    if mpl.rcParams["text.parse_math"]:
        text = text.replace("$", r"\$")
    # Legends leave out names that are empty or begin with an underscore.
    return f" {text}" if not text or text.startswith("_") else text


def loss_name(loss: PartitionLoss) -> str:
    """Write the name of a loss for people; the class's name where it is not one of ours.

    Example:
        >>> loss_name(VariationOfInformation()), loss_name(Binder(weight=0.5))
        ('variation of information', 'Binder loss, weight 0.5')
    """
    name = _LOSSES.get(type(loss), type(loss).__name__)
    weight = getattr(loss, "weight", 1.0)
    return name if weight == 1.0 else f"{name}, weight {weight:g}"


def loss_unit(loss: PartitionLoss) -> str:
    """Return the unit of a loss with a space before it, or nothing.

    Example:
        >>> loss_unit(VariationOfInformation()), loss_unit(Binder())
        (' bits', '')
    """
    return " bits" if isinstance(loss, VariationOfInformation) else ""


def with_unit(words: str, loss: PartitionLoss) -> str:
    """Add the unit of a loss in brackets, where it has one.

    Example:
        >>> with_unit("distance", VariationOfInformation()), with_unit("distance", Binder())
        ('distance (bits)', 'distance')
    """
    unit = loss_unit(loss)
    return f"{words} ({unit.strip()})" if unit else words
