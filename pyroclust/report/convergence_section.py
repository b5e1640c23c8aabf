"""Whether chains have converged: traces, ranks, R-hat and effective draws."""

from pyroclust import plots
from pyroclust.report.comparison_tables import convergence_table
from pyroclust.report.parts import FigureTable, Section
from pyroclust.report.picture import Picture, picture_of
from pyroclust.report.view import View
from pyroclust.report.words import functional_title, number

__all__ = ["convergence_section"]

_TRACED = ("log_joint", "num_clusters", "entropy", "largest_share", "distance_to_reference")


def convergence_section(view: View, *, title: str, is_open: bool = False) -> Section:
    """Show the chains of one source, and every figure of their convergence.

    Args:
        view: the source.
        title: of the section.
        is_open: whether it is unfolded at first.
    """
    summary = view.summary
    gist = (
        f"Largest R-hat {number(summary.max_rhat)}, "
        f"{number(summary.min_ess, 0)} effective draws of the slowest functional"
    )
    parts = (
        _traces(view),
        *([_ranks(view)] if view.summary.shape[0] > 1 else []),
        _figures(view),
        convergence_table(summary.convergence, source=view.source),
        _pairs(view),
    )
    return Section(title, parts, is_open=is_open, gist=gist)


def _shown(view: View) -> list[str]:
    return [name for name in _TRACED if name in view.summary.functionals][:4]


def _traces(view: View) -> Picture:
    names = _shown(view)
    with plots.style():
        figure = plots.new_figure(9, 4.4)
        for name, ax in zip(names, figure.subplots(2, 2).flat, strict=True):
            plots.plot_trace(view.summary.functionals[name], ax=ax, name=functional_title(name))
        handles, labels = ax.get_legend_handles_labels()
        legend = figure.legend(handles[:8], labels[:8], loc="outside lower center", ncols=8)
        for line in legend.get_lines():
            line.set_linewidth(2.5)
        return picture_of(
            figure,
            alternative=f"Traces over the draws of the chains of {view.source}, one panel each: "
            f"{', '.join(map(functional_title, names))}.",
            caption="One colour a chain. Chains that lie over each other and wander over the "
            "whole range have converged; chains at different levels have not, and then nothing else can be "
            "judged.",
        )


def _ranks(view: View) -> Picture:
    names = _shown(view)[:2]
    with plots.style():
        figure = plots.new_figure(9, 3.2)
        for name, ax in zip(names, figure.subplots(1, 2), strict=True):
            plots.plot_rank_bars(view.summary.functionals[name], ax=ax, name=functional_title(name))
        return picture_of(
            figure,
            alternative=f"Rank histograms of the chains of {view.source}: "
            f"{' and '.join(map(functional_title, names))}.",
            caption="How often the draws of each chain have low, middle and high ranks among "
            "all draws. Level bars mean that chains sample the same; a chain with bars on one side stayed "
            "low or high.",
        )


def _figures(view: View) -> Picture:
    with plots.style():
        rows = view.summary.convergence
        figure = plots.new_figure(9, 1.4 + 0.24 * len(rows))
        plots.plot_convergence(rows, axes=figure.subplots(1, 2))
        return picture_of(
            figure,
            alternative=f"R-hat and effective draws of {len(rows)} functionals of {view.source}; largest "
            f"R-hat {number(view.summary.max_rhat)}, fewest effective draws "
            f"{number(view.summary.min_ess, 0)}.",
            caption="Left, R-hat should lie left of the dashed line (1.01) and must lie left "
            "of the solid one (1.05); right, effective draws should lie right of the dashed line (400) and "
            "must lie right of the solid one (100). A functional that never changes has no dot.",
        )


def _pairs(view: View) -> FigureTable:
    found, distances = view.summary.co_membership, view.summary.distance_rhat
    rows = (
        ("pairs of rows looked at", f"{len(found.pairs):,}"),
        ("of these always together, or always apart", f"{found.num_constant:,}"),
        ("fewest effective draws of a pair", number(found.min, 0)),
        ("median effective draws of a pair", number(found.median, 0)),
        ("largest R-hat of distances to reference partitions", number(distances.rhat)),
    )
    return FigureTable(
        "Convergence of whole partitions: whether pairs of rows share a cluster, and distances to partitions "
        "taken from the draws, which tell modes apart that have equally many clusters.",
        ("", view.source),
        rows,
    )
