"""What an analysis holds: data, model, draws, what its steps found, checks, verdict, and what repeats it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from importlib.metadata import version
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.core.messages import range_in_words
from pyroclust.core.numbers import json_values
from pyroclust.diagnostics import Finding, Trust, Verdict
from pyroclust.diagnostics.judging import with_unanswered
from pyroclust.diagnostics.limits import tolerance_of
from pyroclust.partitions import Draws
from pyroclust.results.answer import AnswerInWords, reliance, with_doubts
from pyroclust.results.data import AnalysedData
from pyroclust.results.records import GuideRecord, ModelRecord, Repeat
from pyroclust.results.step_results import RowConstraints
from pyroclust.results.summaries import OF_THE_GUIDE, DrawsSummary, Estimate

WORDS = {
    "guide": "the guide",
    "weighted": "the weighted draws",
    "refined": "the refined draws",
    "mcmc": "MCMC",
    "forest": "the spanning forest",
}
"""What pages call the draws of an analysis."""
# The results that say what draws are worth.
_WORTH_BY = dict.fromkeys(OF_THE_GUIDE, "weights") | {"refined": "refining"}
_NOT_JUDGED = Verdict(Trust.UNKNOWN, "No verdict yet.")


@dataclass(kw_only=True, repr=False, eq=False)
class Analysis:
    """What :func:`pyroclust.compare`, ``cluster``, ``forest``, ``diagnose`` and ``update`` return.

    Steps fill it; pages, the terminal, files and notebooks are functions of it.

    Attributes:
        command: which analysis it is.
        data: table and points; ``None`` where draws came without.
        model: whose posterior is drawn from; ``None`` where draws came without.
        guide: what drew beside MCMC; ``None`` without one.
        draws: by name: ``"mcmc"``, ``"guide"``, ``"proposals"`` (all draws of a guide that were refined),
            ``"refined"``, ``"weighted"``, ``"forest"``, or those that were diagnosed.
        results: what each step found, by the name of the step; a step that was not asked for is not there.
        checks: the questions that steps asked, with their answers, by the name of the step.
        verdict: the answer to whether to rely on it.
        seed: of everything random.
        tolerance: limit on the difference of two co-assignment probabilities; ``None`` for the library's.
        constraints: on the rows, which all draws keep; ``None`` without any.
        about: figures of what was asked, for ``summary.json``.
        introduction: what was done, in a sentence or two.
        notes: sentences on what was left out or changed.
        failures: why parts are missing, a sentence each.
        unanswered: questions that parts which failed leave open.
        seconds_of: wall time of each step.
        not_asked: steps that could have been taken, and were not asked for.
        next: the command to go on with.
        repeat: what repeats it.
        folder: where the files were written, or ``None``.
        interrupted: whether Ctrl-C ended it early.

    Example:
        >>> from pyroclust import cluster
        >>> analysis = cluster("galaxies", mcmc_draws=50, num_chains=2, warmup=100)
        >>> analysis.draws["mcmc"].assignments.shape, analysis.frame().columns[:4].tolist()
        ((2, 50, 82), ['row', 'cluster', 'probability', 'uncertainty'])
    """

    command: str
    data: AnalysedData | None = None
    model: ModelRecord | None = None
    guide: GuideRecord | None = None
    draws: dict[str, Draws] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    checks: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    verdict: Verdict = _NOT_JUDGED
    seed: int = 0
    tolerance: float | None = None
    constraints: RowConstraints | None = None
    about: dict[str, Any] = field(default_factory=dict)
    introduction: str = ""
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    unanswered: list[Finding] = field(default_factory=list)
    seconds_of: dict[str, float] = field(default_factory=dict)
    not_asked: list[str] = field(default_factory=list)
    next: str = ""
    repeat: Repeat | None = None
    folder: Path | None = None
    interrupted: bool = False
    _summaries: dict[str, DrawsSummary] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the data, the answer and the verdict."""
        how_many, level = self.in_words.how_many, self.verdict.level.value
        return f"Analysis({self.command} {self.name}: {how_many}; {level})"

    # What it says.

    @property
    def name(self) -> str:
        """Of the data, or of the draws."""
        if self.data is not None:
            return self.data.table.name
        return " beside ".join(one.name for one in self.draws.values())

    @property
    def answer(self) -> str | None:
        """The name of the draws that are the answer; ``None`` where none passed."""
        if self.verdict.answer is not None:
            return self.verdict.answer.value
        return None if {"mcmc", "guide"} & self.draws.keys() else next(iter(self.draws))

    @property
    def reference(self) -> DrawsSummary:
        """The draws whose clusters are shown: those of the answer, of MCMC where there is none."""
        names = (self.answer, "mcmc", "guide", *self.draws)
        return self.summary(next(name for name in names if name in self.draws))

    def summary(self, name: str) -> DrawsSummary:
        """Return what some of the draws say; each part of it is computed when it is first asked for."""
        if name not in self._summaries:
            self._summaries[name] = DrawsSummary(
                self.draws[name],
                key=name,
                name=WORDS.get(name, self.draws[name].name),
                seed=self.seed,
                data=None if self.data is None else self.data.described,
                true_labels=None if self.data is None else self.data.table.labels,
                allowed=None if self.constraints is None else self.constraints.allows,
                row_weights=None if self.data is None else self.data.table.weights,
            )
        return self._summaries[name]

    @property
    def proposals(self) -> Draws:
        """All draws of the guide, which have the weights; ``"guide"`` may be some of them."""
        return self.draws.get("proposals", self.draws["guide"])

    def made(self, name: str) -> Draws:
        """Return the draws that the seconds are of, where only some are shown."""
        return self.proposals if name in OF_THE_GUIDE else self.draws[name]

    def effective_draws(self, name: str) -> float:
        """Return what all of these draws are worth; nan where unknown."""
        source, record = self.summary(name), self.results.get(_WORTH_BY.get(name, ""))
        if record is not None:
            return float(record.effective_draws)
        if name in OF_THE_GUIDE and "mcmc" in self.draws:
            return math.nan
        has_chains = not source.is_independent or name == "refined"
        worth = source.min_ess if has_chains else float(source.draws.num_draws)
        return worth if math.isfinite(worth) else math.nan

    def seconds_each(self, name: str) -> float:
        """Return seconds per effective draw; nan where unknown."""
        worth = self.effective_draws(name)
        return self.made(name).seconds / worth if worth else math.nan

    @property
    def sources(self) -> tuple[DrawsSummary, ...]:
        """What pages set beside each other, that which others are compared with last."""
        order = ("guide", "weighted", "refined", "mcmc")
        if not set(order) & self.draws.keys():
            return tuple(map(self.summary, self.draws))
        return tuple(self.summary(name) for name in order if name in self.draws)

    def num_clusters(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return posteriors of the number of clusters by source, and weighted, on one support."""
        counts_of = {one.key: one.marginals.counts for one in self.sources}
        weights = self.results.get("weights")
        if weights is not None and "guide" in counts_of:
            counts = np.bincount(
                self.proposals.num_clusters.ravel(),
                weights=weights.weights,
                minlength=len(counts_of["guide"]),
            )
            # Draws that were resampled by the weights say the same with more noise.
            counts_of = {"guide": counts, "weighted": counts} | counts_of | {"weighted": counts}
        support = np.flatnonzero(np.any(list(counts_of.values()), axis=0))
        values = np.arange(support[0], support[-1] + 1)
        return values, {name: one[values] for name, one in counts_of.items()}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every question that was asked: those of the verdict first, each once."""
        first: dict[str, Finding] = {}
        every = (
            self.verdict.findings,
            *self.checks.values(),
            self.unanswered,
            self.reference.findings,
        )
        for one in chain.from_iterable(every):
            first.setdefault(one.question, one)
        return tuple(first.values())

    def tolerance_for(self, name: str) -> float:
        """Return the limit on a co-assignment difference of some of the draws."""
        return tolerance_of(self.tolerance, refined=name == "refined")

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Point estimates by source, that of the answer first."""
        keys = dict.fromkeys((self.reference.key, *(one.key for one in self.sources)))
        estimates = {key: self.summary(key).estimate for key in keys}
        return {key: one for key, one in estimates.items() if one is not None}

    @property
    def in_words(self) -> AnswerInWords:
        """The answer in a person's words."""
        limits = self.about.get("clusters")
        return AnswerInWords.of(
            self.reference,
            rely=self.about.get("rely", ""),
            following=self.next,
            given="" if limits is None else range_in_words(tuple(limits)),
        )

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the N points."""
        if self.data is not None:
            return self.data.table.row_names
        draws = next(iter(self.draws.values()))
        return draws.point_names or tuple(str(row + 1) for row in range(draws.num_points))

    def frame(self) -> pd.DataFrame:
        """Return one row a point: name, cluster, probability of its cluster, uncertainty, then all else.

        Clusters are those of the point estimate, numbered from 1 in order of first appearance, as
        on the page and in its pictures; arrays of assignments count from 0.
        ``probability`` is that of the row to be in its cluster, ``uncertainty`` that of being apart from
        its companions there. Columns of the table and labels follow, and the clusters of the other sources.
        A column of the table that is called as another one here has "(given)" after its name.
        """
        shown, beside = self.reference, dict[str, Any]()
        columns: dict[str, Any] = {"row": list(self.row_names)}
        for key, one in self.estimates.items():
            if key == shown.key:
                own = shown.own_membership
                columns["cluster"] = one.assignments + 1
                columns |= ({} if own is None else {"probability": own}) | {"uncertainty": one.uncertainty}
            else:
                name = key if key in WORDS else self.draws[key].name
                beside |= {f"{name}_cluster": one.assignments + 1, f"{name}_uncertainty": one.uncertainty}
        if self.data is not None:
            table = self.data.table
            known = {"label": table.labels, "partial_label": table.partial_labels}
            weights = {} if table.weights is None else {"weight": table.weights}
            taken = {*columns, *beside, *known, *weights}
            for title, values in table.written() if table.shape is None else ():
                while title in taken:
                    title += " (given)"
                taken.add(title)
                columns[title] = values
            columns |= weights
            columns |= {name: pd.Series(one, dtype=object) for name, one in known.items() if one is not None}
        return pd.DataFrame(columns | beside)

    def clusters(self) -> pd.DataFrame:
        """Return one row a cluster: rows, share, mean membership, stability, means with intervals.

        Where rows have weights, ``weight`` is their sum beside the number of rows. Units are those of the
        columns; intervals hold 95 % of the draws.
        """
        shown, own, profiles = self.reference, self.reference.own_membership, self.reference.profiles
        if shown.estimate is None:
            return pd.DataFrame({"cluster": []})
        labels, sizes = shown.assignments, np.bincount(shown.assignments)
        columns: dict[str, Any] = {"cluster": np.arange(len(sizes)) + 1, "rows": sizes}
        if self.data is not None and self.data.table.weights is not None:
            columns["weight"] = shown.sizes
        columns["share"] = shown.sizes / shown.sizes.sum()
        own = np.full(len(labels), np.nan) if own is None else own
        times = 1 if shown.row_weights is None else shown.row_weights
        columns["mean_membership"] = np.bincount(labels, weights=own * times) / shown.sizes
        if profiles is not None and self.data is not None:
            columns |= {name: getattr(profiles, name) for name in ("share_low", "share_high", "stability")}
            for d, name in enumerate(self.data.described_by):
                while columns.keys() & {name, f"{name} low", f"{name} high"}:
                    name += " (given)"
                columns[name] = profiles.centres[:, d]
                columns[f"{name} low"] = profiles.centre_low[:, d]
                columns[f"{name} high"] = profiles.centre_high[:, d]
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``summary.json`` holds: what was done, and every figure; what was not asked is null."""
        values, counts = self.num_clusters()
        detailed = {self.reference.key, *(name for name in self.draws if name in _ALWAYS_DETAILED)}
        return json_values(
            {
                "pyroclust": version("pyroclust"),
                "command": self.command,
                **self.about,
                "seed": self.seed,
                "run": None if self.repeat is None else self.repeat.run,
                "interrupted": self.interrupted,
                "answer_in_words": {
                    name: one for name, one in asdict(self.in_words).items() if one or name != "given"
                },
                "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
                "answer": None if self.verdict.answer is None else self.verdict.answer.value,
                "tolerance": {"guide": self.tolerance_for("guide"), "refined": self.tolerance_for("refined")},
                "findings": [one.to_dict() for one in self.findings],
                "num_clusters": {"values": values} | counts,
                **dict.fromkeys(_STEPS),
                **{name: figures_of(found) for name, found in self.results.items()},
                "point_estimates": {name: one.figures() for name, one in self.estimates.items()},
                "sources": {
                    one.key: (one.figures() if one.key in detailed else one.short_figures())
                    | ({} if one.is_independent else {"verdict": one.verdict.to_dict()})
                    for one in self.sources
                },
                "seconds_per_effective_draw": {
                    one.key: self.seconds_each(one.key)
                    for one in self.sources
                    if not math.isnan(self.made(one.key).seconds)
                },
                "seconds_of": self.seconds_of,
                "not_asked": self.not_asked,
                "repeat": None if self.repeat is None else self.repeat.figures(),
                "notes": [*self.notes, *self.failures],
                "failures": list(self.failures),
            }
        )

    def conclude(self, judged: Verdict, *, chains: Verdict | None = None, doubts: Sequence[str] = ()) -> None:
        """Set the verdict, with questions that parts which failed leave open, and whether to rely on it."""
        self.verdict = judged
        untold = [one for one in self.reference.findings if one.value is None]
        self.verdict = with_unanswered(judged, (*self.unanswered, *untold))
        has_guide = "agreement" in self.results
        self.about["rely"] = with_doubts(reliance(judged, chains, has_guide=has_guide), doubts)

    # How it is shown and kept. The page is made by the package above this one, when it is asked for.

    def _repr_html_(self) -> str:
        """Return the answer, a picture, and how to go on, for a notebook."""
        from pyroclust.report import notebook_view

        return notebook_view(self)

    def show(self) -> None:
        """Show the whole page, with all pictures: in the notebook's cell, or else in the browser."""
        from pyroclust.report import show_page

        show_page(self)

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False) -> "Analysis":
        """Write ``report.html``, ``draws.nc``, ``summary.json``, ``assignments.csv`` and ``clusters.csv``."""
        from pyroclust.report.writing import save_analysis

        return save_analysis(self, folder, overwrite=overwrite)

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> "Analysis":
        """Read an analysis back from the folder that it was saved in.

        Data, draws, model, verdict and answer are as they were; figures are computed when they are asked for.
        """
        from pyroclust.results.files import read_analysis

        return read_analysis(Path(folder))


def figures_of(found: Any) -> Any:
    """Return what ``summary.json`` says of a result; numbers may be those of numpy, or not finite."""
    if isinstance(found, Mapping):
        return {name: figures_of(one) for name, one in found.items()}
    if isinstance(found, tuple | list):
        return [figures_of(one) for one in found]
    as_figures: Callable[[], Any] | None = getattr(found, "figures", None) or getattr(found, "to_dict", None)
    if as_figures is not None:
        return as_figures()
    return asdict(found) if is_dataclass(found) and not isinstance(found, type) else found


# Results that every file has a place for, whether or not they were asked for.
_STEPS = (
    *("prior_num_clusters", "other_priors", "agreement", "two_samples", "refining", "orders", "weights"),
    *("evidence", "familiarity", "witnesses", "calibration", "constraints", "split_clusters", "baselines"),
    "missing",
)
_ALWAYS_DETAILED = ("mcmc", "forest", "first", "second")
