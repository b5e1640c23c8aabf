"""``pyroclust.compare`` and ``pyroclust.cluster``: a table in, an analysis out.

Arguments and table are checked here, before torch and Pyro are loaded.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from pyroclust.analysis.steps import Settings, Work, complete
from pyroclust.core.large_tables import default_num_draws, label_type
from pyroclust.core.long_runs import lines_instead_of_bars
from pyroclust.core.machine import check_memory
from pyroclust.core.messages import unknown_name
from pyroclust.core.numbers import check_count, check_number, check_range, check_seed, checked_weights
from pyroclust.data import (
    Source,
    Standardised,
    Table,
    principal_components,
    read_table,
    standardise,
    unscaled,
)
from pyroclust.data.delimited_text import PairsLike
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.files import results_folder
from pyroclust.results.records import Repeat
from pyroclust.saving.cards import NO_GUIDE, find_guide, read_card

if TYPE_CHECKING:
    import torch


# Columns of these families may be divided in two; normal ones are independent where they are.
DIVISIBLE = (None, "nig", "diagonal", "normal")
# Labels as drawn, canonical, and as chains of draws.
_COPIES = 3
_OF_COMPARE_ALONE = ("conditions", "within", "between", "kernel", "refine", "tolerance")
_OF_TEXT_FILES = {"delimiter", "decimal", "header"}
_OF_TABLES = (
    *("columns", "leave_out", "missing", "aggregate", "transpose", "label", "image_size", "edges"),
    "partial_labels",
)
_OF_MODELS = ("family", "prior", "concentration", "expected_clusters", "within", "between")
# What every command has, and nobody needs to know who repeats one.
_NOT_REPEATED = ("out", "overwrite", "seed", "progress")


def cluster(
    source: Source,
    *,
    guide: "str | PathLike[str] | torch.nn.Module | None" = None,
    num_clusters: int | None = None,
    **options: Any,
) -> Analysis:
    """Say how many clusters a table has, which rows are in which, and how sure that is.

    Chains of MCMC draw partitions from the posterior of a mixture model until they have converged. This is
    :func:`compare` without a guide, unless one is named.

    Args:
        source: built-in name, file, folder of images, data frame, array, tensor or table; see
            :func:`~pyroclust.data.datasets.read_table`.
        guide: name on the shelf, folder, or a guide, whose draws are set beside the chains; none by default.
        num_clusters: refused, as a mixture finds the number: ``clusters`` says between which it is.
        **options: those of :func:`compare`, which says what each is, but ``conditions``, ``within``,
            ``between``, ``kernel``, ``refine`` and ``tolerance``.

    Raises:
        ValueError: if the data or an argument cannot be used; the sentence says what to do.
        TypeError: if an option is unknown, or one of :func:`compare` alone.

    Example:
        >>> cluster("galaxies", mcmc_draws=100, num_chains=2, warmup=100).in_words.interval[0] >= 2
        True
    """
    if num_clusters is not None:
        raise ValueError(
            f"num_clusters is {num_clusters}, but a mixture finds the number of clusters: take clusters "
            "(--clusters), as 3 or (2, 6), where you know it or its bounds, and expected_clusters "
            "(--expected-clusters) for what you expect"
        )
    if others := [name for name in _OF_COMPARE_ALONE if name in options]:
        raise TypeError(f"cluster() takes no {' and no '.join(others)}: pyroclust.compare does")
    return compare(source, guide=NO_GUIDE if guide is None else guide, _command="cluster", **options)


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
    leave_out: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    aggregate: str | None = None,
    transpose: bool = False,
    label: str | None = None,
    pca: int | None = None,
    raw: bool = False,
    image_size: int | None = None,
    edges: bool = False,
    must_link: PairsLike | None = None,
    cannot_link: PairsLike | None = None,
    partial_labels: str | None = None,
    clusters: int | tuple[int, int] | None = None,
    weight: str | ArrayLike | None = None,
    within: tuple[float, float] | None = None,
    between: tuple[float, float] | None = None,
    num_draws: int | None = None,
    num_chains: int = 4,
    mcmc_draws: int | None = None,
    kernel: str | None = None,
    warmup: int | None = None,
    refine: bool = False,
    also: Sequence[str] = (),
    thorough: bool = False,
    tolerance: float | None = None,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **reading: Any,
) -> Analysis:
    """Cluster a table by MCMC of a mixture model, and set a guide of the same model beside it.

    **Chains first.** One half of the chains starts at partitions into few clusters, the other at draws of
    the exact filter. While R-hat of a functional is above 1.01, or it has fewer than 400 effective draws,
    they run twice as far, and what was drawn before becomes warm-up. This ends before a round that would
    take them beyond ten processor seconds, more above 1,000 rows. Where chains have converged they are the
    answer, unless a guide was named whose draws agree.

    **The guide** draws 200 to 1,000 partitions with their log q, which are set beside the chains as drawn,
    and weighted by p / q. Where chains have not converged they are refined
    (:func:`pyroclust.infer.refine`), if that is a matter of seconds.

    **What else can be asked**, by its name in ``also``, or all of it by ``thorough``: ``familiarity`` and
    ``witnesses`` (simulations of the guide's model), ``calibration`` (of the guide near the data, 20,000
    draws of it), ``two_samples`` (tests of every pair of sources), ``evidence`` (by cross-scores and
    annealing), ``baselines`` (classical methods), ``refining``. ``thorough`` also gives chains 24 times the
    seconds, five times more where they have roughly converged, and tempered populations where they have not
    (:func:`~pyroclust.infer.tempered_populations`).

    **Model and guide.** The model is chosen by the names of its family and its prior, and the guide for it:
    one on the shelf of this very model, else, where neither is named, one of the model that was the default
    in 0.1, else the model's exact filter. Families that are not conjugate have no filter, no weights and no
    evidence, and their chains keep the parameters of the clusters. A model that can only be simulated, as
    those of images and waveforms, has no chains either: the guide's draws stand alone.

    **Columns.** Where not all columns are numbers, or a cell is missing, columns are independent given the
    cluster (:func:`~pyroclust.models.table_mixture`); missing cells are integrated out. Arrays hold numbers,
    and so do all columns beside a guide of a model of its own. A column of numbers more than half of whose
    cells hold one value is divided in two, whether a cell holds it, and the number where it does not, unless
    ``kinds`` has it, or ``family`` has full covariances.

    **Constraints** hold in every draw. The result then says what the data say of them, which rows they moved,
    and how far the uncertainty fell; this costs the posterior without them once more.

    Args:
        source: built-in name, file, folder of images, data frame, array, tensor or table; see
            :func:`~pyroclust.data.datasets.read_table`.
        guide: name on the shelf, folder, or a guide, which brings its own model; ``"none"`` for MCMC alone;
            by default one of the model.
        conditions: hyperparameters that a guide amortized over them is told.
        family: of the clusters, ``"niw"``, ``"nig"``, ``"normal"``, ``"diagonal"`` or ``"student-t"``; see
            :func:`~pyroclust.models.standardised_mixture` for these and their defaults.
        prior: of the partitions, ``"gamma-crp"``, ``"crp"``, ``"py"`` or ``"mfm"``.
        concentration: of that prior.
        expected_clusters: prior mean of the number of clusters in the rows.
        columns: columns to cluster.
        leave_out: columns that are not clustered, of all others; instead of ``columns``.
        kinds: kinds of columns by name, ``"number"``, ``"count"``, ``"yes/no"`` or ``"category"``, or
            ``"ordered"``, ``"overdispersed"``, ``"circular(24)"``, ``"binomial(TRIALS)"``, instead of
            those that are found out; ``"q1..q15"`` are the columns from one to another.
        missing: values that stand for missing cells: ``"99"`` in all columns, ``"income=-1"`` in one,
            ``"q1..q15=0"`` in those from one to another; ``"continent="`` says that NA and the like are
            categories there.
        aggregate: column that says what each row is of, such as a patient, whose rows become one; rows that
            look like several of one unit are refused unless this is a column, or ``"none"``.
        transpose: cluster the columns, by what the rows say of them.
        label: column of reference labels, never used for clustering.
        pca: cluster this many principal components of the standardised columns.
        raw: leave the columns as they are, for guides whose model fixes the scale of the data.
        image_size: pixels of a side that the images of a folder are scaled to.
        edges: whether a file holds the edges of a graph, a line each.
        must_link: pairs of rows that belong together: a CSV or TSV file with two columns of row names, as in
            ``assignments.csv`` (1 to N unless the table names its rows); or pairs of points that count
            from 0.
        cannot_link: pairs of rows that are apart, likewise.
        partial_labels: column of labels that are known, with empty cells where nothing is; it is not
            clustered. Rows with equal labels belong together, rows with different ones are apart.
        clusters: how many clusters the rows have, a number or the fewest and the most: the posterior given
            that. New rows, as :func:`pyroclust.predict` takes them, may be in one more.
        weight: column of how many equal rows each row stands for, or such numbers, whole ones of at least 1:
            the posterior of the repeated table under must-links, by MCMC alone. Every figure counts by them.
        within: (a, b) of the rate of edges within a block of a graph, (6, 3) by default.
        between: (a, b) of that between blocks, (1, 5) by default.
        num_draws: draws of the guide, at least 10; by default as many as come in three processor seconds.
        num_chains: chains of MCMC.
        mcmc_draws: draws each chain keeps, at least 10; by default 1,000, and fewer above 2,500 rows.
        kernel: what moves the chains, one of :func:`~pyroclust.infer.mcmc.named_kernels.kernel_names`; by
            default ``"merge-split+gibbs"``, above four columns ``"gibbs+merge-split"``, and ``"auxiliary"``
            for families that are not conjugate.
        warmup: sweeps that each chain drops first, of which it then keeps one in ten; by default it grows.
        refine: refine the guide's draws, also where chains have converged.
        also: names of steps to take besides those of the default.
        thorough: take every step, and as long as it takes.
        tolerance: largest difference of two co-assignment probabilities at which draws agree with MCMC; by
            default 0.1 for refined draws, and 0.15 for those of the guide, as drawn or weighted.
        out: folder for ``report.html``, ``draws.nc``, ``summary.json``, ``assignments.csv`` and
            ``clusters.csv``; by default nothing is written. Results of the same analysis are replaced, unless
            somebody has changed them.
        overwrite: replace the results of another run, and write beside files that are no results.
        seed: same seed, same draws, where ``num_draws`` is given; the caller's random state is left alone.
        progress: called with the name of each stage.
        **reading: how a text file is read, as :func:`pyroclust.read_table` says: ``delimiter``, ``decimal``,
            ``header``.

    Raises:
        ValueError: if the data, the guide, the constraints or the folder cannot be used.
        TypeError: if an option is unknown.
        KeyboardInterrupt: after Ctrl-C before anything was drawn; later, what was drawn is kept and marked.

    Example:
        >>> analysis = compare("galaxies", guide="filter-nig1d", num_draws=50, mcmc_draws=50, warmup=50)
        >>> analysis.draws["guide"].assignments.shape, analysis.draws["mcmc"].assignments.shape
        ((1, 50, 82), (4, 50, 82))
    """
    # `cluster` is this function by another name.
    command = reading.pop("_command", "compare")
    given = dict(locals())
    options = options_given(compare, given)
    for name, least in (("num_draws", 10), ("mcmc_draws", 10), ("num_chains", 1), ("warmup", 0)):
        if given[name] is not None or name == "num_chains":
            check_count(name, given[name], at_least=least)
    if isinstance(also, str):
        raise ValueError(f"also is {also!r}, expected a list of names, such as [{also!r}]")
    if clusters is not None:
        check_range("clusters", clusters)
    if tolerance is not None:
        tolerance = check_number("tolerance", tolerance, above=0, at_most=1)
    seed = check_seed(seed)
    of_any_table = fits_any_table(guide)
    table = read_table(
        source,
        kinds={} if kinds is None and of_any_table else kinds,
        weight=weight if isinstance(weight, str) else None,
        # Full covariances and principal components need all cells.
        masses_apart=of_any_table and pca is None and family in DIVISIBLE,
        **{name: given[name] for name in _OF_TABLES},
        **reading,
    )
    if weight is not None and not isinstance(weight, str):
        table = replace(table, weights=checked_weights("weight", weight, num_rows=len(table.data)))
    points = scaled(table, raw=raw, pca=pca)
    size, usual = len(points.data), default_num_draws(len(points.data))
    mcmc_draws = usual if mcmc_draws is None else mcmc_draws
    width, chains = label_type(size).itemsize, f"{num_chains} chains"
    rooms = (
        ("num_draws", 8 * (num_draws or usual), "draws", "draw fewer (--draws)"),
        ("mcmc_draws", width * num_chains * mcmc_draws, chains, "keep fewer (--mcmc-draws)"),
    )
    for name, number, what, remedy in rooms:
        shown = f"{name} is {given[name] or usual}: {what} of {size} points"
        check_memory(_COPIES * size * number, shown, remedy=remedy)
    # This brings torch and Pyro; arguments and table are right by now.
    from pyroclust.analysis.constraining import constraints_of
    from pyroclust.analysis.picking import pick_guide
    from pyroclust.analysis.running import STEPS, begin, checksums, judged
    from pyroclust.core.machine import one_torch_thread, single_precision

    constraints, row_constraints = constraints_of(
        table, must_link=must_link, cannot_link=cannot_link, clusters=clusters
    )
    data, words = AnalysedData(table, points), {name: given[name] for name in _OF_MODELS}
    picked = pick_guide(guide, data, conditions=conditions or {}, names=words)
    analysis = Analysis(
        command=command, data=data, constraints=row_constraints, seed=seed, tolerance=tolerance
    )
    settings = Settings(
        num_draws=num_draws,
        num_chains=num_chains,
        mcmc_draws=mcmc_draws,
        kernel=kernel,
        warmup=warmup,
        thorough=thorough,
        also=tuple(sorted({*also, "refining"} if refine else set(also))),
    )
    work = Work(analysis=analysis, settings=settings, tell=progress or (lambda stage: None))
    begin(work, picked, constraints, is_default=guide is None)
    if not isinstance(guide, str | PathLike) or (command == "cluster" and guide == NO_GUIDE):
        options.pop("guide", None)
    called = str(source) if isinstance(source, str | PathLike) else table.name
    analysis.repeat = Repeat.of(command, [called], options, seed=seed, **checksums(work))
    with (
        # Networks on images and graphs are large enough to gain from threads.
        one_torch_thread() if table.shape is None else nullcontext(),
        single_precision(),
        results_folder(
            out, run=analysis.repeat.run, command=analysis.repeat.command, overwrite=overwrite
        ) as analysis.folder,
        lines_instead_of_bars(work.tell),
    ):
        for note in table.notes:
            work.tell(note)
        return complete(work, STEPS, judged)


# `help` and completion show the options of `cluster` by their names.
_OWN, _EVERY = (signature(one).parameters for one in (cluster, compare))
cluster.__signature__ = signature(cluster).replace(  # type: ignore[attr-defined]
    parameters=[
        *(one for name, one in _OWN.items() if name != "options"),
        *(one for name, one in _EVERY.items() if name not in (*_OWN, *_OF_COMPARE_ALONE)),
    ]
)


def fits_any_table(guide: "str | PathLike[str] | torch.nn.Module | None") -> bool:
    """Say whether kinds of columns are found out; beside a guide of one model all columns are numbers."""
    if guide is None or guide == NO_GUIDE:
        return True
    return isinstance(guide, str | PathLike) and read_card(find_guide(guide)).fits_any_table


def options_given(function: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a call that are not the default, to be repeated; refuse unknown ones."""
    parameters = signature(function).parameters.values()
    usual = {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}
    for name in values["reading"].keys() - _OF_TEXT_FILES:
        raise TypeError(unknown_name("option", name, {*usual, *_OF_TEXT_FILES}))

    def is_usual(name: str, value: Any) -> bool:
        empty = isinstance(value, Collection) and not len(value)
        return empty or (isinstance(value, str | int | float) and value == usual[name])

    return values["reading"] | {
        name: one
        for name, one in values.items()
        if name in usual and name not in _NOT_REPEATED and not is_usual(name, one)
    }


def scaled(table: Table, *, raw: bool, pca: int | None) -> Standardised:
    """Return the points of a table on the scale on which they are clustered."""
    if pca is not None and table.shape is not None:
        raise ValueError(f"pca is {pca}, but {table.name} has {table.shape}, which guides take as they are")
    if pca is not None and not table.are_numbers:
        raise ValueError(
            f"pca is {pca}, but {table.name} has columns that are no numbers, and principal components need "
            "numbers: choose columns with --columns, or leave --pca out"
        )
    if pca is not None and table.weights is not None:
        raise ValueError(f"pca is {pca}, and rows have weights, which components do not count: leave one out")
    points = unscaled(table) if raw or table.shape is not None else standardise(table)
    return points if pca is None else principal_components(points, pca)
