"""``pyroclust.forest``: a table in, spanning forests of perturbed similarities out; no model."""

import math
import time
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import torch

from pyroclust.analysis.constraining import Known, known_of
from pyroclust.analysis.finishing import finished
from pyroclust.analysis.of_draws import DRAWS_STEPS
from pyroclust.analysis.of_the_model import MODEL_STEPS
from pyroclust.analysis.repeating import arguments_of, command_line
from pyroclust.analysis.steps import Settings, Work, run_steps
from pyroclust.constraints import Constraints
from pyroclust.counts import check_count, check_number, check_seed
from pyroclust.data.datasets import Source, read_table
from pyroclust.data.pairs import PairsLike, read_pairs
from pyroclust.data.standardise import Standardised, principal_components, standardise, unscaled
from pyroclust.data.tables import Table
from pyroclust.diagnostics.draws.pairs import about_pairs
from pyroclust.diagnostics.verdicts.forests import judge_forest
from pyroclust.distributions import PerturbedSpanningForest, standardised_similarity
from pyroclust.memory import check_memory
from pyroclust.models.standardised import named_prior
from pyroclust.partitions import Draws
from pyroclust.random_state import seeded
from pyroclust.results.analysis import Analysis
from pyroclust.results.answer import reliance
from pyroclust.results.constraints import FreePosterior, Knowledge
from pyroclust.results.data import AnalysedData
from pyroclust.results.files import name_of_run, results_folder, table_content
from pyroclust.results.records import Repeat
from pyroclust.threads import single_precision

__all__ = ["NOISE_SCALE", "forest"]

NOISE_SCALE = 0.1
"""In standard deviations of the similarities: the least of those that were published."""
_USUAL_DRAWS = 1000
# Similarities, their perturbed copies and squares, eight bytes each.
_BYTES_A_PAIR = 6 * 8
# Similarities are standardised: what is smaller is rounding.
_ROUNDING = 1e-6


