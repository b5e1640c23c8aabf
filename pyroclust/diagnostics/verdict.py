"""What a verdict is made of: its level, its sentence and its findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from pyroclust.core.numbers import json_values


class Mark(Enum):
    """How an answer is marked, by a shape and a word besides the colour."""

    GOOD = "good"
    CAUTION = "with care"
    BAD = "bad"
    UNKNOWN = "cannot tell"
    PLAIN = "for information"


class Trust(Enum):
    """Levels of a verdict: of one source from best to worst, then of two sources that nobody has to trust."""

    TRUST = "trust"
    AVERAGE = "trust on average"
    CORRECT = "trust after correction"
    MCMC = "use MCMC"
    UNCONFIRMED = "not confirmed"
    UNKNOWN = "cannot tell"
    DISTRUST = "do not trust"
    AGREE = "agree"
    DIFFER = "differ"

    @property
    def mark(self) -> Mark:
        """Whether this is good or bad news."""
        return _MARKS[self]

    @property
    def is_refused(self) -> bool:
        """Whether commands with ``--strict`` end with an error: bad news, or no verdict."""
        return self.mark in {Mark.BAD, Mark.UNKNOWN}


class SetVerdict(StrEnum):
    """What the draws of one data set among many are worth."""

    SURE = "sure"
    WEIGHTED = "weights needed"
    CHAINS = "run chains"
    NOT_CONVERGED = "not converged"
    ALONE = "guide alone"
    FAILED = "failed"


class Answer(Enum):
    """Whose posterior a comparison writes as its answer; the values are the names in files."""

    REFINED = "refined"
    WEIGHTED = "weighted"
    GUIDE = "guide"
    MCMC = "mcmc"

    @property
    def draws(self) -> str:
        """What draws these are, inside a sentence."""
        return _DRAWS[self]


_DRAWS = {
    Answer.REFINED: "the refined draws",
    Answer.WEIGHTED: "the guide's draws with their importance weights",
    Answer.GUIDE: "the guide's draws as drawn",
    Answer.MCMC: "the draws of MCMC",
}
_MARKS = {
    Trust.TRUST: Mark.GOOD,
    Trust.AVERAGE: Mark.GOOD,
    Trust.AGREE: Mark.GOOD,
    Trust.CORRECT: Mark.CAUTION,
    Trust.MCMC: Mark.CAUTION,
    Trust.UNCONFIRMED: Mark.CAUTION,
    Trust.UNKNOWN: Mark.UNKNOWN,
    Trust.DISTRUST: Mark.BAD,
    Trust.DIFFER: Mark.BAD,
}
_ANSWERS = {True: ("Yes", Mark.GOOD), False: ("No", Mark.BAD), None: ("Cannot tell", Mark.UNKNOWN)}


@dataclass(frozen=True)
class Finding:
    """One question that was asked of the figures, and its answer.

    Attributes:
        question: what was asked; "yes" is the good answer.
        value: what was measured; ``None`` where nothing could be.
        limit: where the answer changes; ``None`` where no single number says so.
        passed: whether the value keeps its limit; ``None`` where it cannot be told.
        sentence: what was measured, in words and with its unit.
        wanted: the limit in words, such as "at most 0.15".
        answer: a word or two; by default what ``passed`` says.
        mark: good or bad; by default what ``passed`` says.

    Example:
        >>> Finding("Did MCMC converge?", 1.002, 1.05, True, "largest R-hat 1.002").answer
        'Yes'
    """

    question: str
    value: float | None
    limit: float | None
    passed: bool | None
    sentence: str
    wanted: str = ""
    answer: str = ""
    # Never None: filled in below.
    mark: Mark = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        # Comparisons of numpy numbers give numpy's booleans, which are neither True nor JSON.
        object.__setattr__(self, "passed", None if self.passed is None else bool(self.passed))
        answer, mark = _ANSWERS[self.passed]
        object.__setattr__(self, "answer", self.answer or answer)
        object.__setattr__(self, "mark", self.mark or mark)

    def __repr__(self) -> str:
        return f"Finding({self.question} {self.answer}: {self.sentence})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: a value that is not finite becomes ``None``."""
        return json_values(vars(self)) | {"mark": self.mark.value}


@dataclass(frozen=True)
class Verdict:
    """A level, the sentence that says why, and the findings that it rests on.

    Attributes:
        level: whether to use the draws, or whether two sources agree.
        sentence: the reason, for people.
        findings: what was asked, in order.
        answer: whose posterior is the answer; ``None`` where there is none, or nothing to choose from.
    """

    level: Trust
    sentence: str
    findings: tuple[Finding, ...] = ()
    answer: Answer | None = None

    def __repr__(self) -> str:
        return f"Verdict({self.level.value}: {self.sentence})"

    def to_dict(self) -> dict[str, Any]:
        """Return level, sentence and findings, ready for JSON."""
        return {
            "level": self.level.value,
            "sentence": self.sentence,
            "findings": [one.to_dict() for one in self.findings],
        }


def all_passed(findings: Sequence[Finding]) -> bool:
    """Return whether every answer is yes."""
    return all(one.passed is True for one in findings)
