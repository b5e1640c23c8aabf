"""What the clusters are: how many there are, which rows belong together, profiles, what sets them apart."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pyroclust import diagnostics, plots
from pyroclust.baselines.scores import labels_found
from pyroclust.core.messages import visible
from pyroclust.diagnostics.findings import split_finding
from pyroclust.diagnostics.limits import MAX_GAIN, MIN_TELLING_SHARE
from pyroclust.diagnostics.split_clusters import HEAVY, OVERDISPERSED, SKEWED, SplitClusters
from pyroclust.plots.drawable import counted, plain_text
from pyroclust.report.parts import (
    FigureTable,
    Paragraph,
    Part,
    Picture,
    Section,
    axis_names,
    interval,
    number,
    numbers,
)
from pyroclust.results.analysis import Analysis
from pyroclust.results.summaries import DrawsSummary

_MOST_COLUMNS, _MOST_LABELS = 4, 30
_MOST_NAMED, _MOST_SENTENCES, _MOST_SHARES, _MOST_ALONE = 3, 12, 30, 8
_MOST_COUNTS, _LEAST_SHOWN = 12, 0.0005
_MOST_SPLIT = 8
_BARS = {"guide": "guide", "weighted": "weighted draws", "refined": "refined draws", "mcmc": "MCMC"}


def counts_section(analysis: Analysis) -> Section:
    """Show the posterior of the number of clusters, sources side by side, and the prior behind them."""
    values, by_key = analysis.num_clusters()
    bars = {_BARS[key] if key in _BARS else analysis.summary(key).name: p for key, p in by_key.items()}
    likeliest = ", ".join(f"{values[p.argmax()]} by {name}" for name, p in bars.items())
    caption = "The height of a bar is the share of the draws with so many clusters."
    law, prior = analysis.results.get("prior_num_clusters"), None
    if law is not None:
        # It begins at one cluster, and goes on at least as far as the draws.
        prior = np.asarray(law["probabilities"])
        around = values[0] - 1, len(prior) - values[-1]
        values, bars = np.arange(1, len(prior) + 1), {name: np.pad(p, around) for name, p in bars.items()}
        points = f"{len(analysis.row_names):,} points"
        caption += f" Wide pale bars are the prior: what the model says of {points} before it sees them."
    if "weights" in analysis.results:
        caption += (
            " Bars of equal height at each number mean that the sources agree. Weighted are the same "
            "draws of the guide, each counted by its importance weight."
        )
    picture = counts_picture(values, bars, prior=prior, likeliest=likeliest, caption=caption)
    columns = np.stack([*bars.values(), *([] if prior is None else [prior])])
    drawn = columns[: len(bars)].sum(0)
    shown = np.sort(np.argsort(-drawn, kind="stable")[:_MOST_COUNTS])
    table = FigureTable(
        "Probabilities of the likeliest numbers of clusters.",
        ("clusters", *bars, *([] if prior is None else ["prior"])),
        tuple((str(values[k]), *numbers(columns[:, k])) for k in shown if drawn[k] >= _LEAST_SHOWN),
        "Posterior of the number of clusters",
    )
    large = Paragraph(
        f"{analysis.in_words.large_clusters.how_many}, by {analysis.reference.name}: smaller ones, such as "
        "single rows in clusters of their own, are not counted there."
    )
    parts: tuple[Part, ...] = (picture, large, table)
    if others := analysis.results.get("other_priors"):
        parts += (_other_priors(others),)
    return Section("How many clusters", parts, is_open=True, gist=f"Likeliest: {likeliest}")


def _other_priors(others: Sequence[Mapping[str, Any]]) -> FigureTable:
    rows = []
    for one in others:
        said = ("cannot tell", "", "")
        if one["tells"]:
            low, high = one["interval"]
            said = str(one["num_clusters"]), number(one["probability"]), f"{low} to {high}"
        rows.append((one["prior"], *said, number(one["effective_share"], 2)))
    return FigureTable(
        "How much the prior matters: the same draws, weighted to other priors of the partition. Where less "
        f"than {100 * MIN_TELLING_SHARE:.0f} % of the draws counts, they cannot tell.",
        ("prior", "likeliest", "probability", "90 % interval", "share of the draws that counts"),
        tuple(rows),
    )


def counts_picture(
    values: np.ndarray,
    bars: Mapping[str, np.ndarray],
    *,
    likeliest: str,
    caption: str,
    prior: np.ndarray | None = None,
) -> Picture:
    """Draw posteriors of the number of clusters side by side."""
    return Picture(
        lambda figure: plots.plot_num_clusters(values, bars, prior=prior, ax=figure.subplots()),
        size=(9, 3.2),
        alternative=f"Bars of the posterior of the number of clusters. The likeliest number is {likeliest}.",
        caption=caption,
    )


_SHAPES = {
    HEAVY: "heavy-tailed (Student-t)",
    SKEWED: "skewed (Johnson's S_U)",
    OVERDISPERSED: "overdispersed (negative binomial)",
}


def split_section(analysis: Analysis, split: SplitClusters) -> Section:
    """Show what another shape gains on each cluster, and on neighbours as one."""
    finding = split_finding(split)
    table = FigureTable(
        "Normal clusters are neither skewed nor heavy-tailed, and Poisson counts are not overdispersed: a "
        "cluster of such a shape is made of several of them, and counted several times. For neighbours as "
        "one, and for clusters that most draws split, this is what one cluster of another shape gains, "
        "after what its parameters cost; of counts what all these groups gain together: above "
        f"{MAX_GAIN:g} nats, odds of 150 to 1, the check fails.",
        ("clusters", "rows", "best other shape", "gain, nats"),
        tuple(
            (
                " and ".join(str(k + 1) for k in one.clusters),
                f"{one.rows:,}",
                _SHAPES[one.shape],
                number(one.gain, 1),
            )
            for one in split.groups[:_MOST_SPLIT]
        ),
    )
    said = f"{finding.sentence[0].upper()}{finding.sentence[1:]}"
    return Section("Are clusters split because of their shape", (Paragraph(f"{said}."), table), gist=said)


def pairs_section(analysis: Analysis) -> Section:
    """Show the co-assignment matrix of one source, or those of several with a difference."""
    *others, last = analysis.sources
    shown = analysis.reference if analysis.reference.key != last.key or not others else others[-1]
    matrix = shown.co_assignment
    if not others:
        estimate = last.estimate
        clusters = "clusters" if estimate is None else counted(estimate.num_clusters, "cluster")
        gist = "The probability of every pair of rows"
        picture = Picture(
            lambda figure: plots.plot_co_assignment(
                matrix, diagnostics.dendrogram_order(matrix), ax=figure.subplots()
            ),
            size=(5.4, 4.8),
            alternative=f"Matrix of pairs of rows: the probability by {last.name} that they share a "
            f"cluster, rows ordered so that {clusters} show as squares on the diagonal.",
            caption="Each pixel is a pair of rows, its darkness the probability that the pair shares a "
            "cluster. Dark squares on the diagonal are clusters, pale ones are doubtful.",
        )
    else:
        gap = number(float(np.abs(matrix - last.co_assignment).max()), 2)
        title = f"{shown.name} minus {last.name}"
        noise = number(last.noise.largest_difference, 2)
        picture = matrices_picture(
            {source.name: source.co_assignment for source in analysis.sources},
            (matrix, last.co_assignment),
            title=title if len(others) < 2 and len(title) < 30 else "difference",
            alternative="Matrices of pairs of rows: co-assignment probabilities by "
            f"{', by '.join(source.name for source in analysis.sources)}, and the difference "
            f"of {shown.name} and {last.name}, at most {gap}.",
            caption="Each pixel is a pair of rows, its darkness the probability that the pair shares a "
            "cluster. All panels have the same order of rows, from the dendrogram of the matrix of "
            f"{last.name}: dark squares on the diagonal are clusters, pale ones are doubtful. In the last "
            f"panel, {title}, white is agreement. Largest difference: {gap}. Two halves of {last.name} "
            f"differ by {noise}.",
        )
        of = "" if len(others) == 1 else f" of {shown.name} and {last.name}"
        gist = f"Probabilities of pairs{of} differ by at most {gap}"
    every, some = shown.shape[2], len(shown.paired_points)
    among = "" if some == every else f" among {some:,} of {every:,}"
    return Section("Which rows belong together", (picture,), is_open=True, gist=gist + among)


def matrices_picture(
    matrices: Mapping[str, np.ndarray],
    pair: tuple[np.ndarray, np.ndarray],
    *,
    title: str,
    alternative: str,
    caption: str,
) -> Picture:
    """Draw co-assignment matrices, and the difference of two, rows in the order of the last matrix."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(matrices) + 1)
        order = diagnostics.dendrogram_order(list(matrices.values())[-1])
        for (name, matrix), ax in zip(matrices.items(), axes, strict=False):
            plots.plot_co_assignment(matrix, order, ax=ax).set_title(plain_text(name))
        plots.plot_co_assignment_difference(*pair, order, ax=axes[-1]).set_title(title)

    return Picture(
        draw, size=(9, 3.9 if len(matrices) < 3 else 3.2), alternative=alternative, caption=caption
    )


