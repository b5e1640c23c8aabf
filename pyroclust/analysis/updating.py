"""More rows for a table that was clustered: the draws go on, instead of starting over."""

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
import torch

from pyroclust.analysis.found import Found
from pyroclust.analysis.outputs import name_of_run, results_folder, table_content, write_result
from pyroclust.analysis.refining import refine_guide
from pyroclust.arrays import without_gaps
from pyroclust.calibration.training_world import TrainingWorld, simulated_points
from pyroclust.counts import check_count, check_seed
from pyroclust.data.datasets import Source, read_new_rows
from pyroclust.data.kinds import Kind
from pyroclust.data.standardise import indicators
from pyroclust.data.tables import Table
from pyroclust.guides.continued_draws import ContinuedDraws
from pyroclust.large_tables import draws_of
from pyroclust.models import in_words
from pyroclust.progress import lines_instead_of_bars
from pyroclust.protocols import takes_missing
from pyroclust.random_state import seeded
from pyroclust.results.comparison_result import ComparisonResult
from pyroclust.results.guide_alone import GuideAlone, summarise_alone

__all__ = ["update"]

_NAME = "the draws of before, continued"


def update(
    source: "ComparisonResult | str | PathLike[str]",
    new: Source,
    *,
    num_draws: int | None = None,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **reading: Any,
) -> ComparisonResult:
    r"""Add rows to a table that was clustered: its draws go on by sequential Monte Carlo.

    1. Each proposal is a draw of the old rows, to which the exact filter adds the new ones, in one of several
       orders; its weight is the product of the predictive densities of the new rows.
    2. ``num_draws`` of five times as many are resampled by their weights.
    3. Merge-split moves and Gibbs sweeps move all rows until nothing changes, as
       :func:`pyroclust.infer.refine` does.

    The law is that of the same model given all rows, on the scale of the old ones. It is as good as the old
    draws were: the verdict says whether the new ones have settled, and nothing stands beside them. Where the
    new rows are many, or unlike the old ones (:func:`pyroclust.predict` warns), :func:`pyroclust.compare` of
    all rows is the better way. Cost O(S (N + M T) D) for M new rows and T sweeps.

    Args:
        source: what :func:`pyroclust.compare` or this returned, or the folder that it wrote.
        new: rows with the same columns, as :func:`pyroclust.read_table` takes them.
        num_draws: draws to return, at least 10; as :func:`pyroclust.compare` by default.
        out: folder for the same files as :func:`pyroclust.compare` writes; by default nothing is written.
        overwrite: replace the results of another run, and write beside files that are no results.
        seed: same seed, same draws; the caller's random state is left alone.
        progress: called with the name of each stage.
        **reading: how a text file is read, as :func:`pyroclust.read_table` says: ``delimiter``, ``decimal``,
            ``header``.

    Raises:
        ValueError: if the folder holds no comparison, its model is not conjugate, or a column is missing.

    References:
        Chopin (2002), A sequential particle filter method for static models.
        https://doi.org/10.1093/biomet/89.3.539

    Example:
        >>> from pyroclust import compare
        >>> rows = np.concatenate([np.zeros(10), np.ones(10)]) + np.linspace(0, 0.1, 20)
        >>> old = compare(rows, guide="none", mcmc_draws=50, num_chains=2, warmup=50)
        >>> more = update(old, [0.05, 1.05, 9.0], num_draws=50)
        >>> more.frame()["refined_cluster"].tolist()[-3:]
        [0, 1, 2]
    """
    seed, tell = check_seed(seed), progress or (lambda stage: None)
    if num_draws is not None:
        check_count("num_draws", num_draws, at_least=10)
    found = Found.at(source)
    if found.is_constrained:
        raise ValueError(
            "source has rows of which something was known, expected none: compare all rows with what is "
            "known of them"
        )
    added = read_new_rows(new, found.columns, kinds=found.kinds, levels=found.levels, **reading)
    table = _all_rows(found, added)
    law = found.predictive(1, np.random.default_rng(seed))
    model = law.model
    if table.has_missing and not takes_missing(model):
        raise ValueError(
            f"new has missing cells, which model {model.name} cannot take: leave these rows out, or compare "
            "anew"
        )
    num_draws = draws_of(len(table.data)) if num_draws is None else num_draws
    points = (table.data - found.location) / found.scale
    run = name_of_run(
        "update",
        table=table_content(table),
        draws=found.draws,
        weights=np.empty(0) if found.log_weights is None else found.log_weights,
        model=repr(model),
        numbers=(num_draws, seed),
    )
    with results_folder(out, run=run, overwrite=overwrite) as folder, lines_instead_of_bars(tell):
        tell(f"adding {len(added.data):,} rows to {len(found.data):,}")
        data = torch.from_numpy(points)
        chosen = found.some(len(found.draws), np.random.default_rng(seed))
        guide = ContinuedDraws(model, torch.from_numpy(found.draws[chosen]))
        drawn, refined = refine_guide(guide, data, name=_NAME, num_draws=num_draws, seed=seed)
        with seeded(seed):
            simulations = simulated_points(model, data).numpy()
        alone = GuideAlone(
            source=table.name,
            model_name=model.name,
            model_in_words=in_words(model),
            model_description=found.described,
            columns=table.columns,
            data=points,
            location=found.location,
            scale=found.scale,
            kinds=table.kinds,
            levels=table.levels,
            true_labels=table.labels,
            row_names=table.row_names,
            notes=(*added.notes, _about(found, len(added.data))),
            guide_name=_NAME,
            guide=drawn,
            refined=refined,
            world=TrainingWorld(
                without_gaps(indicators(simulations, kinds=table.kinds, levels=table.levels))
            ),
            certificate={},
            why_no_mcmc="the draws of before went on instead of starting over",
        )
        tell("summarising")
        result = ComparisonResult(table, summarise_alone(alone, seed=seed), folder, run)
        if folder is not None:
            tell("writing the report")
            result = write_result(folder, result, draws=alone)
    return result


def _all_rows(found: Found, added: Table) -> Table:
    """Return old and new rows, in the units of the columns."""
    number = len(found.columns)
    names, old = found.row_names, set(found.row_names)
    again = any(name in old for name in added.row_names)
    more = tuple(f"new {name}" if again else name for name in added.row_names)
    labels = None
    if found.labels is not None:
        labels = np.concatenate([found.labels, np.full(len(added.data), None, dtype=object)])
    return Table(
        found.source,
        np.concatenate([found.data * found.scale + found.location, added.data]),
        found.columns,
        labels,
        (*names, *more),
        kinds=found.kinds or (Kind.NUMBER,) * number,
        levels=found.levels or ((),) * number,
    )


def _about(found: Found, number: int) -> str:
    return (
        f"{number:,} rows were added to {len(found.data):,}, on the scale of these: {found.drawn_by} went "
        "on. The estimates of the log evidence are of the new rows given the old ones."
    )
