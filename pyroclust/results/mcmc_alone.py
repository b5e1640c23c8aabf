"""Draws of MCMC without a guide: what is said of them, and whether they have converged."""

from dataclasses import dataclass
from typing import Any

from pyroclust.arrays import plain
from pyroclust.attempts import Attempts
from pyroclust.diagnostics import Answer, Finding, Verdict
from pyroclust.diagnostics.verdicts.judging import as_answer, with_untold
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.comparison import OnData, PartitionDraws, about_mcmc
from pyroclust.results.constraints import ConstraintSummary, summarise_constraints
from pyroclust.results.contents import Contents, Source, posteriors_of_k
from pyroclust.results.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.results.evidence import evidence_figures
from pyroclust.results.partition_draws import MCMC

__all__ = ["McmcAlone", "McmcSummary", "summarise_mcmc"]


@dataclass(frozen=True, kw_only=True, repr=False)
class McmcAlone(OnData):
    """One data set, and draws of its partition by MCMC, with no guide beside them.

    Attributes besides those of :class:`~pyroclust.results.comparison.OnData`:
        mcmc: draws of MCMC.

    Raises:
        ValueError: if the shapes do not fit.
    """

    mcmc: PartitionDraws

    def __post_init__(self) -> None:
        """Check the shapes."""
        super().__post_init__()
        self._check_points("mcmc", self.mcmc)

    @property
    def drawn_by(self) -> str:
        """The kernel."""
        return self.mcmc.name

    def about(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of the data and of what drew."""
        return super().about() | {"guide": None} | about_mcmc(self.mcmc)


@dataclass(frozen=True)
class McmcSummary:
    """Everything that a report, a terminal table or a JSON file says of draws of MCMC alone.

    Attributes:
        comparison: the draws.
        seed: of the random subsets.
        mcmc: what the draws say.
        baselines: classical clusterings, seen from the posterior.
        failures: why parts are missing, a sentence each.
        constraints: what is known of the rows, and what that changed; ``None`` without any.
    """

    comparison: McmcAlone
    seed: int
    mcmc: DrawsSummary
    baselines: tuple[BaselineRow | FailedRow, ...]
    failures: tuple[str, ...] = ()
    constraints: ConstraintSummary | None = None

    def __repr__(self) -> str:
        """Return the data set and the verdict."""
        return f"McmcSummary({self.comparison.source}: {self.verdict.level.value})"

    @property
    def verdict(self) -> Verdict:
        """Whether the chains have converged, so that their posterior is the answer."""
        return with_untold(as_answer(self.mcmc.verdict, Answer.MCMC), self.mcmc.untold)

    @property
    def answer(self) -> Answer | None:
        """Whose posterior is the answer: that of MCMC where its chains agree."""
        return self.verdict.answer

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every question that was asked: those of the verdict first."""
        known = () if self.constraints is None else self.constraints.findings
        return (*self.verdict.findings, *known, *self.mcmc.findings)

    @property
    def mcmc_seconds(self) -> float:
        """Seconds per effective draw, by the slowest functional; nan where all are constant."""
        return self._source().seconds_each

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Point estimates by the names that files have for their sources, that of the answer first."""
        if self.mcmc.estimate is None:
            return {}
        answer = {} if self.answer is None else {"answer": self.mcmc.estimate}
        return answer | {"mcmc": self.mcmc.estimate}

    def contents(self) -> Contents:
        """Return what there is to show."""
        found, source = self.comparison, self._source()
        counts_from, counts = posteriors_of_k([source])
        return Contents(
            title=f"{found.source}: MCMC",
            command="pyroclust compare",
            heading=found.source,
            introduction=(
                f"{found.size_in_words}. MCMC on the model {found.model_name} "
                f"({found.drawn_by}) kept {source.num_draws:,} partitions in {source.draws.shape[0]} chains; "
                f"no guide was used. {found.model_in_words}".rstrip()
            ),
            footer=(
                "Uncertainty of a row: the probability that it is apart from its companions in the "
                "estimate. Effective draws: those of the slowest functional."
            ),
            shape=found.shape,
            notes=(*found.notes, *self.failures),
            verdict=self.verdict,
            findings=self.findings,
            sources=(source,),
            reference=source,
            counts=counts,
            counts_from=counts_from,
            rows=found.rows,
            seed=self.seed,
            evidences=self.comparison.annealed,
            baselines=self.baselines,
            constraints=self.constraints,
        )

    def _source(self) -> Source:
        return self.comparison.source_of(MCMC, self.comparison.mcmc, self.mcmc)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures without matrices and draws, fit for JSON."""
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "answer": None if self.answer is None else self.answer.value,
            "findings": [one.to_dict() for one in self.findings],
            "num_clusters": {"values": self.mcmc.values, "mcmc": self.mcmc.probabilities},
            "seconds_per_effective_draw": {"mcmc": self.mcmc_seconds},
            "point_estimates": {name: one.figures() for name, one in self.estimates.items()},
            "log_evidence": evidence_figures(self.comparison.annealed),
            "sources": {"mcmc": self.mcmc.figures()},
            "constraints": None if self.constraints is None else self.constraints.figures(),
            "baselines": [one.figures() for one in self.baselines],
            "notes": [*self.comparison.notes, *self.failures],
            "failures": list(self.failures),
        }
        found: dict[str, Any] = plain(figures)
        return found


def summarise_mcmc(alone: McmcAlone, *, seed: int = 0) -> McmcSummary:
    """Compute every figure of draws of MCMC alone.

    A part that fails is left out, with a sentence in ``failures``; what it would have answered is "cannot
    tell".

    Args:
        alone: the draws.
        seed: of the random subsets that the diagnostics use.
    """
    draws, tries = alone.mcmc, Attempts()
    labels: dict[str, Any] = {"true_labels": alone.true_labels, "seed": seed}
    found = summarise_draws(
        draws.assignments,
        name=MCMC,
        log_joint=draws.log_joint,
        data=alone.profiled,
        allowed=alone.allowed,
        **labels,
    )
    baselines = tries.make(
        "The classical methods",
        lambda: baseline_rows(
            alone.vectors, draws.assignments, summary=found, methods=alone.classical, **labels
        ),
    )
    constraints = tries.make(
        "What the constraints say",
        lambda: summarise_constraints(alone.knowledge, found.marginals, alone.annealed),
    )
    return McmcSummary(
        comparison=alone,
        seed=seed,
        mcmc=found,
        baselines=baselines or (),
        failures=(
            *alone.failures,
            *found.failures,
            *(() if constraints is None else constraints.failures),
            *tries.failures,
        ),
        constraints=constraints,
    )
