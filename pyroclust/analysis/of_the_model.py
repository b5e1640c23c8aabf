"""The steps that ask of model and guide: simulations, certificate, evidence, constraints, missing cells."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pyroclust.analysis.constraining import free_posterior, knowledge_of
from pyroclust.analysis.filling import missing_cells
from pyroclust.analysis.picking import PickedGuide
from pyroclust.analysis.populations import MOST_ANNEALED, can_be_annealed
from pyroclust.analysis.steps import Step, Work, never
from pyroclust.arrays import without_gaps
from pyroclust.calibration import calibrate_near
from pyroclust.calibration.certificate import Certificate
from pyroclust.calibration.judgement import calibration_findings
from pyroclust.calibration.training_world import TrainingWorld, simulated_world
from pyroclust.data.standardise import indicators
from pyroclust.diagnostics import Familiarity, LogEvidence, log_evidences
from pyroclust.diagnostics.simulations.witnesses import Witnesses
from pyroclust.diagnostics.verdicts.findings import (
    Question,
    certificate_finding,
    familiarity_findings,
    witnesses_finding,
)
from pyroclust.diagnostics.weights.evidence import importance_evidence
from pyroclust.infer import annealed_log_evidence
from pyroclust.infer.mcmc.defaults import has_kernel
from pyroclust.infer.refining.proposals import shared_log_prob
from pyroclust.results.constraints import ConstraintSummary, summarise_constraints
from pyroclust.results.missing_cells import MissingCells
from pyroclust.results.weights import Evidence

__all__ = ["MODEL_STEPS"]

# Labels of MCMC that the guide scores, for estimates of the evidence: as many as 400 draws of 500 points.
_CROSS_DRAWS, _CROSS_LABELS = 400, 200_000


def _alone(work: Work) -> bool:
    """Whether a guide stands alone: then simulations are all that it can be checked by."""
    return work.has("guide") and not work.has("mcmc")


def _see(work: Work) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return what turns simulations into what the data are summarised by."""
    data = work.analysis.data
    if data is None or data.profiled is None:
        return None
    return lambda values: without_gaps(indicators(values, kinds=data.kinds, levels=data.levels))


def _free_guide(work: Work) -> PickedGuide:
    """Return the guide that no constraints hold: simulations know of none."""
    free = work.free if isinstance(work.free, PickedGuide) else work.picked
    assert free is not None
    return free


def _world(work: Work) -> TrainingWorld:
    """Simulate data sets like those of the training, once for all steps that look at them."""
    if "world" not in work.kept:
        picked = _free_guide(work)
        assert work.data is not None
        least, most = picked.min_points, picked.max_points
        work.kept["world"] = simulated_world(
            picked.module,
            work.data,
            seed=work.settings.seed,
            min_points=least,
            max_points=most,
            see=_see(work),
        )
        work.analysis.failures += work.kept["world"].failures
    world: TrainingWorld = work.kept["world"]
    return world


def _familiarity(work: Work) -> Familiarity:
    data = work.analysis.data
    assert data is not None
    found = _world(work).familiarity(data.summarised, seed=work.settings.seed)
    work.analysis.checks["familiarity"] = familiarity_findings(found)
    return found


def _witnesses(work: Work) -> Witnesses | None:
    found = _world(work).witnesses()
    if found is not None:
        work.analysis.checks["witnesses"] = (witnesses_finding(found),)
    return found


def _calibration(work: Work) -> Any:
    assert work.data is not None
    guide = _free_guide(work).module
    found = calibrate_near(guide, guide.model, work.data, see=_see(work), seed=work.settings.seed)
    work.analysis.checks["calibration"] = (found.finding,)
    return found


def _certificate(work: Work) -> dict[str, int]:
    guide = work.analysis.guide
    assert guide is not None
    tests = []
    if guide.certificate:
        every = calibration_findings(Certificate.from_dict(guide.certificate))
        tests = [one.passed is True for one in every]
    work.analysis.checks["certificate"] = (certificate_finding(sum(tests), len(tests)),)
    return {"tests": len(tests), "passed": sum(tests)}


