"""Parts of a result that may fail: what fails is a sentence in the page, not the end of the run."""

from collections.abc import Callable
from typing import TypeVar

from pyroclust.errors import first_line

__all__ = ["Attempts"]

Made = TypeVar("Made")


class Attempts:
    """Makes parts, and remembers in a sentence each why some could not be made.

    A part is what the answer can do without. Interrupts and want of memory end the run all the same.

    Attributes:
        failures: the sentences, for the notes of the result.

    Example:
        >>> tries = Attempts()
        >>> tries.make("The third", lambda: 1 / 3) > 0, tries.make("The inverse", lambda: 1 / 0)
        (True, None)
        >>> tries.failures
        ('The inverse could not be made and is left out: division by zero.',)
    """

    def __init__(self) -> None:
        self._failures: list[str] = []

    @property
    def failures(self) -> tuple[str, ...]:
        """Why some parts are missing, a sentence each."""
        return tuple(self._failures)

    def make(self, what: str, part: Callable[[], Made]) -> Made | None:
        """Return a part, or ``None`` where it cannot be made.

        Args:
            what: the part, the beginning of the sentence.
            part: makes it.
        """
        try:
            return part()
        except MemoryError:
            raise
        except Exception as error:
            self._failures.append(f"{what} could not be made and is left out: {first_line(error)}.")
            return None
