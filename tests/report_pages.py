"""One page of each kind, with names that mean something in HTML."""

from dataclasses import replace
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from synthetic_comparison import analysis_of, filled, make_comparison, table_of
from torch import Tensor

from pyroclust import calibrate_near, diagnose, forest
from pyroclust.analysis.diagnose import DRAWS_STEPS
from pyroclust.analysis.steps import Settings, Work, run_steps
from pyroclust.calibration import Certificate
from pyroclust.calibration.calibrating import LocalCalibration
from pyroclust.calibration.certificate import CalibrationRow, SampledRow, certificate_content
from pyroclust.calibration.simulations import SimulatedDatasets
from pyroclust.data.tables import Standardised
from pyroclust.diagnostics import EvidenceMethod, Finding, LogEvidence
from pyroclust.diagnostics.short_chains import CheckedRound
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc.refine import Refinement
from pyroclust.models import overlap2d
from pyroclust.partitions import Draws
from pyroclust.report import Page, page_of, render_page
from pyroclust.report.parts import DPI
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.records import GuideRecord
from pyroclust.results.step_results import FreePosterior, RowConstraints

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
RENDERED = ("one column", "alone", "constraints")
"""Those whose pictures are rendered: between them they have every picture that a page can have."""
EVERY = ("two_samples", "baselines", "evidence")
"""Steps on draws that are not taken by default."""


def comparison_case(*, dim: int = 1, **changes: Any) -> Analysis:
    """Return a guide beside MCMC, with all that draws can be asked."""
    near = changes.pop("calibration", None)
    return filled(make_comparison(dim=dim, num_points=40, draws=200, **changes), also=EVERY, calibration=near)


def refined_comparison(
    *, temperature: float = 1.1, stuck: bool = False, shift: float = 0.0, has_likelihood: bool = True
) -> Analysis:
    """Return draws of a guide with 1,000 proposals, and refined ones, which are those of MCMC.

    Args:
        temperature: of the guide.
        stuck: whether a chain of MCMC is.
        shift: nats by which the evidence of the last of four visiting orders is off.
        has_likelihood: whether partitions have a log joint.
    """
    settings: dict[str, Any] = {"temperature": temperature, "num_points": 30, "draws": 500}
    found = make_comparison(**settings, stuck=stuck)
    target = make_comparison(**settings, seed=0).draws["mcmc"]
    every = found.draws["guide"]
    assert every.log_prob is not None
    proposals = replace(every, log_prob=every.log_prob - shift * np.repeat([0, 0, 0, 1], 250))
    some = slice(None, None, 10)
    assert target.log_joint is not None
    refined = Draws(
        name="refined draws",
        assignments=target.assignments[:, some].reshape(1, 200, 30),
        log_joint=target.log_joint[:, some].reshape(1, 200),
        seconds=0.5,
    )
    found.draws |= {
        "guide": _each_fifth(proposals),
        "proposals": proposals,
        "refined": refined,
    }
    assert found.guide is not None
    found.guide = replace(found.guide, num_orders=4)
    if not has_likelihood:
        assert found.model is not None
        found.draws = {name: replace(one, log_joint=None) for name, one in found.draws.items()}
        found.model = replace(found.model, has_likelihood=False)
    return found


def _each_fifth(draws: Draws) -> Draws:
    assert draws.log_joint is not None
    assert draws.log_prob is not None
    every = slice(None, None, 5)
    return replace(
        draws,
        assignments=draws.assignments[:, every],
        log_joint=draws.log_joint[:, every],
        log_prob=draws.log_prob[:, every],
        seconds=draws.seconds / 5,
    )


def refinement(found: Analysis, *, settled: bool = True) -> Refinement:
    """Say how refined draws came about, from 180 of the proposals."""
    has_weights = found.proposals.log_joint is not None
    return Refinement(
        ancestors=np.arange(200) % 180,
        kernel="Gibbs sweeps",
        proposals=found.proposals,
        is_exact=True,
        num_orders=4,
        evidences=(LogEvidence(EvidenceMethod.BRIDGE, -123.0, 0.02, 0.1),) if has_weights else (),
        rounds=(
            CheckedRound(10, 0.002, "num_clusters", -0.4, 1.08, 0.01, 150.0, 200),
            CheckedRound(20, 0.4 if settled else 0.003, "entropy", 0.01, 1.01, 0.2, 190.0, 200),
        ),
        seconds={"draw": 0.1, "weigh": 0.1, "sweep": 0.3, "look": 0.2},
    )


