"""What a comparison of a guide with MCMC holds, and everything that is said about it."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyroclust import diagnostics
from pyroclust.baseline_rows import BaselineRow, baseline_rows
from pyroclust.diagnostics import (
    Agreement,
    Convergence,
    Evidence,
    Familiarity,
    LogEvidence,
    SourceComparison,
    Verdict,
)
from pyroclust.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.scores import partition_scores
from pyroclust.training_world import TrainingWorld

__all__ = [
    "Comparison",
    "ComparisonSummary",
    "CrossScored",
    "GuideOnData",
    "NumClusters",
    "PartitionDraws",
    "Weighting",
    "plain",
    "source_figures",
    "summarise",
]


@dataclass(frozen=True)
class PartitionDraws:
    """Draws of partitions from one source, with the model's log joint of each.

    Attributes:
        name: what reports call the source.
        assignments: canonical labels, ``(chains, draws, N)`` int64.
        log_joint: log p(assignments, data) in nats, ``(chains, draws)``; ``None`` without a likelihood.
        seconds: wall time that the draws took.
        log_prob: log q(assignments | data) in nats, ``(chains, draws)``; ``None`` where unknown (MCMC).

    Raises:
        ValueError: if the shapes do not fit.
    """

    name: str
    assignments: np.ndarray
    log_joint: np.ndarray | None
    seconds: float
    log_prob: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.assignments.ndim != 3:
            raise ValueError(
                f"assignments has shape {self.assignments.shape}, expected (chains, draws, points)"
            )
        for name, values in (("log_joint", self.log_joint), ("log_prob", self.log_prob)):
            if values is not None and values.shape != self.assignments.shape[:2]:
                raise ValueError(f"{name} has shape {values.shape}, expected {self.assignments.shape[:2]}")


@dataclass(frozen=True)
class CrossScored:
    """Every k-th draw of MCMC with both densities, for estimates of the evidence that use MCMC.

    Attributes:
        log_joint: log p(assignments, data) in nats, ``(chains, draws)``.
        log_prob: log q(assignments | data) of the guide at the same draws, in nats, ``(chains, draws)``.
    """

    log_joint: np.ndarray
    log_prob: np.ndarray


@dataclass(frozen=True, kw_only=True)
class GuideOnData:
    """One data set, and draws of its partition from a guide.

    Attributes:
        source: name of the data set.
        model_name: name of the model.
        guide_name: name of the guide.
        columns: names of the D columns.
        data: the points as the guide saw them, ``(N, D)``; the original is ``data * scale + location``.
        guide: draws of the guide.
        location: ``(D,)``, in the units of the columns.
        scale: ``(D,)``, in the units of the columns.
        true_labels: known labels, ``(N,)``, or ``None``.
        row_names: names of the N rows, or ``None``.
        world: simulations of the guide's model, or ``None`` where it cannot be simulated.
        notes: sentences that reports repeat, such as what was left out of the table.

    Raises:
        ValueError: if the shapes do not fit.
    """

    source: str
    model_name: str
    guide_name: str
    columns: tuple[str, ...]
    data: np.ndarray
    guide: PartitionDraws
    location: np.ndarray
    scale: np.ndarray
    true_labels: np.ndarray | None = None
    row_names: tuple[str, ...] | None = None
    world: TrainingWorld | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.data.ndim != 2 or self.data.shape[1] != len(self.columns):
            raise ValueError(f"data has shape {self.data.shape}, expected (N, {len(self.columns)})")
        self._check_points("guide", self.guide)

    def _check_points(self, name: str, draws: PartitionDraws) -> None:
        if draws.assignments.shape[-1] != len(self.data):
            raise ValueError(
                f"{name} has draws of {draws.assignments.shape[-1]} points, expected {len(self.data)}"
            )


@dataclass(frozen=True, kw_only=True)
class Comparison(GuideOnData):
    """One data set, and draws of its partition from a guide and from MCMC on the same model.

    Attributes besides those of :class:`GuideOnData`, whose draws come with ``log_prob``:
        mcmc: draws of MCMC.
        cross: some of them with the guide's log q; ``None`` where that is only estimated.

    Raises:
        ValueError: if the shapes do not fit, or draws come without what weights need.
    """

    mcmc: PartitionDraws
    cross: CrossScored | None = None

    def __post_init__(self) -> None:
        """Check the shapes, and what weights need."""
        super().__post_init__()
        self._check_points("mcmc", self.mcmc)
        if self.guide.log_prob is None:
            raise ValueError("guide has no log_prob, expected log q of each draw: weights need it")
        if self.guide.log_joint is None or self.mcmc.log_joint is None:
            raise ValueError("guide or mcmc has no log_joint, expected log p of each draw: weights need it")


@dataclass(frozen=True)
class NumClusters:
    """Posteriors of the number of clusters on one support.

    Attributes:
        values: numbers of clusters, ``(V,)``, without gaps.
        guide: probabilities by the guide's draws, ``(V,)``.
        corrected: by the same draws with their importance weights, ``(V,)``.
        mcmc: by MCMC, ``(V,)``.
    """

    values: np.ndarray
    guide: np.ndarray
    corrected: np.ndarray
    mcmc: np.ndarray


@dataclass(frozen=True)
class Weighting:
    """The guide's draws as importance samples of the posterior.

    Attributes:
        log_weights: log p(c, x) - log q(c) in nats, ``(S,)``. weights: Pareto-smoothed and normalised,
        ``(S,)``. pareto_k: shape of the weights' tail; nan where it cannot be fitted, -inf where the weights
        are bounded. efficiency: effective share of the draws, in (0, 1]. effective_draws: of the smoothed
        weights. log_evidence: estimate of log p(x) in nats. log_evidence_error: its standard error.
    """

    log_weights: np.ndarray
    weights: np.ndarray
    pareto_k: float
    efficiency: float
    effective_draws: float
    log_evidence: float
    log_evidence_error: float


@dataclass(frozen=True)
class ComparisonSummary:
    """Everything that a report, a terminal table or a JSON file says of a comparison.

    Attributes:
        verdict: whether to trust the guide here, in a sentence.
        num_clusters: posteriors of the number of clusters on one support.
        guide: what the guide's draws say.
        mcmc: what the draws of MCMC say.
        co_assignment_corrected: ``(N, N)``, from the guide's weighted draws.
        agreement_corrected: of the weighted draws with MCMC.
        sources: the guide's draws beside those of MCMC: distances and two-sample tests.
        weighting: the guide's importance weights.
        evidences: estimates of log p(x): from the guide's draws, and where the guide scores draws of MCMC
            exactly, from those and from both.
        baselines: classical clusterings, seen from the posterior by MCMC.
        familiarity: where the data lie among simulations of the model; ``None`` without simulations.
        estimates_rand: adjusted Rand index between the two point estimates.
        guide_seconds: seconds per effective draw of the guide.
        mcmc_seconds: seconds per effective draw of MCMC, by its slowest functional; nan where all are
            constant.
    """

    verdict: Verdict
    num_clusters: NumClusters
    guide: DrawsSummary
    mcmc: DrawsSummary
    co_assignment_corrected: np.ndarray
    agreement_corrected: Agreement
    sources: SourceComparison
    weighting: Weighting
    evidences: tuple[LogEvidence, ...]
    baselines: tuple[BaselineRow, ...]
    familiarity: Familiarity | None
    estimates_rand: float
    guide_seconds: float
    mcmc_seconds: float

    @property
    def speed_ratio(self) -> float:
        """How many times more seconds MCMC needs per effective draw than the guide."""
        return self.mcmc_seconds / self.guide_seconds if self.guide_seconds > 0 else math.nan

    @property
    def agreement(self) -> Agreement:
        """Agreement of the guide's draws, as drawn, with MCMC."""
        return self.sources.agreement

    @property
    def estimate_guide(self) -> Estimate:
        """Point estimate of the guide's draws."""
        return self.guide.estimate

    @property
    def estimate_mcmc(self) -> Estimate:
        """Point estimate of MCMC."""
        return self.mcmc.estimate

    @property
    def convergence(self) -> tuple[Convergence, ...]:
        """Convergence of MCMC, one row a functional."""
        return self.mcmc.convergence

    def to_dict(self) -> dict[str, object]:
        """Return the figures without matrices and draws, fit for JSON: not finite becomes ``None``."""
        weighting, estimates = self.weighting, {"guide": self.estimate_guide, "mcmc": self.estimate_mcmc}
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "num_clusters": asdict(self.num_clusters),
            "agreement": asdict(self.agreement),
            "agreement_corrected": asdict(self.agreement_corrected),
            "two_samples": source_figures(self.sources),
            "convergence": [asdict(row) for row in self.convergence],
            "importance": {
                "draws": len(weighting.weights),
                "efficiency": weighting.efficiency,
                "effective_draws": weighting.effective_draws,
                "pareto_k": weighting.pareto_k,
                "log_evidence": weighting.log_evidence,
                "log_evidence_error": weighting.log_evidence_error,
            },
            "log_evidence": [asdict(one) for one in self.evidences],
            "seconds_per_effective_draw": {
                "guide": self.guide_seconds,
                "mcmc": self.mcmc_seconds,
                "ratio": self.speed_ratio,
            },
            "point_estimates": {name: found.figures() for name, found in estimates.items()},
            "familiarity": None if self.familiarity is None else asdict(self.familiarity),
            "adjusted_rand_between_estimates": self.estimates_rand,
            "sources": {"guide": self.guide.figures(), "mcmc": self.mcmc.figures()},
            "baselines": [one.figures() for one in self.baselines],
        }
        return plain(figures)


