"""``pyroclust cluster``: a table in, spanning forests of perturbed similarities out; no model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from pyroclust.analysis.settings import NOISE_SCALE
from pyroclust.counts import check_count, check_number, check_seed
from pyroclust.data.datasets import Source, read_table
from pyroclust.data.pairs import PairsLike, read_pairs
from pyroclust.data.standardise import principal_components, standardise, unscaled
from pyroclust.memory import check_memory

if TYPE_CHECKING:
    from pyroclust.results.forest import ForestClustering

__all__ = ["cluster"]

# Similarities, their perturbed copies and squares, eight bytes each.
_BYTES_A_PAIR = 6 * 8


def cluster(
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
) -> "ForestClustering":
    r"""Cluster the rows of a table by the trees of heaviest spanning forests, with noise on the similarities.

    .. math::
        S_{ij} = \frac{-|x_i - x_j|^2 - m}{s}, \qquad
        c = \text{trees of the heaviest forest of } k \text{ trees at } S + \epsilon Z

    with m and s the mean and the standard deviation over the pairs of rows, and columns of mean 0 and
    variance 1. Without noise it is single linkage. The noise says how sure the clusters are; no model of the
    data sets it, so that these are no posterior probabilities. Where constraints are given, every forest
    keeps them, and the result says what they changed: this costs as many forests without them.

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
        out: folder for ``report.html``, ``draws.nc``, ``summary.json`` and ``assignments.csv``, whose
            clusters are the partition nearest to all draws; by default nothing is written.
        overwrite: replace the results of another run, and write beside files that are no results.
        seed: same seed, same draws; the caller's random state is left alone.
        progress: called with the name of each stage.

    Raises:
        ValueError: if the data, the constraints or the folder cannot be used, or neither a number of clusters
            nor a prior of it is given, or both.

    Example:
        >>> cluster("iris", num_clusters=2, num_draws=100)
        ForestClustering(iris: 2 clusters)

    References:
        Stewart et al. (2023), Differentiable clustering with perturbed spanning forests.
        https://arxiv.org/abs/2305.16358
    """
    num_draws, seed = check_count("num_draws", num_draws, at_least=10), check_seed(seed)
    noise_scale = check_number("noise_scale", noise_scale, at_least=0)
    by_prior = {"prior": prior, "concentration": concentration, "expected_clusters": expected_clusters}
    named = [name for name, one in by_prior.items() if one is not None]
    if (num_clusters is None) == (not named):
        given = f"num_clusters and {named[0]} are both given" if named else "no number of clusters is given"
        raise ValueError(
            f"{given}, expected one of num_clusters (--clusters) and a prior of it (--prior, "
            "--expected-clusters): a forest has to know how many trees"
        )
    table = read_table(source, columns=columns, label=label, partial_labels=partial_labels)
    if table.shape is not None:
        raise ValueError(f"{table.name} has {table.shape}, expected rows of columns: take compare for these")
    if num_clusters is not None:
        check_count("num_clusters", num_clusters, at_most=len(table.data))
    pairs = {
        name: None if given is None else read_pairs(given, name=name, row_names=table.row_names)
        for name, given in (("must_link", must_link), ("cannot_link", cannot_link))
    }
    points = unscaled(table) if raw else standardise(table)
    points = points if pca is None else principal_components(points, pca)
    size = len(points.data)
    check_memory(
        _BYTES_A_PAIR * size * size + 3 * 8 * num_draws * size,
        f"similarities of {size:,} rows",
        remedy="take fewer rows",
    )
    # This brings torch and Pyro; arguments and table are right by now.
    from pyroclust.analysis.constraining import known_of
    from pyroclust.analysis.forests import ForestSettings, forests_of
    from pyroclust.analysis.outputs import name_of_run, results_folder, table_content, write_result
    from pyroclust.io.draws import DrawsFile

    by_name = any(isinstance(one, str | PathLike) for one in (must_link, cannot_link))
    known = known_of(table, **pairs, by_name=by_name)
    settings = ForestSettings(
        num_clusters=num_clusters,
        prior=prior,
        concentration=concentration,
        expected_clusters=expected_clusters,
        noise_scale=noise_scale,
        num_draws=num_draws,
        seed=seed,
    )
    run = name_of_run(
        "cluster",
        table=table_content(table),
        points=(points.data, points.columns),
        settings=repr(settings),
        **({} if known is None else {"known": known.content}),
    )
    with results_folder(out, run=run, overwrite=overwrite) as folder:
        found = forests_of(table, points, known, settings, run=run, tell=progress or (lambda stage: None))
        if folder is not None:
            draws = found.on_data.forest
            found = write_result(
                folder,
                replace(found, folder=folder),
                draws=DrawsFile(table.name, draws.assignments, point_names=table.row_names),
            )
    return found
