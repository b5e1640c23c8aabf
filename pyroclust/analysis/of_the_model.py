"""The steps that ask of model and guide: simulations, certificate, evidence, constraints, missing cells."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from pyro.distributions import Geometric

from pyroclust.analysis.chains import MOST_ANNEALED, annealed, can_be_annealed
from pyroclust.analysis.constraining import unconstrained_posterior
from pyroclust.analysis.predicting import missing_cells
from pyroclust.analysis.steps import Step, Work, as_step, never
from pyroclust.calibration import Certificate, LocalCalibration, calibrate_near
from pyroclust.calibration.certificate import calibration_findings
from pyroclust.calibration.simulations import SimulatedDatasets, simulate_datasets
from pyroclust.core.messages import Attempts
from pyroclust.core.numbers import mean_imputed
from pyroclust.data.tables import indicators
from pyroclust.diagnostics import Familiarity, LogEvidence, importance_evidence, log_evidences
from pyroclust.diagnostics.constraint_effect import (
    ConstraintOdds,
    constraint_effect,
    constraint_odds,
    moved_points,
)
from pyroclust.diagnostics.findings import (
    Question,
    certificate_finding,
    familiarity_findings,
    split_finding,
    weight_quality_finding,
)
from pyroclust.diagnostics.importance import can_tell, effective_draws
from pyroclust.diagnostics.likeness import WeightQuality
from pyroclust.diagnostics.split_clusters import SplitClusters, overdispersed_clusters
from pyroclust.diagnostics.split_clusters import split_clusters as find_split
from pyroclust.distributions import (
    FiniteMixturesPrior,
    GammaConcentration,
    NegativeBinomialBeta,
    NormalInverseGamma,
    NormalInverseWishart,
    PartitionPrior,
    PartlyObserved,
    PoissonGamma,
    Product,
)
from pyroclust.infer.importance import shared_log_prob
from pyroclust.infer.mcmc.named_kernels import has_kernel
from pyroclust.models import Mixture
from pyroclust.models.standardised import WEIGHT, law_of_number
from pyroclust.partitions import canonical
from pyroclust.results.answer import likeliest_of, with_doubts
from pyroclust.results.data import MissingCells
from pyroclust.results.step_results import Evidence, RowConstraints

# Labels of MCMC that the guide scores, for estimates of the evidence: as many as 400 draws of 500 points.
_CROSS_DRAWS, _CROSS_LABELS = 400, 200_000

# Numbers of clusters up to which the prior is computed in any case.
_PRIOR_TO = 20

_MOST_LABELS_WEIGHTED = 1_000_000
# Beside the default, 1.5 further components on average and Dirichlet weights of 1/2.
_OTHER_PRIORS: Mapping[str, PartitionPrior] = {
    "finite mixture, half a further component expected": FiniteMixturesPrior(WEIGHT, Geometric(2 / 3)),
    "finite mixture, 1.5 further components expected": FiniteMixturesPrior(WEIGHT, law_of_number()),
    "finite mixture, 6 further components expected": FiniteMixturesPrior(WEIGHT, Geometric(1 / 7)),
    "finite mixture, 1.5 further ones, of more equal sizes": FiniteMixturesPrior(2.0, law_of_number()),
    "Dirichlet process of random concentration": GammaConcentration(2.0, 4.0),
}

MODEL_STEPS: list[Step] = []


def _alone(work: Work) -> bool:
    """Whether a guide stands alone: then simulations are all that it can be checked by."""
    return work.has("guide") and not work.has("mcmc")


def _has_guide(work: Work) -> bool:
    return work.guide is not None


def _see(work: Work) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return what turns simulations into what the data are summarised by."""
    data = work.analysis.data
    if data is None or data.shape is not None:
        return None
    return lambda values: mean_imputed(indicators(values, data.clustered))


def _simulations(work: Work) -> SimulatedDatasets:
    """Simulate data sets like those of the training, once for all steps that look at them."""
    if "simulations" not in work.kept:
        # Simulations know of no constraints.
        picked = work.unconstrained
        simulated = work.kept["simulations"] = simulate_datasets(
            picked.guide,
            work.data,
            seed=work.analysis.seed,
            min_points=picked.min_points,
            max_points=picked.max_points,
            see=_see(work),
        )
        work.analysis.failures += simulated.failures
    simulations: SimulatedDatasets = work.kept["simulations"]
    return simulations


def _has_partition_prior(work: Work) -> bool:
    """Whether the prior probability of a partition of the rows is known; weights of rows change it."""
    prior = getattr(work.model, "partition_prior", None)
    if prior is None or getattr(work.model, "row_weights", None) is not None:
        return False
    return bool(prior.hyperpriors.keys() <= prior.integrated_names)


