"""Names of guides: one each, because Pyro's parameter store is keyed by names."""

from itertools import count

__all__ = ["own_name"]

_serial = count()


def own_name(kind: type) -> str:
    """Return a name that no other guide of this process has.

    Two guides of one name would share, and not train, their parameters under ``pyro.infer.SVI``.

    Example:
        >>> own_name(dict) == own_name(dict)
        False
    """
    return f"{kind.__name__}_{next(_serial)}"