@single_precision()
def forest(
    source: Source,
    *,
    num_clusters: int | None = None,
    prior: str | None = None,
    concentration: float | None = None,
    expected_clusters: float | None = None,
    noise_scale: float = NOISE_SCALE,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    pca: int | None = None,
    raw: bool = False,
    must_link: PairsLike | None = None,
    cannot_link: PairsLike | None = None,
    partial_labels: str | None = None,
    num_draws: int = _USUAL_DRAWS,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **reading: Any,
) -> Analysis:
    r"""Cluster the rows of a table by the trees of heaviest spanning forests, with noise on the similarities.

    .. math::
        S_{ij} = \frac{-|x_i - x_j|^2 - m}{s}, \qquad
        c = \text{trees of the heaviest forest of } k \text{ trees at } S + \epsilon Z

    with m and s the mean and the standard deviation over the pairs of rows, and columns of mean 0 and
    variance
    1. Without noise it is single linkage. The noise says how sure the clusters are; no model of the data
    sets it, so that these are no posterior probabilities. Where constraints are given, every forest keeps
    them, and the result says what they changed: this costs as many forests without them.

    Cost: O(N^2) a draw and :math:`48 N^2` bytes.

    Args:
        source: built-in name, file, data frame, array, tensor or table of rows; see
            :func:`~pyroclust.data.datasets.read_table`.
        num_clusters: k, the same for all draws; or name a prior.
        prior: prior of partitions whose law of the number of clusters k has, ``"gamma-crp"``, ``"crp"``,
            ``"py"`` or ``"mfm"``; ``"gamma-crp"`` where only a number of clusters is expected.
        concentration: of that prior.
        expected_clusters: mean of that law.
        noise_scale: :math:`\epsilon`, in standard deviations of the similarities.
        columns: columns to cluster.
        label: column of reference labels, never used for clustering.
        pca: cluster this many principal components of the standardised columns.
        raw: leave the columns as they are.
        must_link: pairs of rows that belong together; see :func:`pyroclust.compare`.
        cannot_link: pairs of rows that are apart.
        partial_labels: column of labels that are known.
        num_draws: forests.
        out: folder for the same files as :func:`pyroclust.compare` writes; by default nothing is written.
        overwrite: replace the results of another run, and write beside files that are no results.
        seed: same seed, same draws; the caller's random state is left alone.
        progress: called with the name of each stage.
        **reading: how a text file is read, as :func:`pyroclust.read_table` says.

    Raises:
        ValueError: if the data, the constraints or the folder cannot be used, or neither a number of clusters
            nor a prior of it is given, or both.

    Example:
        >>> forest("iris", num_clusters=2, num_draws=100).in_words.num_clusters
        2

    References:
        Stewart et al. (2023), Differentiable clustering with perturbed spanning forests.
        https://arxiv.org/abs/2305.16358
    """
    num_draws, seed = check_count("num_draws", num_draws, at_least=10), check_seed(seed)
    noise_scale = check_number("noise_scale", noise_scale, at_least=0)
    by_prior = {"prior": prior, "concentration": concentration, "expected_clusters": expected_clusters}
    named = [name for name, one in by_prior.items() if one is not None]
    if (num_clusters is None) == (not named):
        both = f"num_clusters and {named[0]} are both given" if named else "no number of clusters is given"
        raise ValueError(
            f"{both}, expected one of num_clusters (--clusters) and a prior of it (--prior, "
            "--expected-clusters): a forest has to know how many trees"
        )
    table = read_table(source, columns=columns, label=label, partial_labels=partial_labels, **reading)
    if table.shape is not None:
        raise ValueError(f"{table.name} has {table.shape}, expected rows of columns: take compare for these")
    if num_clusters is not None:
        check_count("num_clusters", num_clusters, at_most=len(table.data))
    linked = {"must_link": must_link, "cannot_link": cannot_link}
    pairs = {
        name: None if one is None else read_pairs(one, name=name, row_names=table.row_names)
        for name, one in linked.items()
    }
    points = unscaled(table) if raw else standardise(table)
    points = points if pca is None else principal_components(points, pca)
    size = len(points.data)
    check_memory(
        _BYTES_A_PAIR * size * size + 3 * 8 * num_draws * size,
        f"similarities of {size:,} rows",
        remedy="take fewer rows",
    )
    by_name = any(isinstance(one, str | PathLike) for one in linked.values())
    known = known_of(table, **pairs, by_name=by_name)
    law = {"num_clusters": num_clusters, **by_prior}
    run = name_of_run(
        "forest",
        table=table_content(table),
        points=(points.data, points.columns),
        settings=repr((law, noise_scale, num_draws, seed)),
        **({} if known is None else {"known": known.content}),
    )
    of_the_table = {
        **{"columns": columns, "label": label, "pca": pca, "raw": raw, "partial_labels": partial_labels},
        **linked,
        **reading,
    }
    numbers = {"noise_scale": noise_scale, "num_draws": num_draws}
    usual = {"noise_scale": NOISE_SCALE, "num_draws": _USUAL_DRAWS}
    asked = {name: one for name, one in numbers.items() if one != usual[name]}
    options = {**law, **asked, **of_the_table}
    typed = str(source) if isinstance(source, str | PathLike) else table.name
    with results_folder(out, run=run, overwrite=overwrite) as folder:
        found = _forests(
            table, points, known, law, noise_scale, num_draws, seed, progress or (lambda stage: None)
        )
        found.repeat = Repeat(
            command_line("forest", [typed], options, seed), arguments_of(options), seed, run
        )
        found.next = command_line("cluster", [typed], of_the_table, 0)
        found.folder = folder
        return _finished(found, progress or (lambda stage: None))


