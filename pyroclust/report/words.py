"""How figures and names are written for people."""

import math
from collections.abc import Iterable

from pyroclust.core.messages import short
from pyroclust.diagnostics.chains.functionals import functional_name

_UNITS = {
    "log_joint": "nats",
    "log_joint_with_parameters": "nats",
    "entropy": "bits",
    "distance": "bits",
    "distance_to_reference": "bits",
}

YES_OR_NO = {True: "yes", False: "no", None: "–"}


def functional_title(name: str) -> str:
    """Write the name of a functional with its unit."""
    unit = _UNITS.get(name)
    return functional_name(name) + (f" ({unit})" if unit else "")


def number(value: float, digits: int = 3) -> str:
    """Write a figure with ``digits`` decimals, a dash where it is undefined."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{digits}f}".replace("-", "−")


def numbers(values: Iterable[float], digits: int = 3) -> tuple[str, ...]:
    """Write each of some figures."""
    return tuple(number(value, digits) for value in values)


def interval(low: float, high: float, digits: int = 3) -> str:
    """Write the ends of an interval."""
    return f"{number(low, digits)} to {number(high, digits)}"


def p_value(value: float) -> str:
    """Write a p-value, small ones as below a thousandth."""
    return "< 0.001" if value < 0.001 else number(value)


def seconds(value: float) -> str:
    """Write a duration in the unit that suits it."""
    if math.isnan(value):
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.2g} µs"


def axis_names(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Cut the names of columns so that they fit beside axes."""
    return tuple(short(column, 35) for column in columns)
