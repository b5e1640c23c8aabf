"""Everything that is said of a comparison of a guide with MCMC."""

import math
from dataclasses import asdict, dataclass

import numpy as np

from pyroclust.calibration.result import LocalCalibration
from pyroclust.diagnostics import Agreement, Convergence, Familiarity, LogEvidence, SourceComparison, Verdict
from pyroclust.results.baseline_rows import BaselineRow
from pyroclust.results.draws_summary import DrawsSummary, Estimate
from pyroclust.results.json_figures import plain, source_figures

__all__ = ["ComparisonSummary", "NumClusters", "Weighting"]


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
        log_weights: log p(c, x) - log q(c) in nats, ``(S,)``.
        weights: Pareto-smoothed and normalised, ``(S,)``.
        pareto_k: shape of the weights' tail; nan where it cannot be fitted, -inf where weights are bounded.
        efficiency: effective share of the draws, in (0, 1].
        effective_draws: of the smoothed weights.
        log_evidence: estimate of log p(x) in nats.
        log_evidence_error: its standard error.
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
        calibration: of the guide on simulations near the data; ``None`` where it was not asked for.
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
    calibration: LocalCalibration | None
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
            "calibration_near_data": None if self.calibration is None else self.calibration.figures(),
            "adjusted_rand_between_estimates": self.estimates_rand,
            "sources": {"guide": self.guide.figures(), "mcmc": self.mcmc.figures()},
            "baselines": [one.figures() for one in self.baselines],
        }
        return plain(figures)