def summarise(comparison: Comparison, *, seed: int = 0) -> ComparisonSummary:
    """Compute every figure of a comparison.

    Cost: ten co-assignment matrices, two searches for point estimates and two two-sample tests; some seconds
    at N = 300 with 4000 draws of MCMC.

    Args:
        comparison: the draws of both sources.
        seed: of the random subsets, starts and pairs that the diagnostics use.

    Raises:
        ValueError: if the draws are not labels 0 to N - 1, or a log-probability is not finite.
    """
    guide, mcmc = comparison.guide, comparison.mcmc
    weighting = _weigh(guide)
    beside: dict[str, Any] = {"seed": seed, "data": comparison.data, "true_labels": comparison.true_labels}
    of_guide = summarise_draws(guide.assignments, name=guide.name, log_joint=_log_joint(guide), **beside)
    of_mcmc = summarise_draws(mcmc.assignments, name=mcmc.name, log_joint=_log_joint(mcmc), **beside)
    sources = diagnostics.compare_sources(
        guide.assignments, mcmc.assignments, seed=seed, names=("The guide", "MCMC")
    )
    corrected = diagnostics.agreement(guide.assignments, mcmc.assignments, weights=weighting.weights)
    evidence = Evidence(
        guide=sources.agreement,
        corrected=corrected,
        max_rhat=of_mcmc.max_rhat,
        min_ess=of_mcmc.min_ess,
        pareto_k=weighting.pareto_k,
        effective_draws=weighting.effective_draws,
    )
    estimates = of_guide.estimate.assignments, of_mcmc.estimate.assignments
    return ComparisonSummary(
        verdict=diagnostics.judge(evidence),
        num_clusters=_num_clusters(guide.assignments, mcmc.assignments, weighting.weights),
        guide=of_guide,
        mcmc=of_mcmc,
        co_assignment_corrected=diagnostics.co_assignment(guide.assignments, weights=weighting.weights),
        agreement_corrected=corrected,
        sources=sources,
        weighting=weighting,
        evidences=_evidences(comparison, weighting),
        baselines=baseline_rows(
            comparison.data,
            mcmc.assignments,
            summary=of_mcmc,
            true_labels=comparison.true_labels,
            seed=seed,
        ),
        familiarity=None
        if comparison.world is None
        else comparison.world.familiarity(comparison.data, seed=seed),
        estimates_rand=partition_scores(*estimates).adjusted_rand,
        guide_seconds=guide.seconds / (len(weighting.weights) * weighting.efficiency),
        mcmc_seconds=mcmc.seconds / of_mcmc.min_ess if math.isfinite(of_mcmc.min_ess) else math.nan,
    )


