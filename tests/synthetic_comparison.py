"""A comparison with known answers: points pick labels independently, so log p and log q are exact.

No model is needed: draws are made here, and the steps that ask of draws are taken.
"""

from collections.abc import Callable
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from scipy.special import logsumexp, softmax

from pyroclust.analysis.diagnose import DRAWS_STEPS
from pyroclust.analysis.drawing import DRAWING_STEPS, agree_refined
from pyroclust.analysis.of_the_model import MODEL_STEPS
from pyroclust.analysis.running import judged
from pyroclust.analysis.steps import Settings, Step, Work, complete
from pyroclust.calibration.calibrating import LocalCalibration
from pyroclust.calibration.simulations import SimulatedDatasets
from pyroclust.data.tables import Standardised, Table
from pyroclust.diagnostics import LogEvidence
from pyroclust.diagnostics.findings import settled_finding
from pyroclust.infer.mcmc.refine import Refinement
from pyroclust.partitions import Draws, canonical
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.records import GuideRecord, ModelRecord, Repeat

LOG_EVIDENCE = -123.0


def _partition_log_prob(labels: np.ndarray, log_probs: np.ndarray) -> np.ndarray:
    points = np.arange(labels.shape[-1])
    names = [log_probs[points, np.array(names)[labels]].sum(-1) for names in permutations(range(3))]
    return logsumexp(names, axis=0)


