"""More rows for a table that was clustered: the draws go on, instead of starting over."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Categorical

from pyroclust.analysis.compare import options_given
from pyroclust.analysis.diagnose import DRAWS_STEPS
from pyroclust.analysis.drawing import guide_alone
from pyroclust.analysis.of_the_model import MODEL_STEPS
from pyroclust.analysis.predicting import analysis_of, predictive_law, rows_like, some_draws
from pyroclust.analysis.steps import Work, complete
from pyroclust.core.large_tables import default_num_draws
from pyroclust.core.long_runs import lines_instead_of_bars, progress_bar
from pyroclust.core.machine import single_precision
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.core.random_state import seeded
from pyroclust.data import Source, Table
from pyroclust.diagnostics import judge
from pyroclust.diagnostics.findings import settled_finding
from pyroclust.guides.anchored_guide import ContinuedDraws
from pyroclust.infer import refine
from pyroclust.infer.importance import Clock
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, PartitionKernel, SliceHyperparameters
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.refine import ConvergenceMonitor, Refinement
from pyroclust.infer.mcmc.states import Trace
from pyroclust.models import PosteriorPredictive
from pyroclust.partitions import Draws, canonical
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.files import name_of_run, results_folder, table_content
from pyroclust.results.records import GuideRecord, Repeat

_NAME = "the draws of before, continued"
_WHY = "the draws of before went on instead of starting over"
_ABOUT_EVIDENCE = "The estimates of the log evidence are of the new rows given the old ones."
_OLD_ROWS_STAY = (
    "The old rows keep the labels that each draw has for them, and the new ones were moved alone, given "
    "these: what they say of old labels is left out. Compare all rows where that matters."
)
# Old rows up to which these are moved too; beyond, draws that go on, by labels, and sweeps over the new rows.
_MOST_MOVED, _USUAL_DRAWS, _FEWEST_DRAWS, _ALL_LABELS, _SWEEPS = 5000, 200, 50, 2_000_000, 16


@single_precision()
def update(
    source: "Analysis | str | PathLike[str]",
    new: Source,
    *,
    num_draws: int | None = None,
    aggregate: str | None = None,
    refuse_unseen: bool = False,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **reading: Any,
) -> Analysis:
    r"""Add rows to a table that was clustered: its draws go on by sequential Monte Carlo.

    1. Each proposal is a draw of the old rows, to which the exact filter adds the new ones, in one of several
       orders; its weight is the product of the predictive densities of the new rows.
    2. ``num_draws`` of five times as many are resampled by their weights.
    3. Merge-split moves and Gibbs sweeps move all rows until nothing changes, as
       :func:`pyroclust.infer.refine` does.

    The law is that of the same model given all rows, on the scale of the old ones. It is as good as the old
    draws were. Where the new rows are many, or unlike the old ones (:func:`pyroclust.predict` warns),
    :func:`pyroclust.compare` of all rows is better.

    Beyond 5,000 old rows these stay as each draw has them, and count in its clusters: Gibbs sweeps move the
    new rows alone, exactly given the old labels, and may open clusters. What is left out is what new rows say
    of the labels of old ones, and of which draws are likelier; a note says so. Cost O(S (N + M T) K D), and
    O(S (N + M T) K D^2) for full covariances: one pass over the N old rows a draw, T = 16 sweeps over the M
    new ones.

    Args:
        source: what :func:`pyroclust.compare` or this returned, or the folder that it wrote.
        new: rows with the same columns, as :func:`pyroclust.read_table` takes them.
        num_draws: draws to return, at least 10; as :func:`pyroclust.compare` by default.
        aggregate: column that says what each new row is of: its rows become one.
        refuse_unseen: refuse a category that no row had; by default its cell is taken as missing.
        out: folder for the same files as :func:`pyroclust.compare` writes; by default nothing is written.
        overwrite: replace the results of another run, and write beside files that are no results.
        seed: same seed, same draws.
        progress: called with the name of each stage.
        **reading: how a text file is read, as :func:`pyroclust.read_table` says.

    Raises:
        ValueError: if the folder holds no comparison, its model is not conjugate, or a column is missing.

    References:
        Chopin (2002), A sequential particle filter method for static models.
        https://doi.org/10.1093/biomet/89.3.539

    Example:
        >>> from pyroclust import cluster
        >>> rows = np.concatenate([np.zeros(10), np.ones(10)]) + np.linspace(0, 0.1, 20)
        >>> old = cluster(rows, mcmc_draws=50, num_chains=2, warmup=50)
        >>> more = update(old, [0.05, 1.05, 9.0], num_draws=50)
        >>> more.frame()["cluster"].tolist()[-3:]
        [1, 2, 3]
    """
    options = options_given(update, locals())
    seed, tell = check_seed(seed), progress or (lambda stage: None)
    if num_draws is not None:
        check_count("num_draws", num_draws, at_least=10)
    analysis, old, model = analysis_of(source)
    if old.table.weights is not None:
        raise ValueError("source has rows with weights, expected none: compare all rows with their weights")
    if (
        analysis.constraints is not None
        or analysis.about.get("constrained")
        or analysis.about.get("clusters")
    ):
        raise ValueError(
            "source has constraints on its rows, expected none: compare all rows, under their constraints"
        )
    points, model = old.points, predictive_law(analysis, old, model, num_draws=1).model
    beside = {"aggregate": aggregate, "refuses_unseen": refuse_unseen}
    added = rows_like(old, new, model, **beside, **reading)
    table = _all_rows(old, added)
    is_large = len(old.values) > _MOST_MOVED
    usual = max(_FEWEST_DRAWS, min(_USUAL_DRAWS, _ALL_LABELS // len(table.data)))
    if num_draws is None:
        num_draws = usual if is_large else default_num_draws(len(table.data))
    draws = some_draws(analysis, num_draws if is_large else analysis.reference.draws.num_draws)
    run = name_of_run(
        "update",
        table=table_content(table),
        draws=draws.numpy(),
        model=repr(model),
        numbers=(num_draws, seed),
    )
    repeat = Repeat.of("update", (source, new), options, seed=seed, run=run)
    scaled = replace(points, data=(table.data - points.location) / points.scale, notes=())
    of_before = [] if analysis.folder is None else [analysis.folder]
    reserved = results_folder(out, run=run, command=repeat.command, overwrite=overwrite, inputs=of_before)
    with reserved as folder, lines_instead_of_bars(tell):
        tell(f"adding {len(added.data):,} rows to {len(old.values):,}")
        data = torch.from_numpy(scaled.data)
        made, note = dict[str, Draws](), _OLD_ROWS_STAY
        if is_large:
            moved, record = _with_old_rows_as_drawn(model, draws, data, seed=seed)
        else:
            moved, record = refine(model, ContinuedDraws(model, draws), data, num_draws=num_draws, seed=seed)
            made, note = _proposed(record, num_draws), _ABOUT_EVIDENCE
        analysis = Analysis(
            command="update",
            data=AnalysedData(table, scaled),
            model=analysis.model,
            guide=GuideRecord(_NAME),
            draws={**made, "refined": replace(moved, name=f"{_NAME}, refined")},
            results={"refining": record},
            seed=seed,
            about={
                **{
                    name: analysis.about.get(name)
                    for name in ("columns", "points", "model", "model_in_words")
                },
                "source": table.name,
                "num_points": len(table.data),
                "guide": _NAME,
            },
            introduction=(
                f"{len(table.data):,} rows. The draws of before went on instead of starting over; there is "
                "no MCMC to compare with."
            ),
            notes=[
                *added.notes,
                f"{len(added.data):,} rows were added to {len(old.values):,}, on the scale of these: "
                f"{analysis.reference.draws.name} went on. {note}",
            ],
            repeat=repeat,
            folder=folder,
        )
        analysis.checks["agreement"] = guide_alone(_WHY)
        analysis.checks["settled"] = (settled_finding(record.rounds[-1] if record.rounds else None),)
        work = Work(analysis=analysis, tell=tell, model=model, data=data)
        return complete(
            work,
            (*DRAWS_STEPS, *MODEL_STEPS),
            lambda work: analysis.conclude(judge(analysis.checks, chains=None)),
        )


def _proposed(record: Refinement, num_draws: int) -> dict[str, Draws]:
    """Return what was weighted before sweeps, all of it, and as many as there are draws."""
    proposals = replace(record.proposals, name=_NAME)
    each = proposals.num_draws // num_draws
    some = slice(None, None, each)
    shown = replace(
        proposals,
        assignments=proposals.assignments[:, some],
        log_joint=None if proposals.log_joint is None else proposals.log_joint[:, some],
        log_prob=None if proposals.log_prob is None else proposals.log_prob[:, some],
        seconds=proposals.seconds / each,
    )
    return {"guide": shown, "proposals": proposals}


def _with_old_rows_as_drawn(
    model: Any, draws: Tensor, data: Tensor, *, seed: int
) -> tuple[Draws, Refinement]:
    """Add rows to each draw of old ones by Gibbs sweeps over the new rows alone."""
    number, old = draws.shape
    clock, ancestors = Clock(), np.arange(number)
    with clock.timed("prepare"):
        kernels: list[PartitionKernel] = [CollapsedGibbs(model, begin=old)]
        if model.hyperpriors.keys() - model.prior.integrated_names:
            kernels.insert(0, SliceHyperparameters(model))
        starts = _with_new_rows(model, draws, data, seed=seed)
        chains = Chains(Compose(kernels), data, starts, seed=seed)
    with progress_bar("draws", 2 * number, shown=False) as tell, clock.timed("sweep"):
        chains.advance(_SWEEPS // 2, tell=lambda done: tell(done, ""))
        before = chains.states
        chains.advance(_SWEEPS // 2, tell=lambda done: tell(number + done, ""))
    look = ConvergenceMonitor(before, ancestors=ancestors, seed=seed).look_again(
        chains.states, sweeps=_SWEEPS
    )
    moved = Trace.of_rows([chains.states]).draws(_NAME, seconds=sum(clock.seconds.values()))
    record = Refinement(
        ancestors=ancestors,
        kernel="gibbs, of the new rows alone",
        proposals=Draws(name=_NAME, assignments=draws.numpy()[None]),
        is_exact=False,
        num_orders=1,
        rounds=(look,),
        seconds=clock.seconds,
    )
    return replace(moved, assignments=moved.assignments.astype(np.int32)), record


def _with_new_rows(model: Any, draws: Tensor, data: Tensor, *, seed: int) -> Tensor:
    """Return draws of old rows with new ones, which are drawn given the first, ``(S, N)``.

    In the other draws they are in the clusters that share most rows with those.
    """
    old, clusters = draws.shape[-1], int(draws.max()) + 1
    law = PosteriorPredictive(model, data[:old], draws[:1].long())
    with seeded(seed):
        first = Categorical(logits=law.log_cluster_probs(data[old:])[:, 0]).sample()
    labels, each = draws.long(), torch.arange(len(draws)).unsqueeze(-1)
    cells = (each * clusters + labels[0]) * clusters + labels
    shared = torch.bincount(cells.flatten(), minlength=len(draws) * clusters**2)
    names = shared.view(-1, clusters, clusters).argmax(-1)[:, first.clamp(max=clusters - 1)]
    opened = torch.where(first > labels[0].max(), labels.amax(-1, keepdim=True) + 1, names)
    return canonical(torch.cat([labels, opened], -1))


def _all_rows(old: AnalysedData, added: Table) -> Table:
    """Return old and new rows, in the units of the columns."""
    before = old.clustered
    names, more = set(before.row_names), added.row_names
    while names.intersection(more):
        more = tuple(f"new {name}" for name in more)
    labels = before.labels
    if labels is not None:
        labels = np.concatenate([labels, np.full(len(added.data), None, dtype=object)])
    return replace(
        before,
        data=np.concatenate([before.data, added.data]),
        labels=labels,
        row_names=(*before.row_names, *more),
        notes=(),
        doubts=(),
        partial_labels=None,
        weights=None,
    )