@as_step(
    MODEL_STEPS,
    # Constraints change it.
    applies=lambda work: work.analysis.constraints is None and _has_partition_prior(work),
    what="The prior of the number of clusters",
)
def prior_num_clusters(work: Work) -> dict[str, np.ndarray]:
    """Compute the prior of the number of clusters in so many rows."""
    analysis = work.analysis
    most = max(_PRIOR_TO, *(int(draws.num_clusters.max()) for draws in analysis.draws.values()))
    log_prior = work.model.partition_prior.log_prob_num_clusters(len(analysis.row_names), most=most)
    return {"values": np.arange(1, len(log_prior) + 1), "probabilities": log_prior.exp().numpy()}


@as_step(
    MODEL_STEPS,
    applies=lambda work: _has_partition_prior(work) and work.has("mcmc"),
    what="The number under other priors",
    of_the_answer=True,
)
def other_priors(work: Work) -> list[dict[str, Any]]:
    """Weight the draws of the answer to other priors of the partition: how many clusters these would find."""
    drawn = work.analysis.reference.draws.flat
    labels = torch.from_numpy(drawn[:: max(1, min(drawn.size // _MOST_LABELS_WEIGHTED, len(drawn) // 50))])
    number = labels.amax(-1).numpy() + 1
    own = work.model.partition_prior
    log_own = own.log_prob(labels)
    rows = []
    for name, prior in _OTHER_PRIORS.items():
        if prior != own:
            weights = (prior.log_prob(labels) - log_own).double().softmax(0).numpy()
            counts = likeliest_of(np.bincount(number, weights))
            share = effective_draws(weights) / len(weights)
            rows.append({"prior": name, **counts, "effective_share": share, "tells": can_tell(share)})
    return rows


@as_step(
    MODEL_STEPS,
    applies=lambda work: work.analysis.constraints is not None and work.unconstrained is not None,
    what="The posterior without the constraints",
    opens=(Question.FREE,),
)
def without_constraints(work: Work) -> None:
    analysis = work.analysis
    assert analysis.constraints is not None
    try:
        log_prior, why = float(work.model.log_prob_constraints()), ""
    except ValueError as error:
        log_prior, why = math.nan, str(error)
    analysis.constraints = replace(analysis.constraints, log_prior=log_prior, why_no_prior=why)
    analysis.constraints = replace(analysis.constraints, free=unconstrained_posterior(work))


@as_step(
    MODEL_STEPS,
    checks=familiarity_findings,
    applies=_has_guide,
    by_default=_alone,
    says="simulating data sets like those of the training",
    what="The familiarity of the data",
    opens=(Question.FAMILIAR,),
)
def familiarity(work: Work) -> Familiarity:
    """Place summaries of the data among those of simulations."""
    data, see = work.analysis.data, _see(work)
    assert data is not None
    rows = data.values if see is None else see(data.values)
    return _simulations(work).familiarity(rows, seed=work.analysis.seed)


@as_step(
    MODEL_STEPS,
    checks=lambda result: (weight_quality_finding(result),),
    applies=lambda work: work.guide is not None and work.model.has_likelihood,
    by_default=never,
    what="The witnesses of the guide",
    opens=(Question.WEIGHT_QUALITY,),
)
def witnesses(work: Work) -> WeightQuality | None:
    """Set figures of the guide's weights beside those on simulations."""
    return _simulations(work).weight_quality()


@as_step(
    MODEL_STEPS,
    checks=lambda result: (certificate_finding(result["passed"], result["tests"]),),
    applies=_alone,
    what="The judgement of the certificate",
    opens=(Question.CERTIFIED,),
)
def certificate(work: Work) -> dict[str, int]:
    """Count the tests that the guide's certificate passed."""
    guide = work.analysis.guide
    stored = None if guide is None or not guide.certificate else Certificate.from_dict(guide.certificate)
    tests = () if stored is None else calibration_findings(stored)
    return {"tests": len(tests), "passed": sum(one.passed is True for one in tests)}


@as_step(
    MODEL_STEPS,
    checks=lambda result: (result.finding,),
    applies=_has_guide,
    by_default=never,
    says="calibrating the guide on simulations near the data",
    what="The calibration of the guide near the data",
    opens=(Question.NEAR,),
)
def calibration(work: Work) -> LocalCalibration:
    """Test the guide on the simulations that are most like the data."""
    guide = work.unconstrained.guide
    return calibrate_near(guide, guide.model, work.data, see=_see(work), seed=work.analysis.seed)


@as_step(MODEL_STEPS, applies=lambda work: work.model is not None, does_more=True, what="The log evidence")
def evidence(work: Work) -> Evidence | None:
    """Gather the estimates that cost nothing; where the evidence was asked for, also those that do."""
    analysis = work.analysis
    estimates: tuple[LogEvidence, ...] = (*_from_guide(work), *work.kept.get("evidences", ()))
    asked = work.asks("evidence")
    if asked and work.data is not None and can_be_annealed(work.model):
        if len(work.data) > MOST_ANNEALED:
            analysis.notes.append(
                f"The log evidence was not estimated by annealing, as there are more than {MOST_ANNEALED} "
                "rows: pyroclust.infer.annealed_log_evidence does it in a time that grows with their square."
            )
        else:
            work.tell("estimating the log evidence by annealing")
            estimates += annealed(work.model, work.data, seed=analysis.seed)
    if not estimates or not (asked or any(one.is_reliable for one in estimates)):
        return None
    return Evidence(estimates)


def _from_guide(work: Work) -> tuple[LogEvidence, ...]:
    analysis = work.analysis
    refining, weights = analysis.results.get("refining"), analysis.results.get("weights")
    if refining is not None and refining.evidences:
        return tuple(refining.evidences)
    if weights is None:
        return ()
    cross = _cross_scored(work) if work.asks("evidence") else None
    if cross is None:
        return (importance_evidence(weights.log_weights),)
    draws = analysis.proposals
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


@as_step(
    MODEL_STEPS,
    applies=lambda work: work.analysis.constraints is not None,
    what="What the constraints say",
    of_the_answer=True,
)
def constraints(work: Work) -> RowConstraints:
    """Compute what the data say of the constraints, and what they changed."""
    analysis, gathered, tries = work.analysis, work.analysis.results.get("evidence"), Attempts()
    known = analysis.constraints
    assert known is not None
    free = known.free
    prior: dict[str, Any] = {"log_prior": known.log_prior, "why_no_prior": known.why_no_prior}
    if free is None:
        why = "there is no posterior without them to compare with"
        odds = ConstraintOdds(**prior, log_posterior=math.nan, error=math.nan, why_no_posterior=why)
        return replace(known, odds=odds)
    if work.model is not None:
        estimates = () if gathered is None else tuple(gathered.estimates)
        odds = constraint_odds(
            estimates, free.evidences, **prior, kept=free.kept, effective_draws=free.effective_draws
        )
        known = replace(known, odds=odds)
    after = analysis.reference.marginals
    effect = tries.value_or_none(
        "What the constraints changed",
        lambda: constraint_effect(free.draws.assignments, after, row_weights=known.row_weights),
    )
    analysis.failures += tries.failures
    return known if effect is None else replace(known, effect=effect, moved=moved_points(effect))


def _may_split(work: Work) -> bool:
    """Say whether a cluster of another shape would be several of the model's."""
    is_one = isinstance(work.model, Mixture) and work.model.row_weights is None and work.model.has_likelihood
    if not is_one:
        return False
    component = work.model.component
    is_normal = isinstance(component, NormalInverseGamma | NormalInverseWishart)
    return is_normal or _has_counts(component)


def _has_counts(component: Any) -> bool:
    if isinstance(component, Product):
        return any(map(_has_counts, component.parts))
    return isinstance(getattr(component, "part", component), PoissonGamma)


def _overdispersed(component: Any) -> Any:
    """Return a family with overdispersed counts in the place of Poisson ones."""
    if isinstance(component, Product):
        return Product([_overdispersed(one) for one in component.parts])
    if isinstance(component, PartlyObserved):
        return PartlyObserved(_overdispersed(component.part), component.num_groups)
    if isinstance(component, PoissonGamma):
        mean = float(component.value("shape")) / float(component.value("rate"))
        return NegativeBinomialBeta(component.dim, mean=mean)
    return component


@as_step(
    MODEL_STEPS,
    checks=lambda result: (split_finding(result),),
    applies=_may_split,
    what="The check for clusters that are split",
    opens=(Question.SPLIT,),
    of_the_answer=True,
)
def split_clusters(work: Work) -> SplitClusters | None:
    analysis, model = work.analysis, work.model
    estimate = analysis.reference.estimate
    if estimate is None:
        return None

    rows, labels = work.data.numpy(), estimate.assignments

    def log_joint(rows: np.ndarray, labels: np.ndarray, *, of: Any = model) -> np.ndarray:
        return np.asarray(of.log_joint(torch.from_numpy(rows), canonical(torch.from_numpy(labels))))

    if _has_counts(model.component):
        drawn = analysis.reference.draws.parameters
        if not model.component.hyperpriors.keys() <= drawn.keys():
            return None
        model = model.given({name: float(np.median(drawn[name])) for name in model.component.hyperpriors})
        others = Mixture(model.prior, _overdispersed(model.component))
        result = overdispersed_clusters(
            labels,
            data=rows,
            log_joint=partial(log_joint, of=model),
            log_joint_of_others=partial(log_joint, of=others),
        )
    else:
        result = find_split(
            labels,
            draws=analysis.reference.some,
            data=rows,
            log_joint=log_joint,
            is_independent=isinstance(model.component, NormalInverseGamma),
        )
    if result is not None and not (finding := split_finding(result)).passed:
        analysis.about["rely"] = with_doubts(analysis.about["rely"], [f"{finding.sentence}."])
    return result


def _has_missing_cells(work: Work) -> bool:
    data = work.analysis.data
    if data is None or data.shape is not None or not has_kernel(work.model):
        return False
    return bool(data.clustered.imputable.any())


@as_step(MODEL_STEPS, applies=_has_missing_cells, what="What the missing cells may hold", of_the_answer=True)
def missing(work: Work) -> MissingCells:
    return missing_cells(work.analysis, seed=work.analysis.seed)