def profile_section(analysis: Analysis) -> Section | None:
    """Show sizes, membership and stability of the clusters, and their centres with intervals."""
    profiles = analysis.reference.profiles
    if profiles is None or analysis.data is None:
        return None
    sizes = analysis.reference.sizes
    parts: list[Part] = [
        FigureTable(
            "Size and share of each cluster of the estimate, the share with the 95 % interval of its "
            "counterparts, the most similar clusters of the draws; membership is the mean probability of its "
            "rows to be in it; stability is the mean Jaccard index with the counterparts, 1 meaning that it "
            "comes back unchanged in every draw. clusters.csv has these, and the mean of each column with "
            "its interval.",
            ("cluster", "rows", "share (95 %)", "membership", "stability"),
            tuple(
                (
                    str(one.cluster),
                    str(size),
                    f"{number(one.share, 2)} ({interval(one.share_low, one.share_high, 2)})",
                    *numbers((one.mean_membership, one.stability), 2),
                )
                for size, one in zip(sizes, analysis.clusters().itertuples(), strict=True)
            ),
        )
    ]
    if analysis.data.table.labels is not None:
        parts.append(_labels(analysis.data.table.labels, analysis.reference))
    columns = min(_MOST_COLUMNS, profiles.centres.shape[1])
    names = axis_names(analysis.data.described_by[:columns])
    picture = Picture(
        lambda figure: plots.plot_cluster_parameters(
            profiles.centres[:, :columns],
            profiles.centre_low[:, :columns],
            profiles.centre_high[:, :columns],
            axes=figure.subplots(1, columns, squeeze=False)[0],
            columns=names,
            sizes=sizes,
        ),
        size=(9, 1.6 + 0.26 * len(sizes)),
        alternative=f"Means of {len(sizes)} clusters in {columns} column(s), with 95 % intervals.",
        caption="The mark is the mean of the cluster in the estimate; the bar holds the "
        "means of its counterparts, the most similar clusters, in 95 % of the draws.",
    )
    gist = f"{profiles.num_stable} of {len(sizes)} come back in most draws"
    return Section("What the clusters are like", (*parts, picture), is_open=True, gist=gist)