def _forests(
    table: Table,
    points: Standardised,
    known: Known | None,
    law: dict[str, Any],
    noise_scale: float,
    num_draws: int,
    seed: int,
    tell: Callable[[str], None],
) -> Analysis:
    """Draw spanning forests, with constraints also without them, and say what they say."""
    similarity = _similarity(points)
    number, asked = _number(law, len(points.data))

    def trees(constraints: Constraints | None) -> PerturbedSpanningForest:
        return PerturbedSpanningForest(similarity, number, noise_scale=noise_scale, constraints=constraints)

    tell(f"drawing {num_draws:,} spanning forests")
    drawn_from = trees(None if known is None else known.constraints)
    draws = _drawn(drawn_from, num_draws, seed)
    knowledge, excess = None, 0.0
    if known is not None:
        tell("drawing as many without the constraints")
        free = _drawn(trees(None), num_draws, seed)
        kept = known.constraints.allows(torch.from_numpy(free.assignments)).numpy()
        why = "a spanning forest has no prior of partitions"
        knowledge = Knowledge(known.rows, math.nan, why, FreePosterior(free, kept, float(num_draws), (), ()))
        excess = float(drawn_from.excess_rate(num_draws=num_draws, seed=seed))
    data = AnalysedData(table, points)
    return Analysis(
        command="forest",
        data=data,
        draws={"forest": draws},
        seed=seed,
        knowledge=knowledge,
        about={
            "source": table.name,
            "columns": list(points.columns),
            "points": "rows",
            "num_points": len(points.data),
            "model": "spanning forest",
            "asked": asked,
            "noise_scale": noise_scale,
            "draws": num_draws,
            "seconds": draws.seconds,
            "more_clusters_than_asked": excess,
        },
        introduction=(
            f"{data.size_in_words}. {num_draws:,} heaviest spanning forests of {asked}, under similarities "
            f"(negative squared distances of rows) with noise of {noise_scale:g} of their standard "
            "deviations; their trees are the clusters. There is no model of the data."
        ),
        notes=[*table.notes, *points.notes, *about_pairs(len(points.data))],
    )


def _finished(found: Analysis, tell: Callable[[str], None]) -> Analysis:
    tell("summarising")
    estimate = found.summary("forest").estimate
    verdict = judge_forest(
        num_draws=found.draws["forest"].num_draws,
        uncertainty=None if estimate is None else estimate.uncertainty,
        excess=found.about["more_clusters_than_asked"],
    )
    found.complete_verdict(verdict)
    found.about["rely"] = reliance(verdict, None, has_guide=False)
    work = Work(analysis=found, settings=Settings(seed=found.seed), tell=tell)
    run_steps(work, (*DRAWS_STEPS, *MODEL_STEPS), of_the_answer=True)
    return finished(found, tell)


def _number(law: dict[str, Any], num_points: int) -> tuple[Any, str]:
    """Return the number of clusters or a prior of it, and the same in words."""
    if law["num_clusters"] is not None:
        number = law["num_clusters"]
        return number, f"{number:,} tree{'s' * (number != 1)}"
    name = law["prior"] or ("gamma-crp" if law["concentration"] is None else "crp")
    found = named_prior(
        name,
        concentration=law["concentration"],
        expected_clusters=law["expected_clusters"],
        num_points=num_points,
    )
    mean = float(found.expected_num_clusters(num_points))
    return found, f"as many trees as the prior {name} has clusters, {mean:.2g} on average"


def _similarity(points: Standardised) -> Any:
    """Return the similarities of rows, and refuse those that say nothing of which are near."""
    found = standardised_similarity(torch.from_numpy(points.data))
    if torch.allclose(found.tril(-1), torch.zeros_like(found), atol=_ROUNDING):
        raise ValueError("all rows are equally far apart, expected distances that say which rows are near")
    return found


def _drawn(trees: PerturbedSpanningForest, num_draws: int, seed: int) -> Draws:
    with seeded(seed), torch.no_grad():
        # The first forest is compiled.
        trees.sample()
    began = time.perf_counter()
    with seeded(seed), torch.no_grad():
        labels = trees.sample(torch.Size((num_draws,)))
    seconds = time.perf_counter() - began
    return Draws(name="the spanning forest", assignments=labels.unsqueeze(0).numpy(), seconds=seconds)
