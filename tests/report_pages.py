"""One page of each kind, with names that mean something in HTML."""

import dataclasses
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from certificate_cases import stored_certificate
from near_cases import near_case
from synthetic_comparison import make_comparison

from pyroclust.analysis.cluster import cluster
from pyroclust.analysis.diagnose import diagnose
from pyroclust.calibration.training_world import TrainingWorld
from pyroclust.diagnostics import EvidenceMethod, Finding, LogEvidence, Round
from pyroclust.partitions import Draws
from pyroclust.report import Page, page_of, render_page
from pyroclust.results.comparison import Comparison, PartitionDraws
from pyroclust.results.comparison_figures import summarise
from pyroclust.results.comparison_summary import ComparisonSummary
from pyroclust.results.constraints import FreePosterior, Knowledge, KnownRows
from pyroclust.results.diagnosis import Diagnosis
from pyroclust.results.forest import ForestClustering
from pyroclust.results.guide_alone import AloneSummary, GuideAlone, summarise_alone
from pyroclust.results.mcmc_alone import McmcAlone, McmcSummary, summarise_mcmc
from pyroclust.results.refinement import RefinedDraws

HOSTILE = "<script>alert(1)</script> & \"co\" 'x'"
LONG = "a_column_whose_name_nobody_would_call_short_and_that_has_no_space_to_break_at"

KINDS = (
    "one column",
    "many columns",
    "refined",
    "no weights",
    "alone",
    "no guide",
    "constraints",
    "forest",
    "draws",
    "two sources",
)


def comparison_case(*, dim: int = 1, **changes: Any) -> ComparisonSummary:
    comparison = make_comparison(dim=dim, num_points=40, draws=200)
    return summarise(dataclasses.replace(comparison, **changes))


def refined_comparison(
    *, temperature: float = 1.1, stuck: bool = False, settled: bool = True, shift: float = 0.0
) -> Comparison:
    """Make a comparison whose refined draws are those of MCMC, of a guide with 1,000 proposals.

    Args:
        temperature: of the guide.
        stuck: whether a chain of MCMC is.
        settled: whether the refined draws are said to be.
        shift: nats by which the evidence of the last of four visiting orders is off.
    """
    settings = {"temperature": temperature, "num_points": 30, "draws": 500}
    found = make_comparison(**settings, stuck=stuck)
    target = make_comparison(**settings, seed=0)
    guide = found.guide
    assert guide.log_joint is not None
    assert guide.log_prob is not None
    log_prob = guide.log_prob - shift * np.repeat([0, 0, 0, 1], 250)
    proposals = replace(guide, log_prob=log_prob, num_orders=4)
    drawn = PartitionDraws(
        "guide", guide.assignments[:, ::5], guide.log_joint[:, ::5], guide.seconds / 5, log_prob[:, ::5]
    )
    assert target.mcmc.log_joint is not None
    some = slice(None, None, 10)
    refined = RefinedDraws(
        draws=PartitionDraws(
            "refined draws",
            target.mcmc.assignments[:, some].reshape(1, 200, 30),
            target.mcmc.log_joint[:, some].reshape(1, 200),
            0.5,
        ),
        proposals=proposals,
        is_exact=True,
        kernel="Gibbs sweeps",
        num_ancestors=180,
        seen=(
            Round(10, 0.002, "num_clusters", -0.4, 1.08, 0.01, 150.0, 200),
            Round(20, 0.4 if settled else 0.003, "entropy", 0.01, 1.01, 0.2, 190.0, 200),
        ),
        pareto_k=0.3,
        efficiency=0.5,
        evidences=(LogEvidence(EvidenceMethod.BRIDGE, -123.0, 0.02, 0.1),),
        seconds_of={"draw": 0.1, "weigh": 0.1, "sweep": 0.3, "look": 0.2},
    )
    return replace(found, guide=drawn, refined=refined)


def without_likelihood(comparison: Comparison) -> Comparison:
    """Forget every log joint, as where the family is not conjugate, and all that needs it."""
    refined = comparison.refined
    if refined is not None:
        refined = replace(
            refined,
            draws=replace(refined.draws, log_joint=None),
            proposals=replace(refined.proposals, log_joint=None),
            pareto_k=np.nan,
            efficiency=np.nan,
            evidences=(),
        )
    return replace(
        comparison,
        guide=replace(comparison.guide, log_joint=None),
        mcmc=replace(comparison.mcmc, log_joint=None),
        refined=refined,
    )