def _labels(labels: np.ndarray, view: DrawsSummary) -> FigureTable:
    rows = labels_found(labels, view.assignments, row_weights=view.row_weights)
    return FigureTable(
        "Known labels, which were not used: the cluster that holds most rows of each, the share of its "
        "rows that are there, and the share of that cluster's labelled rows that have the label.",
        ("label", "rows", "cluster", "share found", "share of the cluster"),
        tuple(
            (
                visible(one.label),
                str(one.points),
                str(one.cluster + 1),
                *numbers((one.share_found, one.share_of_cluster), 2),
            )
            for one in rows[:_MOST_LABELS]
        ),
    )


def apart_section(analysis: Analysis) -> Section | None:
    """Say which columns tell the clusters apart, and in a sentence a cluster what sets it apart."""
    view, estimate = analysis.reference, analysis.reference.estimate
    data = None if analysis.data is None else analysis.data.described
    if analysis.data is None or data is None or estimate is None:
        return None
    names = axis_names(analysis.data.described_by)
    drawn: dict[str, Any] = {"draws": view.enough, "row_weights": view.row_weights}
    shares = diagnostics.column_shares(**drawn, data=data)
    best = np.argsort(-shares.mean, kind="stable")[:_MOST_SHARES]
    table = FigureTable(
        "Share of the variance of a column that lies between clusters, by the draws of "
        f"{view.name}, with its 95 % interval: 1 where clusters have nothing in common, around 0 where the "
        "column has nothing to do with them.",
        ("column", "between clusters", "95 %"),
        tuple(
            (names[d], number(shares.mean[d], 2), interval(shares.low[d], shares.high[d], 2)) for d in best
        ),
    )
    is_answer = [bool(np.isin(column[~np.isnan(column)], (0.0, 1.0)).all()) for column in data.T]
    contrasts = diagnostics.cluster_contrasts(estimate.assignments, data=data, row_weights=view.row_weights)
    sizes = view.sizes
    largest = np.argsort(-sizes, kind="stable")
    said = [_contrast(contrasts, k, sizes, names, is_answer) for k in largest[:_MOST_SENTENCES]]
    more = len(largest) - _MOST_SENTENCES
    said += [f"And {more} smaller clusters."] if more > 0 else []
    alone = diagnostics.likely_outliers(**drawn)
    if len(alone):
        some, more = (
            ", ".join(analysis.row_names[row] for row in alone[:_MOST_ALONE]),
            len(alone) - _MOST_ALONE,
        )
        rest = f" and {more:,} more" if more > 0 else ""
        said.append(f"More likely alone than not, by {view.name}: {plain_text(some)}{rest}.")
    else:
        said.append(f"No row is more likely alone than not, by {view.name}.")
    gist = f"Most by {names[best[0]]}"
    return Section("What sets them apart", (table, *map(Paragraph, said)), gist=gist)


def _contrast(
    contrasts: diagnostics.ClusterContrasts,
    k: int,
    sizes: np.ndarray,
    names: tuple[str, ...],
    is_answer: Sequence[bool],
) -> str:
    size, effect = sizes[k], contrasts.effect[k]
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
            around = f"{number(inside)} ± {number(contrasts.spread_inside[k, d], 2)}"
            parts.append(f"{which} {names[d]} ({around}, the others {number(outside)})")
    return f"{begin} has {', '.join(parts)}."