def source_figures(found: SourceComparison) -> dict[str, Any]:
    """Return two sources' figures without the null distributions of the tests.

    Args:
        found: from :func:`pyroclust.diagnostics.compare_sources`.
    """
    figures = asdict(found)
    figures["verdict"] = {"level": found.verdict.level.value, "sentence": found.verdict.sentence}
    for test in ("mmd", "classifier", "counts"):
        figures[test].pop("null")
    return figures


def _evidences(comparison: Comparison, weighting: Weighting) -> tuple[LogEvidence, ...]:
    cross, guide = comparison.cross, comparison.guide
    if cross is None or guide.log_prob is None:
        figures = weighting.log_evidence, weighting.log_evidence_error, weighting.pareto_k
        return (LogEvidence("importance sampling", *figures),)
    return diagnostics.log_evidences(
        cross.log_joint, cross.log_prob, guide_log_joint=_log_joint(guide), guide_log_prob=guide.log_prob
    )


def _log_joint(draws: PartitionDraws) -> np.ndarray:
    if draws.log_joint is None:
        raise ValueError(f"{draws.name} has no log_joint, expected log p of each draw: weights need it")
    return draws.log_joint


def _weigh(guide: PartitionDraws) -> Weighting:
    log_weights = np.ravel(_log_joint(guide) - guide.log_prob).astype(np.float64)
    weights = diagnostics.importance_weights(log_weights)
    return Weighting(
        log_weights,
        weights,
        diagnostics.pareto_k(log_weights),
        diagnostics.importance_efficiency(log_weights),
        diagnostics.effective_draws(weights),
        *diagnostics.log_evidence(log_weights),
    )


def _num_clusters(guide: np.ndarray, mcmc: np.ndarray, weights: np.ndarray) -> NumClusters:
    found = [
        diagnostics.cluster_count_posterior(guide),
        diagnostics.cluster_count_posterior(guide, weights=weights),
        diagnostics.cluster_count_posterior(mcmc),
    ]
    low, high = min(values[0] for values, _ in found), max(values[-1] for values, _ in found)
    columns = np.zeros((3, high - low + 1))
    for column, (values, probabilities) in zip(columns, found, strict=True):
        column[values - low] = probabilities
    return NumClusters(np.arange(low, high + 1), *columns)


def plain(value: Any) -> Any:
    """Turn arrays into lists, and numbers that JSON does not have into ``None``.

    Example:
        >>> plain({"values": np.arange(2), "p": float("nan")})
        {'values': [0, 1], 'p': None}
    """
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case float() if not math.isfinite(value):
            return None
    return value