def _sample(rng: np.random.Generator, log_probs: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    noise = rng.gumbel(size=(*shape, *log_probs.shape))
    return (log_probs + noise).argmax(-1)


def _canonical(labels: np.ndarray) -> np.ndarray:
    return canonical(torch.from_numpy(labels)).numpy()


def _sticky(rng: np.random.Generator, log_probs: np.ndarray, chains: int, draws: int) -> np.ndarray:
    fresh = _sample(rng, log_probs, (chains, draws))
    renew = rng.random(fresh.shape) < 0.5
    for step in range(1, draws):
        fresh[:, step] = np.where(renew[:, step], fresh[:, step], fresh[:, step - 1])
    return fresh


def analysis_of(
    *,
    model: str,
    guide: GuideRecord | None,
    data: AnalysedData,
    draws: dict[str, Draws],
    has_likelihood: bool = True,
    **fields: Any,
) -> Analysis:
    """Return an analysis that has its draws, and took no step yet."""
    return Analysis(
        command="compare",
        repeat=Repeat(name="compare", sources=("synthetic",)),
        data=data,
        model=ModelRecord(model, has_likelihood=has_likelihood),
        guide=guide,
        draws=draws,
        about={
            "source": data.table.name,
            "model": model,
            "guide": None if guide is None else guide.name,
            "mcmc_kernel": draws["mcmc"].name if "mcmc" in draws else None,
        },
        **fields,
    )


def table_of(values: np.ndarray, **fields: Any) -> Table:
    """Return a table of numbers, by default with plain names and no labels."""
    numbered = {"name": "synthetic", "columns": tuple(f"measurement_{d + 1}" for d in range(values.shape[1]))}
    names = {"labels": None, "row_names": tuple(str(row + 1) for row in range(len(values)))}
    return Table(data=values, **numbered | names | fields)


def make_comparison(
    *,
    dim: int = 1,
    num_points: int = 60,
    temperature: float = 1.1,
    stuck: bool = False,
    draws: int = 500,
    groups: float = 0.03,
    seed: int = 0,
    notes: tuple[str, ...] = ("Two rows with missing values were left out.",),
    **table: Any,
) -> Analysis:
    """Build draws of a posterior of independent labels, the guide's flattened by ``temperature``.

    ``table`` are fields of the table. The guide was asked for, so that its draws may be the answer.
    """
    rng = np.random.default_rng(seed)
    true_labels = rng.choice(3, p=[0.5, 0.5 - groups, groups], size=num_points)
    centres = np.zeros((3, dim))
    centres[:, 0] = [-1.0, 1.0, 2.2]
    if dim > 1:
        centres[2, 1] = 2.0
    data = centres[true_labels] + 0.45 * rng.standard_normal((num_points, dim))
    squares = ((data[:, None] - centres) ** 2).sum(-1)
    scores = -squares / (2 * 0.5**2) + np.log([0.5, 0.5 - groups, groups])
    target = np.log(softmax(scores, axis=-1) + 1e-12)
    guide = np.log(softmax(scores / temperature, axis=-1) + 1e-12)
    drawn = _sample(rng, guide, (1, 2 * draws))
    chains = _sticky(rng, target, 4, draws)
    if stuck:
        chains[0] = _sticky(rng, np.log(softmax(scores / 4, axis=-1)), 1, draws)[0]
    location, scale = data.mean(0), data.std(0) + 1e-9
    of_points = table_of(10 + 2 * data, **{"labels": true_labels.astype(str).astype(object)} | table)
    points = Standardised((data - location) / scale, 10 + 2 * location, 2 * scale, of_points.columns)
    return analysis_of(
        model="independent labels",
        guide=GuideRecord(f"tempered by {temperature:g}", is_asked_for=True),
        data=AnalysedData(of_points, points),
        draws={
            "mcmc": Draws(
                name="MCMC",
                assignments=_canonical(chains),
                log_joint=LOG_EVIDENCE + _partition_log_prob(chains, target),
                seconds=1.7,
            ),
            "guide": Draws(
                name="guide",
                assignments=_canonical(drawn),
                log_joint=LOG_EVIDENCE + _partition_log_prob(drawn, target),
                log_prob=_partition_log_prob(drawn, guide),
                seconds=0.03,
            ),
        },
        notes=list(notes),
    )


def _refining(work: Work) -> Refinement:
    """Ask of refined draws what the step asks that refines."""
    record: Refinement = work.kept["refining"]
    work.analysis.checks["settled"] = (settled_finding(record.rounds[-1]),)
    if work.has("mcmc"):
        agree_refined(work)
    return record


def _calibration(work: Work) -> LocalCalibration:
    found: LocalCalibration = work.kept["calibration"]
    work.analysis.checks["calibration"] = (found.finding,)
    return found


def _kept(name: str, compute: Callable[[Work], Any]) -> Step:
    return Step(name=name, compute=compute, applies=lambda work: name in work.kept)


_OF_MODELS = {
    "refining": _kept("refining", _refining),
    "calibration": _kept("calibration", _calibration),
}
STEPS = tuple(
    _OF_MODELS.get(step.name, step)
    for step in (*DRAWING_STEPS, *DRAWS_STEPS, *MODEL_STEPS)
    if step.name not in ("mcmc", "guide")
)
"""All steps but those that draw; what refines or simulates takes what it is given."""


def filled(
    found: Analysis,
    *,
    also: tuple[str, ...] = (),
    world: SimulatedDatasets | None = None,
    refining: Refinement | None = None,
    calibration: LocalCalibration | None = None,
    why_no_mcmc: str = "the likelihood has no formula",
    evidences: tuple[LogEvidence, ...] = (),
) -> Analysis:
    """Take the steps that need no model, and give the verdict.

    Args:
        found: with its draws.
        also: steps that are asked for by name.
        world: simulations of the guide.
        refining: how refined draws came about.
        calibration: of the guide near the data.
        why_no_mcmc: where a guide stands alone.
        evidences: that chains gave.
    """
    assert found.model is not None
    model = SimpleNamespace(
        name=found.model.name, has_likelihood=found.model.has_likelihood, is_conjugate=False
    )
    settings = Settings(also=also)
    given = {"simulations": world, "refining": refining, "calibration": calibration, "evidences": evidences}
    work = Work(
        analysis=found,
        settings=settings,
        model=model,
        guide=None if world is None else SimpleNamespace(),
        kept={"why_no_mcmc": why_no_mcmc} | {name: one for name, one in given.items() if one is not None},
    )
    return complete(work, STEPS, judged)
