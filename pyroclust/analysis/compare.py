"""``pyroclust.compare``: a table in, a guide and MCMC side by side out.

Arguments and table are checked here, before the second module of this walk brings torch and Pyro.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from pyroclust.counts import check_count, check_seed
from pyroclust.data.datasets import Source, read_table
from pyroclust.data.pairs import PairsLike, read_pairs
from pyroclust.data.standardise import principal_components, standardise, unscaled
from pyroclust.large_tables import draws_of
from pyroclust.memory import check_memory
from pyroclust.saving.cards import NO_GUIDE, find_guide, read_card

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from pyroclust.data.tables import Table
    from pyroclust.results.comparison_result import ComparisonResult

__all__ = ["compare", "how_to_read"]

# Columns are independent in this family, and cells may be missing.
_INDEPENDENT = "nig"
# Labels as drawn, canonical, and as chains of draws.
_BYTES_A_LABEL = 3 * 8


def compare(
    source: Source,
    *,
    guide: "str | PathLike[str] | torch.nn.Module | None" = None,
    conditions: Mapping[str, float] | None = None,
    family: str | None = None,
    prior: str | None = None,
    concentration: float | None = None,
    expected_clusters: float | None = None,
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    label: str | None = None,
    pca: int | None = None,
    raw: bool = False,
    image_size: int | None = None,
    edges: bool = False,
    must_link: PairsLike | None = None,
    cannot_link: PairsLike | None = None,
    partial_labels: str | None = None,
    within: tuple[float, float] | None = None,
    between: tuple[float, float] | None = None,
    num_draws: int | None = None,
    num_chains: int = 4,
    mcmc_draws: int | None = None,
    kernel: str | None = None,
    warmup: int | None = None,
    calibrate: bool = False,
    refine: bool = True,
    tolerance: float | None = None,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> "ComparisonResult":
    """Draw partitions of a table from a guide, refine them, and set MCMC of the guide's model beside them.

    **Draws and answer.** The guide gives five times ``num_draws`` partitions with their log q, of which every
    fifth is shown as drawn. They are weighed, and ``num_draws`` of them resampled and moved by merge-split
    moves and Gibbs sweeps until nothing moves (:func:`pyroclust.infer.refine`). The answer, whose clusters
    come first in ``assignments.csv``, is the best that passed: the refined draws where they have settled and
    agree with MCMC, or MCMC has not converged and cannot confirm them; else the guide's draws with their
    weights, else as drawn, where these agree; else MCMC where it has converged.

    **Chains.** One half of the chains of MCMC starts at partitions into few clusters, the other at draws of
    the exact filter, and they go on until they have converged: while R-hat of a functional is above 1.01, or
    it has fewer than 400 effective draws, they run twice as far, and what was drawn before becomes warm-up.
    This ends after 128,000 sweeps a chain, or before a round that would take chains beyond two minutes; then
    a note says what moved and what to do. Chains that have roughly converged by then (R-hat at most 1.05, 100
    effective draws) can confirm draws of the guide. Where they confirm none, so that MCMC would be the
    answer, they may take five times as many sweeps and seconds. Where the halves have not met, independent
    populations that go from the prior to the posterior by powers of the likelihood are drawn, if that takes
    ten minutes or less: where these are nearer to one another they stand in the place of the chains, and a
    note says so. See :func:`~pyroclust.infer.tempered_populations`.

    **Model and guide.** The model is chosen by the names of its family and its prior, and the guide for it:
    one on the shelf of this very model, else the model's exact filter, for any number of columns. Where the
    family is not conjugate there is no filter either, and with ``guide="none"`` no guide is used: the draws
    of MCMC then stand alone, and the verdict says whether they have converged.

    **Columns.** Columns of files and data frames may be numbers, counts, answers or categories, and cells may
    be missing; arrays hold numbers, and so do all columns beside a guide, which has a model of its own. Where
    not all columns are numbers, or a cell is missing, columns are independent given the cluster: see
    :func:`~pyroclust.models.table_mixture` for the model. A column of numbers more than half of whose cells
    hold one value, such as 0, is divided in two, whether a cell holds it, and the number where it does not,
    unless ``kinds`` has it, or ``family`` has full covariances. Missing cells are integrated out. Pictures
    and classical methods, which need complete vectors, have those of
    :func:`~pyroclust.data.standardise.as_vectors`.

    **Constraints.** What is known of rows, by ``must_link``, ``cannot_link`` and ``partial_labels``, holds in
    every draw: of the guide, weighted, refined and of MCMC, and the evidence is that of data and constraints.
    The result then says what the data say of the constraints, which rows they moved, and how far the
    uncertainty fell. This costs the posterior without them once more: the guide's draws refined, or where
    nothing is refined the chains; and of at most 500 rows perhaps the evidence by annealing. Simulations of
    the model, and so ``calibrate`` and the certificate, know of no constraints. Families that are not
    conjugate, graphs, images and guides that cannot be held to constraints take none.

    **Other models.** Of a family that is not conjugate, such as ``student_t``, the likelihood of a partition
    has no formula: there are no weights and no evidence, ``num_draws`` partitions are drawn and all of them
    refined, and the chains keep the parameters of the clusters. A model whose points have no density, which
    can only be simulated, has no chains either: the guide's draws stand alone, beside its certificate and
    simulations of its model. So it is with images and waveforms, which are left as they are: the guide is the
    one on the shelf for points of their shape, or one of your own. The nodes of a graph have a model by name,
    the stochastic block model, with a guide on the shelf, an exact filter and MCMC.

    **Large tables, and time.** Of tables with more than 1,000 rows the sweeps of refined draws and of MCMC
    are limited (a note says to how many visits of rows), the default guide is the exact filter, and above
    2,000 rows differences of co-assignment probabilities are those of the pairs among 2,000 rows, chosen at
    random. Seconds include the warm-up and exclude compilation and, for the guide, one draw to warm up.
    Compiled loops use all cores. Torch works in one thread meanwhile, except on images and graphs: small
    matrices gain nothing from more, and wait for every core that others use.

    Args:
        source: built-in name, file, folder of images, data frame, array, tensor or table; see
            :func:`~pyroclust.data.datasets.read_table`.
        guide: name on the shelf, folder, or a guide, which brings its own model; ``"none"`` for MCMC alone;
            by default one of the model.
        conditions: hyperparameters that a guide amortized over them is told.
        family: family of the clusters, ``"niw"``, ``"nig"`` or ``"student-t"``; see
            :func:`~pyroclust.models.standardised_mixture` for these, their defaults, and what follows.
        prior: prior of the partitions, ``"gamma-crp"``, ``"crp"``, ``"py"`` or ``"mfm"``.
        concentration: of that prior.
        expected_clusters: prior mean of the number of clusters in the rows.
        columns: columns to cluster.
        kinds: kinds of columns by name, ``"number"``, ``"count"``, ``"yes/no"`` or ``"category"``, instead of
            those that are found out.
        label: column of reference labels, never used for clustering.
        pca: cluster this many principal components of the standardised columns.
        raw: leave the columns as they are, for guides whose model fixes the scale of the data.
        image_size: pixels of a side that the images of a folder are scaled to; see
            :func:`~pyroclust.data.datasets.read_table`.
        edges: whether a file holds the edges of a graph, a line each.
        must_link: pairs of rows that belong together: a CSV or TSV file with two columns of row names, as in
            the column ``row`` of ``assignments.csv`` (1 to N unless the table names its rows); or pairs of
            points that count from 0.
        cannot_link: pairs of rows that are apart, likewise.
        partial_labels: column of labels that are known, with empty cells where nothing is; it is not
            clustered. Rows with equal labels belong together, rows with different ones are apart.
        within: (a, b) of the rate of edges within a block of a graph, (6, 3) by default; see
            :class:`~pyroclust.models.StochasticBlockModel`.
        between: (a, b) of that between blocks, (1, 5) by default.
        num_draws: draws of the guide, at least 10; by default 1,000, and fewer above 5,000 rows: 5 million
            labels, at least 250.
        num_chains: chains of MCMC.
        mcmc_draws: draws each chain keeps, at least 10; by default likewise.
        kernel: what moves the chains, one of :func:`~pyroclust.infer.mcmc.named_kernels.kernel_names`; by
            default ``"merge-split+gibbs"``, above four columns ``"gibbs+merge-split"``, and ``"auxiliary"``
            for families that are not conjugate.
        warmup: sweeps that each chain drops first, of which it then keeps one in ten; by default it grows.
        calibrate: also calibrate the guide on the 200 of 2000 simulations that are nearest to the data, see
            :func:`~pyroclust.calibrate_near`; this costs 20,000 draws of the guide.
        refine: whether to refine; without, the guide encodes the points once and draws ``num_draws``.
        tolerance: largest difference of two co-assignment probabilities at which draws agree with MCMC; by
            default 0.1 for refined draws, and 0.15 for those of the guide, as drawn or weighted.
        out: folder for ``report.html``, ``draws.nc``, ``summary.json`` and ``assignments.csv``; by default
            nothing is written. Files that are there already are replaced all together, and only if they are
            the results of the same comparison: same data, guide, options and seed.
        overwrite: replace the results of another run, and write beside files that are no results.
        seed: same seed, same draws; the caller's random state is left alone.
        progress: called with the name of each stage.

    Raises:
        ValueError: if the data, the guide, the constraints or the folder cannot be used; the sentence says
            what to do.
        KeyboardInterrupt: after Ctrl-C; nothing is written then.

    Example:
        >>> result = compare("galaxies", guide="filter-nig1d", num_draws=50, mcmc_draws=50)
        >>> result.comparison.guide.assignments.shape, result.comparison.mcmc.assignments.shape
        ((1, 50, 82), (4, 50, 82))
    """
    for name, value in (("num_draws", num_draws), ("mcmc_draws", mcmc_draws)):
        if value is not None:
            check_count(name, value, at_least=10)
    check_count("num_chains", num_chains)
    if warmup is not None:
        check_count("warmup", warmup, at_least=0)
    tolerance = _checked_tolerance(tolerance)
    seed = check_seed(seed)
    table = read_table(
        source,
        columns=columns,
        label=label,
        image_size=image_size,
        edges=edges,
        partial_labels=partial_labels,
        **how_to_read(guide, kinds, family=family, pca=pca),
    )
    pairs = {
        name: None if given is None else _pairs_of(table, name, given)
        for name, given in (("must_link", must_link), ("cannot_link", cannot_link))
    }
    if pca is not None and table.shape is not None:
        raise ValueError(f"pca is {pca}, but {table.name} has {table.shape}, which guides take as they are")
    if pca is not None and not table.are_numbers:
        raise ValueError(
            f"pca is {pca}, but {table.name} has columns that are no numbers, and principal components need "
            "numbers: choose columns with --columns, or leave --pca out"
        )
    points = unscaled(table) if raw or table.shape is not None else standardise(table)
    points = points if pca is None else principal_components(points, pca)
    usual = draws_of(len(points.data))
    num_draws, mcmc_draws = (usual if one is None else one for one in (num_draws, mcmc_draws))
    _check_room(len(points.data), num_draws, mcmc_draws, num_chains)
    if isinstance(guide, str | PathLike) and guide != NO_GUIDE:
        find_guide(guide)
    # This brings torch and Pyro; arguments and table are right by now.
    from pyroclust.analysis.asked_model import AskedModel
    from pyroclust.analysis.comparing import compare_points
    from pyroclust.analysis.constraining import known_of
    from pyroclust.analysis.settings import CompareSettings

    by_name = any(isinstance(one, str | PathLike) for one in (must_link, cannot_link))
    known = known_of(table, **pairs, by_name=by_name)
    return compare_points(
        table,
        points,
        guide=guide,
        asked=AskedModel(
            family=family,
            prior=prior,
            concentration=concentration,
            expected_clusters=expected_clusters,
            within=within,
            between=between,
        ),
        conditions=conditions or {},
        known=known,
        settings=CompareSettings(
            num_draws=num_draws,
            num_chains=num_chains,
            mcmc_draws=mcmc_draws,
            kernel=kernel,
            warmup=warmup,
            calibrate=calibrate,
            refine=refine,
            tolerance=tolerance,
            seed=seed,
        ),
        out=out,
        overwrite=overwrite,
        tell=progress or (lambda stage: None),
    )


def how_to_read(
    guide: object, kinds: Mapping[str, str] | None, *, family: str | None, pca: int | None
) -> dict[str, Any]:
    """Return what :func:`~pyroclust.read_table` is told of the kinds of columns.

    Kinds are found out, but beside a guide of one model all columns are numbers. Columns that are mostly one
    value are divided in two, but where numbers have full covariances, or principal components, which need
    all cells.

    Args:
        guide: as :func:`compare` takes it.
        kinds: that were told.
        family: that was asked for.
        pca: how many principal components were asked for.

    Example:
        >>> how_to_read(None, None, family=None, pca=None)
        {'kinds': {}, 'masses_apart': True}
        >>> how_to_read("ncp-niw2d", None, family=None, pca=None)
        {'kinds': None, 'masses_apart': False}
    """
    of_any_table = guide is None or guide == NO_GUIDE
    if isinstance(guide, str | PathLike) and guide != NO_GUIDE:
        of_any_table = read_card(find_guide(guide)).fits_any_table
    found = {} if kinds is None and of_any_table else kinds
    return {"kinds": found, "masses_apart": of_any_table and pca is None and family in (None, _INDEPENDENT)}


def _pairs_of(table: "Table", name: str, given: PairsLike) -> "NDArray[np.int64]":
    """Return pairs of points of a table whose points are rows of columns."""
    if table.shape is not None:
        raise ValueError(
            f"{name} is given, but {table.name} has {table.shape}, expected rows of columns: leave it out"
        )
    return read_pairs(given, name=name, row_names=table.row_names)


def _checked_tolerance(tolerance: float | None) -> float | None:
    if tolerance is None:
        return None
    if not isinstance(tolerance, int | float) or not 0 < tolerance <= 1:
        raise ValueError(
            f"tolerance is {tolerance!r}, expected a difference of two probabilities above 0 and at most 1, "
            "such as 0.1"
        )
    return float(tolerance)


def _check_room(num_points: int, num_draws: int, mcmc_draws: int, num_chains: int) -> None:
    check_memory(
        _BYTES_A_LABEL * num_points * num_draws,
        f"num_draws is {num_draws}: draws of {num_points} points",
        remedy="draw fewer (--draws)",
    )
    check_memory(
        _BYTES_A_LABEL * num_points * num_chains * mcmc_draws,
        f"mcmc_draws is {mcmc_draws}: {num_chains} chains of {num_points} points",
        remedy="keep fewer (--mcmc-draws)",
    )
