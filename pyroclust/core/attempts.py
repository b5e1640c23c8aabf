"""Parts of a result that may fail: what fails is a sentence in the result, not the end of the run."""

from collections.abc import Callable
from typing import TypeVar

from pyroclust.core.errors import ends_the_run, first_line

__all__ = ["Attempts", "left_out"]

Made = TypeVar("Made")


def left_out(what: str, reason: str) -> str:
    """Say in a sentence that a part is missing, and why.

    Args:
        what: the part, the beginning of the sentence.
        reason: without a full stop.

    Example:
        >>> left_out("The third", "division by zero")
        'The third could not be made and is left out: division by zero.'
    """
    return f"{what} could not be made and is left out: {reason}."


class Attempts:
    """Makes parts, and remembers in a sentence each why some could not be made.

    A part is what the answer can do without. Interrupts, time limits and want of memory end the run all the
    same.

    Attributes:
        failures: the sentences, for the notes of the result.

    Example:
        >>> tries = Attempts()
        >>> tries.make("The third", lambda: 1 / 3) > 0, tries.make("The inverse", lambda: 1 / 0)
        (True, None)
        >>> tries.failures
        ('The inverse could not be made and is left out: division by zero.',)
        >>> tries.reason("The inverse"), tries.reason("The third")
        ('division by zero', None)
    """

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    @property
    def failures(self) -> tuple[str, ...]:
        """Why some parts are missing, a sentence each."""
        return tuple(left_out(what, reason) for what, reason in self._reasons.items())

    @property
    def reasons(self) -> dict[str, str]:
        """Why some parts are missing, by the name that they were tried under."""
        return dict(self._reasons)

    def make(self, what: str, part: Callable[[], Made]) -> Made | None:
        """Return a part, or ``None`` where it cannot be made.

        Args:
            what: the part, the beginning of the sentence; each name once.
            part: makes it.
        """
        try:
            return part()
        except Exception as error:
            if ends_the_run(error):
                raise
            self._reasons[what] = first_line(error)
            return None

    def reason(self, what: str) -> str | None:
        """Return why a part could not be made; ``None`` where it could, or was not tried.

        Args:
            what: the name that it was tried under.
        """
        return self._reasons.get(what)
