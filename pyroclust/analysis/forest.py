"""``pyroclust.forest``: a table in, spanning forests of perturbed similarities out; no model."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import torch

from pyroclust.analysis.compare import options_given, scaled
from pyroclust.analysis.constraining import constraints_of, content_of
from pyroclust.analysis.diagnose import DRAWS_STEPS
from pyroclust.analysis.of_the_model import MODEL_STEPS
from pyroclust.analysis.steps import Work, complete
from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.core.random_state import seeded
from pyroclust.data import Source, read_table
from pyroclust.data.delimited_text import PairsLike
from pyroclust.diagnostics.frequencies import about_pairs
from pyroclust.diagnostics.judging import judge_forest
from pyroclust.distributions import PerturbedSpanningForest, standardised_similarity
from pyroclust.models.standardised import named_prior
from pyroclust.partitions import Draws
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.files import name_of_run, results_folder, table_content
from pyroclust.results.records import Repeat
from pyroclust.results.step_results import FreePosterior

NOISE_SCALE = 0.1
"""In standard deviations of the similarities: the least of those that were published."""
# Similarities, their perturbed copies and squares, eight bytes each.
_BYTES_A_PAIR = 6 * 8
# Similarities are standardised: what is smaller is rounding.
_ROUNDING = 1e-6


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
    num_draws: int = 1000,
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

    with m and s the mean and the standard deviation over the pairs of rows. Without noise it is single
    linkage. The noise says how sure the clusters are; no model of the data sets it, so that these are no
    posterior probabilities. Cost: O(N^2) a draw and :math:`48 N^2` bytes.

    Args:
        source: built-in name, file, data frame, array, tensor or table of rows; see
            :func:`~pyroclust.data.datasets.read_table`.
        num_clusters: k, the same for all draws; or name a prior.
        prior: prior of partitions whose law of the number of clusters k has; ``"gamma-crp"`` where only a
            number of clusters is expected.
        concentration: of that prior.
        expected_clusters: mean of that law.
        noise_scale: :math:`\epsilon`, in standard deviations of the similarities.
        columns: columns to cluster. This and what follows is as in :func:`pyroclust.compare`.
        label: column of reference labels, never used for clustering.
        pca: cluster this many principal components.
        raw: leave the columns as they are.
        must_link: pairs of rows that belong together; as many forests without constraints say what these
            changed.
        cannot_link: pairs of rows that are apart.
        partial_labels: column of labels that are known.
        num_draws: forests.
        out: folder for the files.
        overwrite: replace the results of another run.
        seed: same seed, same draws.
        progress: called with the name of each stage.
        **reading: how a text file is read.

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
    options = options_given(forest, locals())
    num_draws, seed = check_count("num_draws", num_draws, at_least=10), check_seed(seed)
    noise_scale = check_number("noise_scale", noise_scale, at_least=0)
    law: dict[str, Any] = {
        "prior": prior,
        "concentration": concentration,
        "expected_clusters": expected_clusters,
    }
    named = [name for name, one in law.items() if one is not None]
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
    points = scaled(table, raw=raw, pca=pca)
    size = len(points.data)
    check_memory(
        _BYTES_A_PAIR * size * size + 3 * 8 * num_draws * size,
        f"similarities of {size:,} rows",
        remedy="take fewer rows",
    )
    constraints, row_constraints = constraints_of(table, must_link=must_link, cannot_link=cannot_link)
    number: Any = num_clusters
    if num_clusters is not None:
        asked = f"{num_clusters:,} tree{'s' * (num_clusters != 1)}"
    else:
        name = prior or ("gamma-crp" if concentration is None else "crp")
        number = named_prior(**law | {"prior": name}, num_points=size)
        mean = float(number.expected_num_clusters(size))
        asked = f"as many trees as the prior {name} has clusters, {mean:.2g} on average"
    run = name_of_run(
        "forest",
        table=table_content(table),
        points=(points.data, points.columns),
        settings=repr((num_clusters, law, noise_scale, num_draws, seed)),
        **content_of(constraints),
    )
    called = [str(source) if isinstance(source, str | PathLike) else table.name]
    of_forests = {"num_clusters", "noise_scale", "num_draws", *law}
    of_the_table = {name: one for name, one in options.items() if name not in of_forests}
    data = AnalysedData(table, points)
    analysis = Analysis(
        command="forest",
        data=data,
        seed=seed,
        constraints=row_constraints,
        about={
            "source": table.name,
            "columns": list(points.columns),
            "points": "rows",
            "num_points": size,
            "model": "spanning forest",
            "asked": asked,
            "noise_scale": noise_scale,
            "draws": num_draws,
        },
        introduction=(
            f"{data.size_in_words}. {num_draws:,} heaviest spanning forests of {asked}, under similarities "
            f"(negative squared distances of rows) with noise of {noise_scale:g} of their standard "
            "deviations; their trees are the clusters. There is no model of the data."
        ),
        notes=[*table.notes, *points.notes, *about_pairs(size)],
        next=Repeat.of("cluster", called, of_the_table).command,
        repeat=Repeat.of("forest", called, options, seed=seed, run=run),
    )
    work = Work(analysis=analysis, tell=progress or (lambda stage: None))
    assert analysis.repeat is not None
    with results_folder(
        out, run=run, command=analysis.repeat.command, overwrite=overwrite
    ) as analysis.folder:
        for note in table.notes:
            work.tell(note)
        similarity = standardised_similarity(torch.from_numpy(points.data))
        if torch.allclose(similarity.tril(-1), torch.zeros_like(similarity), atol=_ROUNDING):
            raise ValueError(
                "all rows are equally far apart, expected distances that say which rows are near"
            )
        trees = PerturbedSpanningForest(similarity, number, noise_scale=noise_scale, constraints=constraints)
        work.tell(f"drawing {num_draws:,} spanning forests")
        draws = analysis.draws["forest"] = _drawn(trees, num_draws, seed)
        analysis.about |= {"seconds": draws.seconds, "more_clusters_than_asked": 0.0}
        if constraints is not None and row_constraints is not None:
            work.tell("drawing as many without the constraints")
            free = _drawn(
                PerturbedSpanningForest(similarity, number, noise_scale=noise_scale), num_draws, seed
            )
            kept = constraints.allows(torch.from_numpy(free.assignments)).numpy()
            analysis.constraints = replace(
                row_constraints,
                why_no_prior="a spanning forest has no prior of partitions",
                free=FreePosterior(free, kept, float(num_draws), (), ()),
            )
            excess = float(trees.excess_rate(num_draws=num_draws, seed=seed))
            analysis.about["more_clusters_than_asked"] = excess
        work.tell("summarising")
        return complete(work, (*DRAWS_STEPS, *MODEL_STEPS), _judge)


def _judge(work: Work) -> None:
    analysis = work.analysis
    estimate = analysis.summary("forest").estimate
    verdict = judge_forest(
        num_draws=analysis.draws["forest"].num_draws,
        uncertainty=None if estimate is None else estimate.uncertainty,
        excess=analysis.about["more_clusters_than_asked"],
    )
    analysis.conclude(verdict)


def _drawn(trees: PerturbedSpanningForest, num_draws: int, seed: int) -> Draws:
    with seeded(seed), torch.no_grad():
        # The first forest is compiled.
        trees.sample()
    began = time.perf_counter()
    with seeded(seed), torch.no_grad():
        labels = trees.sample(torch.Size((num_draws,)))
    seconds = time.perf_counter() - began
    return Draws(name="the spanning forest", assignments=labels.unsqueeze(0).numpy(), seconds=seconds)
