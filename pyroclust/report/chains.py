"""Whether chains have converged: traces, ranks, R-hat and effective draws."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.diagnostics import Convergence
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT, MAX_RHAT, MIN_ESS
from pyroclust.report.parts import FigureTable, Paragraph, Part, Picture, Section
from pyroclust.report.words import functional_title, number, numbers
from pyroclust.results.analysis import Analysis
from pyroclust.results.summaries import DrawsSummary

_TRACED = ("log_joint", "num_clusters", "entropy", "largest_share", "distance_to_reference")


def convergence_section(analysis: Analysis, view: DrawsSummary) -> Section:
    """Show the chains of one source, and every figure of their convergence."""
    # Of chains alone the verdict says it already.
    is_only = sum(not source.is_independent for source in analysis.sources) == 1
    parts: list[Part] = [] if is_only else [Paragraph(view.verdict.sentence)]
    names = [name for name in _TRACED if name in view.functionals][:4]
    if names:
        parts += [_traces(view, names), *([_ranks(view, names[:2])] if view.shape[0] > 1 else [])]
    rows, rhat, ess = view.convergence, number(view.max_rhat), number(view.min_ess, 0)
    if rows is not None:
        figures = Picture(
            lambda figure: plots.plot_convergence(rows, axes=figure.subplots(1, 2)),
            size=(9, 1.4 + 0.24 * len(rows)),
            alternative=f"R-hat and effective draws of {len(rows)} functionals of {view.name}; largest "
            f"R-hat {rhat}, fewest effective draws {ess}.",
            caption=f"Left, R-hat should lie left of the dashed line ({GOOD_RHAT:g}) and must lie left of "
            f"the solid one ({MAX_RHAT:g}); right, effective draws should lie right of the dashed line "
            f"({GOOD_ESS:.0f}) and must lie right of the solid one ({MIN_ESS:.0f}). A functional that never "
            "changes has no dot.",
        )
        functionals = FigureTable(
            f"Convergence of {view.name} on numbers that renaming clusters leaves alone. Wanted: R-hat at "
            f"most {GOOD_RHAT:g} and {GOOD_ESS:.0f} effective draws (ESS), in the bulk and in the tails. A "
            "constant has no R-hat.",
            ("", "mean", "sd", "R-hat", "ESS bulk", "ESS tail"),
            tuple(map(_convergence, rows)),
            f"Convergence of {view.name}",
        )
        parts += [figures, functionals]
    pairs = _pairs(view)
    parts += [pairs] if pairs.rows else []
    gist = f"Largest R-hat {rhat}, {ess} effective draws of the slowest functional"
    return Section(f"Convergence of {view.name}", tuple(parts), gist=gist)


def _convergence(row: Convergence) -> tuple[str, ...]:
    moments = functional_title(row.name), *numbers((row.mean, row.sd))
    if row.constant:
        return (*moments, "constant", "–", "–")
    return (*moments, number(row.rhat), *numbers((row.ess_bulk, row.ess_tail), 0))


def _traces(view: DrawsSummary, names: Sequence[str]) -> Picture:
    def draw(figure: Figure) -> None:
        for place, name in enumerate(names, 1):
            ax = figure.add_subplot(2, 2, place)
            plots.plot_trace(view.functionals[name], ax=ax, name=functional_title(name))
        handles, labels = ax.get_legend_handles_labels()
        legend = figure.legend(handles[:8], labels[:8], loc="outside lower center", ncols=8)
        for line in legend.get_lines():
            line.set_linewidth(2.5)

    return Picture(
        draw,
        size=(9, 4.4),
        alternative=f"Traces over the draws of the chains of {view.name}, one panel each: "
        f"{', '.join(map(functional_title, names))}.",
        caption="One colour a chain. Chains that lie over each other and wander over the "
        "whole range have converged; chains at different levels have not, and then nothing else can be "
        "judged.",
    )


def _ranks(view: DrawsSummary, names: Sequence[str]) -> Picture:
    def draw(figure: Figure) -> None:
        for name, ax in zip(names, figure.subplots(1, 2), strict=True):
            plots.plot_rank_bars(view.functionals[name], ax=ax, name=functional_title(name))

    return Picture(
        draw,
        size=(9, 3.2),
        alternative=f"Rank histograms of the chains of {view.name}: "
        f"{' and '.join(map(functional_title, names))}.",
        caption="How often the draws of each chain have low, middle and high ranks among "
        "all draws. Level bars mean that chains sample the same; a chain with bars on one side stayed "
        "low or high.",
    )


def _pairs(view: DrawsSummary) -> FigureTable:
    pairs, distances = view.co_membership, view.distance_rhat
    rows: tuple[tuple[str, str], ...] = ()
    if pairs is not None:
        rows += (
            ("pairs of rows looked at", f"{len(pairs.pairs):,}"),
            ("of these always together, or always apart", f"{pairs.num_constant:,}"),
            ("fewest effective draws of a pair", number(pairs.min, 0)),
            ("median effective draws of a pair", number(pairs.median, 0)),
        )
    if distances is not None:
        rows += (("largest R-hat of distances to reference partitions", number(distances.rhat)),)
    return FigureTable(
        "Convergence of whole partitions: whether pairs of rows share a cluster, and distances to partitions "
        "taken from the draws, which tell modes apart that have equally many clusters.",
        ("", view.name),
        rows,
    )