def alone_case(**changes: Any) -> AloneSummary:
    rng = np.random.default_rng(0)
    labels = np.zeros((1, 40, 12), dtype=np.int64)
    labels[:, :, 6:] = 1
    labels[:, :10, 9:] = 2
    fields: dict[str, Any] = {
        "source": "made up",
        "model_name": "warped_clusters",
        "guide_name": "a guide",
        "columns": ("x", "y"),
        "data": rng.standard_normal((12, 2)),
        "guide": PartitionDraws("a guide", labels, None, 0.08, np.zeros((1, 40))),
        "world": TrainingWorld(rng.standard_normal((199, 12, 2))),
        "certificate": stored_certificate(True),
        "location": np.zeros(2),
        "scale": np.ones(2),
    }
    return summarise_alone(GuideAlone(**fields | changes))


def mcmc_case(**changes: Any) -> McmcSummary:
    comparison = make_comparison(dim=2, num_points=40, draws=200)
    names = {one.name for one in dataclasses.fields(McmcAlone)}
    fields = {name: value for name, value in vars(comparison).items() if name in names}
    return summarise_mcmc(
        McmcAlone(**fields | {"model_in_words": "The model: independent labels."} | changes)
    )


def known_rows(names: tuple[str, ...]) -> KnownRows:
    """Say of some rows that they are together, of others that they are apart."""
    pairs = np.array([[0, 1], [1, 2]]), np.array([[0, 3]])
    return KnownRows(names, ((0, 1, 2),), *pairs, None, pairs[1], np.arange(4))


def constrained_case() -> McmcSummary:
    """Return chains under constraints, beside others that know of none."""
    free = make_comparison(dim=2, num_points=40, draws=200, seed=0).mcmc
    kept = free.assignments[..., 0] != free.assignments[..., 3]
    evidence = LogEvidence(EvidenceMethod.ANNEALED, -123.0, 0.1, np.nan, 0.2)
    asked = (Finding("Did MCMC without constraints converge?", 1.0, 1.05, True, "R-hat 1"),)
    names = (HOSTILE, *(f"row {row}" for row in range(2, 41)))
    knowledge = Knowledge(known_rows(names), -3.0, "", FreePosterior(free, kept, 500.0, (evidence,), asked))
    moved = replace(free, assignments=free.assignments[:, ::-1])
    return mcmc_case(source=HOSTILE, row_names=names, knowledge=knowledge, mcmc=moved)


def forest_case() -> ForestClustering:
    """Return spanning forests of a table whose columns mean something in HTML, under constraints."""
    frame = pd.DataFrame(make_comparison(dim=2, num_points=30, draws=10).data, columns=[HOSTILE, LONG])
    return cluster(frame, num_clusters=3, must_link=[(0, 1)], cannot_link=[(2, 3)], num_draws=100)


def diagnosis_case(*, beside: bool) -> Diagnosis:
    """Return draws alone, or beside a second source and their data."""
    comparison = make_comparison(dim=2, num_points=30, draws=60)
    mine = Draws(name=HOSTILE, assignments=comparison.mcmc.assignments)
    if not beside:
        return diagnose(mine)
    frame = pd.DataFrame(comparison.data, columns=[HOSTILE, LONG])
    return diagnose(mine, Draws(name=LONG, assignments=comparison.guide.assignments), data=frame)


@cache
def result(kind: str) -> ComparisonSummary | AloneSummary | McmcSummary | Diagnosis | ForestClustering:
    """Return a result for one kind of page."""
    if kind == "one column":
        names = (HOSTILE, *(f"row {row}" for row in range(2, 41)))
        return comparison_case(source=HOSTILE, row_names=names, calibration=near_case())
    if kind == "many columns":
        columns = (HOSTILE, LONG, *(f"measurement_{d}" for d in range(2, 12)))
        notes = (f"The first: {HOSTILE}", f"The second: {LONG}")
        return comparison_case(dim=12, columns=columns, notes=notes)
    if kind == "refined":
        return summarise(replace(refined_comparison(temperature=3.0, shift=3.0), source=HOSTILE))
    if kind == "no weights":
        return summarise(without_likelihood(refined_comparison(temperature=3.0)))
    if kind == "alone":
        return alone_case(source=LONG, columns=("x", HOSTILE), calibration=near_case(wrong=True))
    if kind == "no guide":
        return mcmc_case(source=LONG, columns=("x", HOSTILE), model_in_words=HOSTILE)
    if kind == "constraints":
        return constrained_case()
    if kind == "forest":
        return forest_case()
    return diagnosis_case(beside=kind == "two sources")


@cache
def page(kind: str) -> Page:
    """Return one kind of page."""
    return page_of(result(kind))


@cache
def written(kind: str) -> str:
    """Return the HTML of one kind of page."""
    return render_page(page(kind))
