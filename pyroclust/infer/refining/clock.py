"""Wall time by part."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Clock"]


class Clock:
    """Adds up the wall time of parts, in seconds by name.

    Example:
        >>> clock = Clock()
        >>> with clock.timed("draw"):
        ...     pass
        >>> list(clock.seconds)
        ['draw']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the time that the block takes to a part.

        Args:
            part: its name.
        """
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - began
