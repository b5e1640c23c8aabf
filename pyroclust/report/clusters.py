"""What the clusters are: the data by cluster, how many there are, which rows belong together, profiles."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.diagnostics import (
    ClusterContrasts,
    ClusterProfiles,
    cluster_contrasts,
    column_shares,
    dendrogram_order,
    likely_outliers,
)
from pyroclust.plots.names import counted, plain_text
from pyroclust.report.parts import FigureTable, Paragraph, Picture, Section
from pyroclust.report.words import axis_names, number
from pyroclust.results.analysis import Analysis, Source
from pyroclust.results.summaries import Estimate

__all__ = [
    "apart_section",
    "clustering_picture",
    "counts_section",
    "pairs_section",
    "profile_section",
]

_MOST_COLUMNS = 4
_MOST_NAMED, _MOST_SENTENCES, _MOST_SHARES, _MOST_ALONE = 3, 12, 30, 8
_MOST_COUNTS = 12
_BARS = {"guide": "guide", "weighted": "weighted draws", "refined": "refined draws", "mcmc": "MCMC"}


def _clusters(view: Source) -> str:
    return counted(_estimate(view).num_clusters, "cluster")


def _estimate(view: Source) -> Estimate:
    if view.summary.estimate is None:
        raise ValueError(f"{view.name} has no point estimate, expected a source with one")
    return view.summary.estimate


def clustering_picture(view: Source) -> Picture:
    """Draw the rows, coloured by cluster; uncertain ones are hollow."""
    data, estimate = view.points, _estimate(view)
    num_points, dim = data.shape
    layout = "Each dot is one row, stacked where rows are close." if dim == 1 else "Each mark is one row."
    doubtful = estimate.num_doubtful
    return Picture(
        lambda figure: plots.plot_clustering(
            data,
            estimate.assignments,
            estimate.uncertainty,
            ax=figure.subplots(),
            columns=axis_names(view.columns),
        ),
        size=(9, 2.7 if dim == 1 else 4.8),
        alternative=f"The {num_points} rows over {', '.join(axis_names(view.columns))}, coloured by "
        f"{counted(estimate.num_clusters, 'cluster')}; {doubtful} of them uncertain and hollow.",
        caption=f"{layout} Colour and shape are clusters of the partition with the least expected "
        f"variation of information under {view.name}. A full mark is sure to be with its companions; a "
        "hollow one is apart from them in at least half of the draws.",
    )


def counts_section(found: Analysis) -> Section:
    """Show the posterior of the number of clusters, sources side by side."""
    values, by_key = found.num_clusters()
    bars = {
        _BARS.get(key, key if key == "weighted" else found.source(key).name): p for key, p in by_key.items()
    }
    likeliest = ", ".join(f"{values[p.argmax()]} by {name}" for name, p in bars.items())
    picture = Picture(
        lambda figure: plots.plot_num_clusters(values, bars, ax=figure.subplots()),
        size=(9, 3.2),
        alternative=f"Bars of the posterior of the number of clusters. The likeliest number is {likeliest}.",
        caption=_about_counts(found),
    )
    parts = (picture, _counts(values, bars))
    return Section("How many clusters", parts, is_open=True, gist=f"Likeliest: {likeliest}")


def _about_counts(found: Analysis) -> str:
    about = "The height of a bar is the share of the draws with so many clusters."
    if "weights" not in found.results:
        return about
    return (
        f"{about} Bars of equal height at each number mean that the sources agree. Weighted are the same "
        "draws of the guide, each counted by its importance weight."
    )


def _counts(values: np.ndarray, bars: dict[str, np.ndarray]) -> FigureTable:
    columns = np.stack(list(bars.values()))
    likeliest = np.sort(np.argsort(-columns.sum(0), kind="stable")[:_MOST_COUNTS])
    cells = [(str(values[k]), *(number(share) for share in columns[:, k])) for k in likeliest]
    nothing = {number(0.0)}
    return FigureTable(
        "Probabilities of the likeliest numbers of clusters.",
        ("clusters", *bars),
        tuple(row for row in cells if set(row[1:]) != nothing),
        "Posterior of the number of clusters",
    )


_TITLE = "Which rows belong together"


def pairs_section(found: Analysis) -> Section:
    """Show the co-assignment matrix of one source, or those of several with a difference."""
    last = found.sources[-1]
    if len(found.sources) == 1:
        gist = f"The probability of every pair of rows{_among(last)}"
        return Section(_TITLE, (_matrix(last),), is_open=True, gist=gist)
    first = found.reference if found.reference.key != last.key else found.sources[-2]
    gap = float(np.abs(first.summary.co_assignment - last.summary.co_assignment).max())
    of = "" if len(found.sources) == 2 else f" of {first.name} and {last.name}"
    gist = f"Probabilities of pairs{of} differ by at most {number(gap, 2)}{_among(first)}"
    return Section(_TITLE, (_difference(found, first, gap),), is_open=True, gist=gist)


def _among(view: Source) -> str:
    """Say of which rows the pairs are where these are not all."""
    every, some = view.summary.shape[2], len(view.summary.paired_points)
    return "" if some == every else f" among {some:,} of {every:,}"


def _matrix(view: Source) -> Picture:
    matrix = view.summary.co_assignment
    clusters = "clusters" if view.summary.estimate is None else _clusters(view)
    return Picture(
        lambda figure: plots.plot_co_assignment(matrix, dendrogram_order(matrix), ax=figure.subplots()),
        size=(5.4, 4.8),
        alternative=f"Matrix of pairs of rows: the probability by {view.name} that they share a "
        f"cluster, rows ordered so that {clusters} show as squares on the diagonal.",
        caption="Each pixel is a pair of rows, its darkness the probability that the pair shares a "
        "cluster. Dark squares on the diagonal are clusters, pale ones are doubtful.",
    )


def _difference(found: Analysis, first: Source, gap: float) -> Picture:
    every, last = found.sources, found.sources[-1]
    more = f"Two halves of {last.name} differ by {number(last.summary.noise.largest_difference, 2)}."
    title = f"{first.name} minus {last.name}"
    names = ", by ".join(one.name for one in every)

    def draw(figure: Figure) -> None:
        axes, order = figure.subplots(1, len(every) + 1), dendrogram_order(last.summary.co_assignment)
        for one, ax in zip(every, axes, strict=False):
            plots.plot_co_assignment(one.summary.co_assignment, order, ax=ax).set_title(plain_text(one.name))
        pair = first.summary.co_assignment, last.summary.co_assignment
        plots.plot_co_assignment_difference(*pair, order, ax=axes[-1]).set_title(
            title if len(every) < 3 and len(title) < 30 else "difference"
        )

    return Picture(
        draw,
        size=(9, 3.9 if len(every) < 3 else 3.2),
        alternative=f"Matrices of pairs of rows: co-assignment probabilities by {names}, and the difference "
        f"of {first.name} and {last.name}, at most {number(gap, 2)}.",
        caption="Each pixel is a pair of rows, its darkness the probability that the pair shares a "
        "cluster. All panels have the same order of rows, from the dendrogram of the matrix of "
        f"{last.name}: dark squares on the diagonal are clusters, pale ones are doubtful. In the last panel, "
        f"{title}, white is agreement. Largest difference: {number(gap, 2)}. {more}".rstrip(),
    )


def profile_section(view: Source, profiles: ClusterProfiles) -> Section:
    """Show sizes, membership and stability of the clusters, and their centres with intervals."""
    firm = profiles.num_stable
    gist = f"{firm} of {len(profiles.sizes)} come back in most draws"
    parts = (_sizes(view, profiles), _centres(view, profiles))
    return Section("What the clusters are like", parts, is_open=True, gist=gist)


def _centres(view: Source, profiles: ClusterProfiles) -> Picture:
    shown = min(_MOST_COLUMNS, profiles.centres.shape[1])
    return Picture(
        lambda figure: plots.plot_cluster_parameters(
            profiles.centres[:, :shown],
            profiles.centre_low[:, :shown],
            profiles.centre_high[:, :shown],
            axes=figure.subplots(1, shown, squeeze=False)[0],
            columns=axis_names(view.described_by[:shown]),
            sizes=profiles.sizes,
        ),
        size=(9, 1.6 + 0.26 * len(profiles.sizes)),
        alternative=f"Means of {len(profiles.sizes)} clusters in {shown} column(s), with 95 % intervals.",
        caption="The mark is the mean of the cluster in the estimate; the bar holds the "
        "means of its counterparts, the most similar clusters, in 95 % of the draws.",
    )


def _sizes(view: Source, profiles: ClusterProfiles) -> FigureTable:
    points, member = profiles.sizes.sum(), view.summary.membership
    labels = _estimate(view).assignments
    rows_in = np.full(len(labels), np.nan) if member is None else member[np.arange(len(labels)), labels]
    means = np.bincount(labels, weights=rows_in) / profiles.sizes
    rows = tuple(
        (
            str(k + 1),
            str(size),
            f"{number(size / points, 2)} ({number(low, 2)} to {number(high, 2)})",
            number(mean, 2),
            number(stability, 2),
        )
        for k, (size, low, high, mean, stability) in enumerate(
            zip(
                profiles.sizes,
                profiles.share_low,
                profiles.share_high,
                means,
                profiles.stability,
                strict=True,
            )
        )
    )
    return FigureTable(
        "Size and share of each cluster of the estimate, the share with the 95 % interval of its "
        "counterparts, the most similar clusters of the draws; membership is the mean probability of its "
        "rows to be in it; stability is the mean Jaccard index with the counterparts, 1 meaning that it "
        "comes back unchanged in every draw. clusters.csv has these, and the mean of each column with its "
        "interval.",
        ("cluster", "rows", "share (95 %)", "membership", "stability"),
        rows,
    )


def apart_section(found: Analysis, view: Source) -> Section:
    """Say which columns tell the clusters apart, and in a sentence a cluster what sets it apart."""
    assert found.data is not None
    described = found.data.described
    names = axis_names(tuple(name for name, _ in described))
    data = np.stack([values for _, values in described], -1)
    is_answer = [bool(np.isin(column, (0.0, 1.0)).all()) for column in _without_missing(data)]
    shares = column_shares(view.draws.assignments, data=data)
    best = np.argsort(-shares.mean, kind="stable")[:_MOST_SHARES]
    table = FigureTable(
        "Share of the variance of a column that lies between clusters, by the draws of "
        f"{view.name}, with its 95 % interval: 1 where clusters have nothing in common, around 0 where the "
        "column has nothing to do with them.",
        ("column", "between clusters", "95 %"),
        tuple(
            (
                names[d],
                number(shares.mean[d], 2),
                f"{number(shares.low[d], 2)} to {number(shares.high[d], 2)}",
            )
            for d in best
        ),
    )
    contrasts = cluster_contrasts(_estimate(view).assignments, data=data)
    sentences = [
        _contrast(contrasts, k, names, is_answer) for k in np.argsort(-contrasts.sizes, kind="stable")
    ]
    more = len(sentences) - _MOST_SENTENCES
    said = [*sentences[:_MOST_SENTENCES], *([f"And {more} smaller clusters."] if more > 0 else [])]
    said.append(_alone(likely_outliers(view.draws.assignments), found.row_names, view.name))
    gist = f"Most by {names[best[0]]}"
    return Section("What sets them apart", (table, *map(Paragraph, said)), gist=gist)


def _without_missing(data: np.ndarray) -> list[np.ndarray]:
    return [column[~np.isnan(column)] for column in data.T]


def _contrast(contrasts: ClusterContrasts, k: int, names: tuple[str, ...], is_answer: Sequence[bool]) -> str:
    size, effect = contrasts.sizes[k], contrasts.effect[k]
    begin = f"Cluster {k + 1} ({counted(int(size), 'row')})"
    if np.isnan(effect).all():
        return f"{begin} has all rows."
    strong = contrasts.telling(k)
    if not strong:
        return f"{begin} differs from the others in no single column by half of the spread within clusters."
    parts = []
    for d in strong[:_MOST_NAMED]:
        inside, outside = contrasts.inside[k, d], contrasts.outside[k, d]
        if is_answer[d]:
            often = "more" if effect[d] > 0 else "less"
            parts.append(f"{often} often {names[d]} ({inside:.0%} of its rows, {outside:.0%} of the others)")
        else:
            which = "higher" if effect[d] > 0 else "lower"
            spread = number(contrasts.spread_inside[k, d], 2)
            parts.append(
                f"{which} {names[d]} ({number(inside, 3)} ± {spread}, the others {number(outside, 3)})"
            )
    return f"{begin} has {', '.join(parts)}."


def _alone(likely: np.ndarray, names: Sequence[str], source: str) -> str:
    if not len(likely):
        return f"No row is more likely alone than not, by {source}."
    some = ", ".join(names[row] for row in likely[:_MOST_ALONE])
    more = len(likely) - _MOST_ALONE
    rest = f" and {more:,} more" if more > 0 else ""
    return f"More likely alone than not, by {source}: {plain_text(some)}{rest}."
