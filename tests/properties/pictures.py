"""Properties of pyroclust.plots: a picture that can be written, or one sentence."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from matplotlib.axes import Axes
from properties.calls import Call
from properties.draws import PROBABILITIES, pair_of_sources, weighted
from properties.figures import AGREEMENTS, ROWS
from properties.hostile import any_labels, chains, finite, points, seeds

from pyroclust import diagnostics, plots

KEPT = frozenset({"ax", "axes", "found", "test", "ball", "modes", "ranked", "rows", "row", "content", "loss"})
NAMES = st.sampled_from(["guide", "", "a$\\frac", "a [b]", "<b>"])


def panels(count: int = 1) -> SearchStrategy[Any]:
    """Make new Axes for every example."""
    made = st.builds(lambda: plots.new_figure(3, 3))
    return made.map(lambda figure: figure.subplots() if count == 1 else list(figure.subplots(1, count)))


def drawn(found: Any, /, **_: Any) -> None:
    """Look whether everything has a place."""
    first = found[0] if isinstance(found, list) else found
    assert isinstance(first, Axes)
    for axes in found if isinstance(found, list) else [found]:
        assert np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all()


@st.composite
def clustered(draw: DrawFn, **others: Callable[[int], SearchStrategy[Any]]) -> dict[str, Any]:
    data = draw(points(draw(st.integers(1, 6)), most_columns=4))
    return {"data": data} | {name: draw(one(len(data))) for name, one in others.items()}


def given(**arguments: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"ax": panels(), **arguments})


def shares(size: int) -> SearchStrategy[np.ndarray]:
    return finite(size, extreme=False).map(lambda row: np.abs(row) / 5)


@st.composite
def ordered(draw: DrawFn, *names: str) -> dict[str, Any]:
    size = draw(st.integers(1, 5))
    matrices = {name: diagnostics.co_assignment(draw(chains(points=size))) for name in names}
    return {**matrices, "order": np.array(draw(st.permutations(range(size)))), "ax": draw(panels())}


@st.composite
def missing_levels(draw: DrawFn) -> dict[str, Any]:
    cells, levels = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    shares = np.abs(draw(finite(cells, levels, extreme=False))) + 1e-3
    names = [f"${level}\\" for level in range(levels)]
    return {"probabilities": shares / shares.sum(1, keepdims=True), "levels": names, "ax": draw(panels())}


@st.composite
def missing_numbers(draw: DrawFn) -> dict[str, Any]:
    draws = draw(finite(draw(st.integers(1, 5)), draw(st.integers(1, 70)), extreme=False))
    return {"draws": draws, "observed": draw(finite(4, extreme=False)), "ax": draw(panels())}


@st.composite
def intervals(draw: DrawFn) -> dict[str, Any]:
    clusters, width = draw(st.integers(1, 4)), draw(st.integers(2, 3))
    centre = draw(finite(clusters, width, extreme=False))
    return {
        "centre": centre,
        "low": centre - 1,
        "high": centre + 1,
        "sizes": draw(st.none() | any_labels(clusters, top=9)),
        "axes": draw(panels(width)),
    }


@st.composite
def of_counts(draw: DrawFn) -> dict[str, Any]:
    row = draw(PROBABILITIES)
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    return {
        "values": np.arange(1, len(row) + 1),
        "probabilities": {name: row for name in names},
        "ax": draw(panels()),
    }


@st.composite
def averaged(draw: DrawFn) -> dict[str, Any]:
    row = draw(PROBABILITIES)
    return {"prior": row, "averaged": row[::-1].copy(), "error": row / 10, "ax": draw(panels())}


@st.composite
def losses(draw: DrawFn) -> dict[str, Any]:
    size = draw(st.sampled_from([1, 2, 70]))
    return {"steps": np.arange(size), "loss": draw(finite(size, extreme=False)), "ax": draw(panels())}


@st.composite
def two_sources(draw: DrawFn) -> dict[str, Any]:
    found = draw(pair_of_sources())
    found.pop("weights")
    return found | {"seed": draw(seeds), "num_draws": draw(st.integers(2, 5)), "ax": draw(panels())}


@st.composite
def found_ball(draw: DrawFn, *, data: bool) -> dict[str, Any]:
    given = draw(weighted(estimate=True))
    ball = diagnostics.credible_ball(**given)
    width = len(ball.estimate)
    extra = {"data": draw(points(width)), "axes": draw(panels(4))} if data else {"ax": draw(panels())}
    return {"ball": ball, **extra} | ({} if data else {"num_bins": draw(st.integers(1, 40))})


@st.composite
def found_modes(draw: DrawFn) -> dict[str, Any]:
    labels = draw(chains())
    modes = diagnostics.partition_modes(labels, seed=0, num_modes=1)
    # One more, so that there are at least two panels.
    axes = draw(panels(2))[: len(modes.partitions)]
    return {"data": draw(points(labels.shape[-1])), "modes": modes, "axes": axes}


@st.composite
def found_ranks(draw: DrawFn) -> dict[str, Any]:
    ranked = diagnostics.ranked_partitions(draw(chains()))
    order = np.array(draw(st.permutations(range(ranked.partitions.shape[1]))))
    return {"ranked": ranked, "order": order, "shown": draw(st.integers(1, 5)), "ax": draw(panels())}


@st.composite
def found_distances(draw: DrawFn) -> dict[str, Any]:
    labels = draw(any_labels(2, draw(st.integers(1, 6)), 4))
    return {
        "draws": labels,
        "found": diagnostics.distance_rhat(labels, seed=0, num_references=2),
        "axes": draw(panels(2)),
    }


MATRIX = st.tuples(st.integers(1, 3), st.sampled_from([1, 2, 9])).flatmap(lambda shape: finite(*shape))
USUAL = st.tuples(st.integers(1, 3), st.sampled_from([1, 2, 9])).flatmap(
    lambda shape: finite(*shape, extreme=False)
)
RNG = np.random.default_rng(0)
PARTITIONS = RNG.integers(2, size=(10, 6, 4))


def counted(size: int) -> SearchStrategy[dict[str, np.ndarray]]:
    row = np.arange(1, size + 1)
    return st.lists(NAMES, min_size=1, max_size=3, unique=True).map(lambda names: {one: row for one in names})


def _call(name: str, arguments: SearchStrategy[dict[str, Any]], **options: Any) -> Call:
    return Call(f"plots.{name}", getattr(plots, name), arguments, drawn, never_broken=KEPT, **options)


def _on_axes(arguments: SearchStrategy[dict[str, Any]], count: int = 1) -> SearchStrategy[dict[str, Any]]:
    name = "ax" if count == 1 else "axes"
    return st.tuples(arguments, panels(count)).map(lambda both: both[0] | {name: both[1]})


CALLS = [
    _call("plot_agreement", given(found=AGREEMENTS)),
    _call("plot_averaged_posterior", averaged()),
    _call(
        "plot_baselines",
        _on_axes(
            clustered(partitions=lambda size: any_labels(size).map(lambda row: {"a$\\": row, "b": row})), 2
        ),
    ),
    _call("plot_cluster_parameters", intervals()),
    _call("plot_clustering", _on_axes(clustered(assignments=any_labels, uncertainty=shares))),
    _call("plot_co_assignment", ordered("similarity")),
    _call("plot_co_assignment_difference", ordered("a", "b")),
    _call(
        "plot_co_membership",
        given(
            found=chains().map(lambda one: diagnostics.co_membership_ess(one, seed=0)),
            num_bins=st.integers(1, 40),
        ),
    ),
    _call(
        "plot_convergence",
        st.fixed_dictionaries({"rows": ROWS.filter(bool), "axes": panels(2)}),
    ),
    _call(
        "plot_coverage",
        given(found=st.builds(lambda: diagnostics.ball_coverage(PARTITIONS[0], PARTITIONS[1:], seed=0))),
    ),
    _call(
        "plot_reliability",
        given(found=st.builds(lambda: diagnostics.pair_reliability(PARTITIONS[0], PARTITIONS[1:], seed=0))),
    ),
    _call("plot_credible_ball", found_ball(data=True)),
    _call("plot_distance_histogram", found_ball(data=False)),
    _call("plot_distances", found_distances()),
    _call(
        "plot_familiarity",
        given(found=st.just(diagnostics.familiarity(RNG.random((4, 1)), RNG.random((20, 4, 1))))),
    ),
    _call("plot_log_weights", given(log_weights=USUAL)),
    _call("plot_missing_levels", missing_levels()),
    _call("plot_missing_numbers", missing_numbers()),
    _call("plot_modes", found_modes()),
    _call("plot_num_clusters", of_counts()),
    _call(
        "plot_partition_draws",
        _on_axes(clustered(draws=lambda size: chains(points=size, least=2)), 2),
    ),
    _call("plot_partition_map", two_sources()),
    _call("plot_two_samples", two_sources()),
    _call(
        "plot_permutation_null",
        given(
            test=st.builds(
                lambda: diagnostics.count_test(PARTITIONS[0], PARTITIONS[1], seed=0, num_permutations=9)
            ),
            statistic=NAMES,
            num_bins=st.integers(1, 40),
        ),
    ),
    _call(
        "plot_point_uncertainty",
        _on_axes(
            st.integers(1, 6).flatmap(
                lambda size: st.fixed_dictionaries(
                    {"uncertainty": shares(size), "assignments": any_labels(size)}
                )
            )
        ),
    ),
    _call("plot_rank_bars", given(values=MATRIX, name=NAMES, num_bins=st.integers(1, 9))),
    _call("plot_rank_ecdf", given(counts=counted(4), level=st.floats(0.1, 0.99))),
    _call("plot_ranked_partitions", found_ranks()),
    _call(
        "plot_scores",
        given(scores=st.dictionaries(NAMES, st.just({"ari": 0.5, "vi": 2.0}), min_size=1, max_size=3)),
    ),
    _call("plot_trace", given(values=USUAL, name=NAMES)),
    _call("plot_training_loss", losses()),
]