def refined_case(*, settled: bool = True, source: str = "synthetic", **settings: Any) -> Analysis:
    """Return refined draws with all that draws can be asked; ``settings`` as above."""
    found = refined_comparison(**settings)
    assert found.data is not None
    found.data = replace(found.data, table=replace(found.data.table, name=source))
    return filled(found, also=EVERY, refining=refinement(found, settled=settled))


def alone_comparison(
    *,
    data: np.ndarray | None = None,
    certificate: dict[str, Any] | None = None,
    location: tuple[float, float] = (0.0, 0.0),
    **table: Any,
) -> Analysis:
    """Return a guide's draws of a model whose likelihood has no formula."""
    rng = np.random.default_rng(0)
    labels = np.zeros((1, 40, 12), dtype=np.int64)
    labels[:, :, 6:] = 1
    labels[:, :10, 9:] = 2
    # Drawn in any case, so that what follows is the same.
    drawn = rng.standard_normal((12, 2))
    data = drawn if data is None else data
    of_points = table_of(data + np.array(location), **{"name": "made up", "columns": ("x", "y")} | table)
    points = Standardised(data, np.array(location), np.ones(2), of_points.columns)
    certificate = stored_certificate(True) if certificate is None else certificate
    return analysis_of(
        model="warped_clusters",
        guide=GuideRecord("a guide", certificate=certificate, is_asked_for=True),
        data=AnalysedData(of_points, points),
        draws={"guide": Draws(name="a guide", assignments=labels, log_prob=np.zeros((1, 40)), seconds=0.08)},
        has_likelihood=False,
    )


def alone_world(**fields: Any) -> SimulatedDatasets:
    """Return simulations that look like the data of the guide alone."""
    rng = np.random.default_rng(0)
    rng.standard_normal((12, 2))
    return SimulatedDatasets(rng.standard_normal((199, 12, 2)), **fields)


def alone_case(*, near: Any = None, world: SimulatedDatasets | None = None, **changes: Any) -> Analysis:
    """Return a guide that nothing stands beside, with all that draws can be asked."""
    return filled(
        alone_comparison(**changes),
        also=EVERY,
        world=alone_world() if world is None else world,
        calibration=near,
    )


def mcmc_comparison(*, model_in_words: str = "The model: independent labels.", **changes: Any) -> Analysis:
    """Return chains without a guide."""
    found = make_comparison(dim=2, num_points=40, draws=200, **changes)
    assert found.model is not None
    found.guide, found.about["guide"] = None, None
    del found.draws["guide"]
    found.model = replace(found.model, in_words=model_in_words)
    return found


def mcmc_case(*, evidences: tuple[LogEvidence, ...] = (), **changes: Any) -> Analysis:
    """Return chains without a guide, with all that draws can be asked."""
    return filled(mcmc_comparison(**changes), also=EVERY, evidences=evidences)


def constrained_case() -> Analysis:
    """Return chains under constraints, beside others that know of none."""
    names = (HOSTILE, *(f"row {row}" for row in range(2, 41)))
    found = mcmc_comparison(name=HOSTILE, row_names=names)
    free = found.draws["mcmc"]
    kept = free.assignments[..., 0] != free.assignments[..., 3]
    evidence = LogEvidence(EvidenceMethod.ANNEALED, -123.0, 0.1, np.nan, 0.2)
    asked = (Finding("Did MCMC without constraints converge?", 1.0, 1.05, True, "R-hat 1"),)
    found.constraints = RowConstraints(
        row_names=names,
        groups=((0, 1, 2),),
        must_link=np.array([[0, 1], [1, 2]]),
        cannot_link=np.array([[0, 3]]),
        labels=None,
        apart=np.array([[0, 3]]),
        bound=np.arange(4),
        log_prior=-3.0,
        why_no_prior="",
        free=FreePosterior(free, kept, 500.0, (evidence,), asked),
    )
    found.draws["mcmc"] = replace(free, assignments=free.assignments[:, ::-1])
    return filled(found, also=EVERY)