def _evidence(work: Work) -> Evidence | None:
    """Gather the estimates that cost nothing; where the evidence was asked for, also those that do."""
    found = work.analysis
    estimates: tuple[LogEvidence, ...] = (*_from_guide(work), *work.kept.get("evidences", ()))
    asked = work.asks("evidence")
    if asked and work.model is not None and work.data is not None and can_be_annealed(work.model):
        if len(found.row_names) > MOST_ANNEALED:
            found.notes.append(
                f"The log evidence was not estimated by annealing, as there are more than {MOST_ANNEALED} "
                "rows: pyroclust.infer.annealed_log_evidence does it in a time that grows with their square."
            )
        else:
            work.tell("estimating the log evidence by annealing")
            estimates += (annealed_log_evidence(work.model, work.data, seed=work.settings.seed),)
    if not estimates or not (asked or any(one.is_reliable for one in estimates)):
        return None
    return Evidence(estimates)


def _from_guide(work: Work) -> tuple[LogEvidence, ...]:
    found = work.analysis
    refining, weights = found.results.get("refining"), found.results.get("weights")
    if refining is not None and refining.evidences:
        return tuple(refining.evidences)
    if weights is None:
        return ()
    cross = _cross_scored(work) if work.asks("evidence") else None
    if cross is None:
        return (importance_evidence(weights.log_weights),)
    draws = found.proposals
    assert draws.log_joint is not None
    assert draws.log_prob is not None
    return log_evidences(*cross, guide_log_joint=draws.log_joint, guide_log_prob=draws.log_prob)


def _cross_scored(work: Work) -> tuple[np.ndarray, np.ndarray] | None:
    """Score every k-th draw of each chain by the guide; ``None`` where log q is estimated."""
    mcmc = work.analysis.draws.get("mcmc")
    exact = all(one.is_exact for one in work.posteriors)
    if mcmc is None or mcmc.log_joint is None or not work.posteriors or not exact:
        return None
    chains, draws, num_points = mcmc.assignments.shape
    wanted = max(1, min(_CROSS_DRAWS, _CROSS_LABELS // num_points) // chains)
    kept = slice(None, None, -(-draws // wanted))
    with torch.no_grad():
        some = torch.from_numpy(mcmc.assignments[:, kept].reshape(-1, num_points))
        scored = shared_log_prob(work.posteriors, some)
    log_joint = mcmc.log_joint[:, kept]
    return log_joint, scored.numpy().reshape(log_joint.shape)


def _free(work: Work) -> None:
    """Draw from the posterior without the constraints, to say what they changed."""
    known, free = work.known, None
    assert known is not None
    try:
        free = free_posterior(work)
    finally:
        work.analysis.knowledge = knowledge_of(known, work.model, free)


def _constraints(work: Work) -> ConstraintSummary:
    found, evidence = work.analysis, work.analysis.results.get("evidence")
    assert found.knowledge is not None
    estimates = None if work.model is None else () if evidence is None else tuple(evidence.estimates)
    result = summarise_constraints(found.knowledge, found.reference.summary.marginals, estimates)
    found.failures += result.failures
    return result


def _missing(work: Work) -> MissingCells:
    return missing_cells(work.analysis, seed=work.settings.seed)


MODEL_STEPS = (
    Step(
        name="without_constraints",
        compute=_free,
        applies=lambda work: work.known is not None and work.model is not None,
        what="The posterior without the constraints",
        opens=(Question.FREE,),
    ),
    Step(
        name="familiarity",
        compute=_familiarity,
        applies=lambda work: work.picked is not None,
        by_default=_alone,
        says=lambda work: "simulating data sets like those of the training",
        what="The familiarity of the data",
        opens=(Question.FAMILIAR,),
    ),
    Step(
        name="witnesses",
        compute=_witnesses,
        applies=lambda work: work.picked is not None and work.model.has_likelihood,
        by_default=never,
        what="The witnesses of the guide",
        opens=(Question.WITNESSED,),
    ),
    Step(
        name="certificate",
        compute=_certificate,
        applies=_alone,
        what="The judgement of the certificate",
        opens=(Question.CERTIFIED,),
    ),
    Step(
        name="calibration",
        compute=_calibration,
        applies=lambda work: work.picked is not None,
        by_default=never,
        says=lambda work: "calibrating the guide on simulations near the data",
        what="The calibration of the guide near the data",
        opens=(Question.NEAR,),
    ),
    Step(name="evidence", compute=_evidence, what="The log evidence"),
    Step(
        name="constraints",
        compute=_constraints,
        applies=lambda work: work.analysis.knowledge is not None,
        what="What the constraints say",
        of_the_answer=True,
    ),
    Step(
        name="missing",
        compute=_missing,
        applies=lambda work: (
            work.analysis.data is not None
            and work.analysis.data.table.shape is None
            and bool(work.analysis.data.table.missing.any())
            and has_kernel(work.model)
        ),
        what="What the missing cells may hold",
        of_the_answer=True,
    ),
)
