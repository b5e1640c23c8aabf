"""The answer in a person's words: how many clusters, which, how sure, may I rely on it, what next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.core.messages import listed, visible
from pyroclust.diagnostics import Mark, Trust, Verdict
from pyroclust.diagnostics.findings import share_of_sure_pairs, share_together
from pyroclust.results.summaries import DrawsSummary

_MOST_SIZES = 12
# Of intervals for people.
_LEVEL = 0.9
# By the first word on whether to rely on it.
_MARKS = {
    "Yes": Mark.GOOD,
    "On average": Mark.CAUTION,
    "On the whole": Mark.CAUTION,
    "Roughly": Mark.CAUTION,
    "With care": Mark.CAUTION,
    "No": Mark.BAD,
}


@dataclass(frozen=True)
class NumberOfClusters:
    """A number of clusters in words."""

    num_clusters: int  # the most probable one
    probability: float  # of that number
    interval: tuple[int, int]  # central 90 % interval of the number

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.how_many})"

    @property
    def which(self) -> str:
        """Which clusters these are, to be read after "clusters"."""
        return ""

    @property
    def how_many(self) -> str:
        """The most probable number with its probability and interval."""
        low, high = self.interval
        between = f"{low}" if low == high else f"{low} to {high}"
        clusters = f"{self.num_clusters} cluster{'s' * (self.num_clusters != 1)}{self.which}"
        return f"{clusters} (probability {self.probability:.2f}; 90 % interval {between})"


@dataclass(frozen=True, repr=False)
class LargeClusters(NumberOfClusters):
    """How many clusters hold at least so many rows: single rows in clusters of their own are not counted."""

    least_rows: int

    @property
    def which(self) -> str:
        """Of how many rows they are."""
        return f" of at least {self.least_rows:,} rows"


@dataclass(frozen=True, repr=False)
class AnswerInWords(NumberOfClusters):
    """What the first screen says."""

    large_clusters: LargeClusters
    sizes: tuple[int, ...]  # rows of each cluster of the point estimate, in its order
    certain_rows: float  # share of the rows that are with their companions in at least 90 % of the draws
    # Share of the pairs of rows that are together, or apart, in at least 90 % of the draws.
    certain_pairs: float
    rely: str  # whether to rely on it, in one line
    next: str
    given: str = ""  # between which numbers of clusters, in words; nothing where any is possible

    @classmethod
    def of(cls, summary: DrawsSummary, *, rely: str, following: str, given: str) -> "AnswerInWords":
        """Take it from the draws that are the answer."""
        estimate, times = summary.estimate, summary.row_weights
        of_pairs = None if times is None else times[summary.paired_points]
        return cls(
            **likeliest_of(summary.marginals.counts),
            large_clusters=LargeClusters(least_rows=summary.least_rows, **likeliest_of(summary.large_counts)),
            sizes=() if estimate is None else tuple(summary.sizes.tolist()),
            certain_rows=float("nan")
            if estimate is None
            else share_together(1 - estimate.uncertainty, row_weights=times),
            certain_pairs=share_of_sure_pairs(summary.co_assignment, row_weights=of_pairs),
            rely=rely,
            next=visible(following),
            given=given,
        )

    @property
    def which(self) -> str:
        """Between which numbers they are, where not any is possible."""
        return f", given {self.given}" * bool(self.given)

    @property
    def mark(self) -> Mark:
        """Whether relying on it is good or bad news."""
        return _MARKS.get(self.rely.split(":")[0], Mark.UNKNOWN)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Question and answer."""
        found, shown = {"How many clusters": self.how_many}, len(self.sizes)
        if self.large_clusters.num_clusters != self.num_clusters:
            found["Large ones"] = self.large_clusters.how_many
        if shown and shown != self.num_clusters:
            why = "it keeps apart what they join in different ways"
            if shown < self.num_clusters:
                why = "they do not agree on which rows make up the others"
            found["Shown"] = f"{shown}, as the partition that is nearest to all draws has: {why}"
        found["Which"] = "unknown: the partition that stands for all draws could not be found"
        if shown:
            sizes = (f"{k + 1}: {size:,}" for k, size in enumerate(self.sizes))
            found["Which"] = f"rows by cluster: {listed(sizes, _MOST_SIZES)}"
        sure = f"{100 * self.certain_pairs:.0f} % of the pairs of rows are surely together or apart"
        if not np.isnan(self.certain_rows):
            sure = f"{100 * self.certain_rows:.0f} % of the rows are certain; {sure}"
        found |= {"How sure": sure, "May I rely on it": self.rely}
        return tuple((found | ({"Next": self.next} if self.next else {})).items())


def likeliest_of(counts: np.ndarray) -> dict[str, Any]:
    """Return the most probable number, its probability and interval, of probabilities of 0, 1, ..."""
    tail = (1 - _LEVEL) / 2
    low, high = (int(np.searchsorted(counts.cumsum(), at)) for at in (tail + 1e-9, 1 - tail - 1e-9))
    likeliest = int(counts.argmax())
    return {"num_clusters": likeliest, "probability": float(counts.max()), "interval": (low, high)}


_ABOUT_GUIDE = {
    Trust.TRUST: "the guide agrees",
    Trust.CORRECT: "the guide agrees after weighting",
    Trust.MCMC: "the guide does not agree here, and is not used",
    Trust.UNKNOWN: "how far the guide agrees cannot be told",
}


def with_doubts(said: str, doubts: Sequence[str]) -> str:
    """Add what is doubtful to whether to rely on an answer."""
    if not doubts:
        return said
    more = f" {len(doubts) - 1} more doubt(s) stand in the notes." if len(doubts) > 1 else ""
    careful = f"With care: {said.split(': ', 1)[1]}" if said.startswith("Yes: ") else said
    return f"{careful} But {doubts[0][0].lower()}{doubts[0][1:]}{more}"


def reliance(verdict: Verdict, chains: Verdict | None, *, has_guide: bool) -> str:
    """Say in one line whether an answer can be relied on."""
    if chains is None:
        if verdict.level is Trust.UNCONFIRMED:
            return "With care: the refined draws have settled, but nothing confirms them."
        said = verdict.sentence.removeprefix("No verdict: ")
        return f"{_SHORT.get(verdict.level, 'No')}: {_first_sentence(said)}"
    if chains.level is Trust.AVERAGE:
        return f"On the whole: {_first_sentence(chains.sentence)}"
    if chains.level is not Trust.TRUST:
        if verdict.level is Trust.UNCONFIRMED:
            return "With care: MCMC has not converged; the guide's refined draws have settled, unconfirmed."
        return "Not yet: MCMC has not converged, so that this is what was found so far."
    rough = Mark.CAUTION in {one.mark for one in chains.findings}
    said = "MCMC has roughly converged" if rough else "MCMC converged"
    return (
        f"{'Roughly' if rough else 'Yes'}: {said}{f'; {_ABOUT_GUIDE[verdict.level]}' if has_guide else ''}."
    )


_SHORT = {Trust.TRUST: "Yes", Trust.AVERAGE: "On average", Trust.AGREE: "Yes", Trust.UNCONFIRMED: "With care"}


def _first_sentence(text: str) -> str:
    """Return the beginning of a verdict without the figures in brackets."""
    first = text.split(". ")[0].split(" (")[0].split("; ")[0]
    return f"{first.rstrip('.')}."