def forest_case() -> Analysis:
    """Return spanning forests of a table whose columns mean something in HTML, under constraints."""
    data = make_comparison(dim=2, num_points=30, draws=10).data
    assert data is not None
    frame = pd.DataFrame(data.values, columns=[HOSTILE, LONG])
    found = forest(frame, num_clusters=3, must_link=[(0, 1)], cannot_link=[(2, 3)], num_draws=100)
    asked = Work(analysis=found, settings=Settings(also=["baselines"]))
    run_steps(asked, DRAWS_STEPS, of_the_answer=True)
    return found


def diagnosis_case(*, beside: bool) -> Analysis:
    """Return draws alone, or beside a second source and their data."""
    comparison = make_comparison(dim=2, num_points=30, draws=60)
    mine = Draws(name=HOSTILE, assignments=comparison.draws["mcmc"].assignments)
    if not beside:
        return diagnose(mine)
    assert comparison.data is not None
    frame = pd.DataFrame(comparison.data.values, columns=[HOSTILE, LONG])
    return diagnose(mine, Draws(name=LONG, assignments=comparison.draws["guide"].assignments), data=frame)


@cache
def result(kind: str) -> Analysis:
    """Return a result for one kind of page."""
    if kind == "one column":
        names = (HOSTILE, *(f"row {row}" for row in range(2, 41)))
        return comparison_case(name=HOSTILE, row_names=names, calibration=near_case())
    if kind == "many columns":
        columns = (HOSTILE, LONG, *(f"measurement_{d}" for d in range(2, 12)))
        notes = (f"The first: {HOSTILE}", f"The second: {LONG}")
        return comparison_case(dim=12, columns=columns, notes=notes)
    if kind == "refined":
        return refined_case(temperature=3.0, shift=3.0, source=HOSTILE)
    if kind == "no weights":
        return refined_case(temperature=3.0, has_likelihood=False)
    if kind == "alone":
        return alone_case(name=LONG, columns=("x", HOSTILE), near=near_case(wrong=True))
    if kind == "no guide":
        return mcmc_case(name=LONG, columns=("x", HOSTILE), model_in_words=HOSTILE)
    if kind == "constraints":
        return constrained_case()
    if kind == "forest":
        return forest_case()
    return diagnosis_case(beside=kind == "two sources")


@cache
def page(kind: str) -> Page:
    """Return one kind of page."""
    return page_of(result(kind))


def blank(figure: Any) -> bytes:
    """Return an empty picture as large as a figure."""
    found, (width, height) = BytesIO(), figure.get_size_inches() * DPI
    Image.new("P", (round(width), round(height))).save(found, format="png")
    return found.getvalue()


@cache
def written(kind: str) -> str:
    """Return the HTML of one kind of page; of most with blank pictures, which are drawn and not rendered."""
    with pytest.MonkeyPatch.context() as patch:
        if kind not in RENDERED:
            patch.setattr("pyroclust.report.parts._palette_png", blank)
        return render_page(page(kind))


def exact(data: Tensor) -> Tensor:
    partitions, log_probs = exact_posterior(overlap2d(), data)
    return partitions[torch.distributions.Categorical(logits=log_probs).sample((19,))]


def one_cluster(data: Tensor) -> Tensor:
    return torch.zeros(19, *data.shape[:2], dtype=torch.int64)


@cache
def near_case(*, wrong: bool = False, far: bool = False) -> LocalCalibration:
    data = torch.tensor([[0.0, 0.0], [0.3, 0.1], [1.5, 1.0], [1.2, -0.4]]) * (1e3 if far else 1.0)
    sampler = one_cluster if wrong else exact
    return calibrate_near(
        sampler, overlap2d(), data, num_simulations=600, num_nearest=200, num_draws=19, seed=1
    )


def stored_certificate(*passed: bool) -> dict[str, Any]:
    """Return a certificate with a test of calibration each, and weights that fail."""
    ranks = {True: (50, 50, 50, 50), False: (200, 0, 0, 0)}
    calibration = tuple(
        CalibrationRow(f"functional_{number}", 30, 200, 99, ranks[one]) for number, one in enumerate(passed)
    )
    sampled = SampledRow(30, 200, 99, 0.1, 0.1, 0.1, -1.0, -1.0, share_high_k=0.9)
    return certificate_content(Certificate(1, sampled=(sampled,), calibration=calibration))
