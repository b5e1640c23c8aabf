"""Pictures of one source of draws: the posterior, its estimates, its convergence."""

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.stats import gaussian_kde

from gallery_parts.picture import picture
from gallery_parts.posteriors import Gallery, shares_of_counts
from pyroclust import diagnostics, models, plots


@picture(
    "One posterior",
    "Each dot is a galaxy: colour and shape say which cluster of the point estimate it is in, and a "
    "hollow dot is apart from its companions in at least half of the posterior.",
)
def clustering(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3)
    unsure = diagnostics.point_uncertainty(galaxies.draws, galaxies.estimate)
    plots.plot_clustering(
        galaxies.data, galaxies.estimate, unsure, ax=figure.subplots(), columns=galaxies.columns
    )
    return figure


@picture(
    "Images and waveforms",
    "Handwritten digits, clustered by a guide that was trained on glyphs of fonts and has seen no digit: a "
    "row is a cluster of the point estimate, its surest images on the left, the least sure on the right.",
)
def contact_sheet(seen: Gallery) -> Figure:
    digits = seen.digits
    figure = plots.new_figure(9, 3.6)
    plots.plot_contact_sheet(digits.points, digits.estimate, digits.unsure, ax=figure.subplots())
    return figure


@picture(
    "Images and waveforms",
    "Digits that a deep mixture makes after a short training without labels: a row is a cluster, a column a "
    "style. A cluster is learned when a row is one digit, a style when a column changes all rows alike.",
)
def generated_images(seen: Gallery) -> Figure:
    figure = plots.new_figure(5, 6)
    plots.plot_generated(seen.generated, ax=figure.subplots())
    return figure


@picture(
    "Images and waveforms",
    "The same digits, the least sure first: those that are most often apart from their companions.",
)
def uncertain_images(seen: Gallery) -> Figure:
    digits = seen.digits
    figure = plots.new_figure(9, 1.8)
    plots.plot_uncertain_images(digits.points, digits.unsure, ax=figure.subplots())
    return figure


@picture(
    "Images and waveforms",
    "Simulated spikes by their neurons: lines are mean waveforms on seven channels, bands one standard "
    "deviation, which amplitudes, drift, overlaps and noise make.",
)
def waveforms(seen: Gallery) -> Figure:
    spikes = seen.spikes
    figure = plots.new_figure(9, 4.5)
    plots.plot_waveforms(spikes.points, spikes.estimate, ax=figure.subplots())
    return figure


@picture(
    "Graphs",
    "The characters of Les Misérables, joined where they share a chapter, by blocks of a stochastic block "
    "model: groups who all know one another, single characters whom many know, and those whom few know. A "
    "hollow mark is apart from its companions in at least half of the draws.",
)
def graph(seen: Gallery) -> Figure:
    novel = seen.novel
    figure = plots.new_figure(9, 7)
    plots.plot_graph(novel.points, novel.estimate, novel.unsure, ax=figure.subplots(), names=novel.names)
    return figure


@picture(
    "Graphs",
    "The matrix of the same graph, its rows and columns sorted by block, the largest first: the model "
    "expects one rate of edges in each frame, and one between each two.",
)
def block_matrix(seen: Gallery) -> Figure:
    novel = seen.novel
    figure = plots.new_figure(7, 5)
    plots.plot_block_matrix(novel.points, novel.estimate, ax=figure.subplots())
    return figure


@picture(
    "One posterior",
    "One stem is one flower, sorted within its cluster: the higher, the less sure is its place; above "
    "the dashed line it is more often apart from its companions than with them.",
)
def point_uncertainty(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 3)
    unsure = diagnostics.point_uncertainty(iris.draws, iris.estimate)
    plots.plot_point_uncertainty(unsure, iris.estimate, ax=figure.subplots())
    return figure


@picture(
    "One posterior",
    "Six posterior draws; clusters keep their colour and shape from draw to draw as far as their points "
    "overlap, so that what changes is what the posterior is unsure of.",
)
def partition_draws(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 4)
    axes = figure.subplots(2, 3, sharex=True)
    plots.plot_partition_draws(galaxies.data, galaxies.draws, axes=axes, columns=galaxies.columns)
    return figure


@picture(
    "One posterior",
    "The same for two columns: three draws of the partition of iris petals.",
)
def partition_draws_in_the_plane(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 3.3)
    axes = figure.subplots(1, 3)
    plots.plot_partition_draws(iris.data, iris.draws, axes=axes, columns=iris.columns)
    return figure


@picture(
    "One posterior",
    "The same for four columns, on their first two principal components.",
)
def partition_draws_projected(seen: Gallery) -> Figure:
    flowers = seen.flowers
    figure = plots.new_figure(9, 3.3)
    plots.plot_partition_draws(flowers.data, flowers.guide, axes=figure.subplots(1, 3))
    return figure


@picture(
    "One posterior",
    "Each pixel is a pair of points, the darker the more often together; in the third panel white is "
    "agreement of guide and MCMC. All panels have the same order of points, from a dendrogram.",
)
def co_assignment(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3.9)
    order = diagnostics.dendrogram_order(galaxies.similarity)
    guide, mcmc, gap = figure.subplots(1, 3)
    by_guide = diagnostics.co_assignment(galaxies.guide)
    plots.plot_co_assignment(by_guide, order, ax=guide).set_title("guide")
    plots.plot_co_assignment(galaxies.similarity, order, ax=mcmc).set_title("MCMC")
    plots.plot_co_assignment_difference(by_guide, galaxies.similarity, order, ax=gap).set_title("difference")
    return figure


@picture(
    "One posterior",
    "The posterior of the number of clusters: bars of equal height mean that guide and MCMC agree.",
)
def num_clusters(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3.2)
    rows = {"guide": galaxies.guide, "MCMC": galaxies.draws}
    values, bars = np.arange(1, 83), {name: shares_of_counts(draws) for name, draws in rows.items()}
    plots.plot_num_clusters(values, bars, ax=figure.subplots())
    return figure


@picture(
    "Estimates",
    "The ten most probable partitions of twelve galaxies, one strip each: points from left to right, in "
    "the order of the dendrogram, coloured and numbered by cluster; bars are probabilities.",
)
def ranked_partitions(seen: Gallery) -> Figure:
    few = seen.few
    figure = plots.new_figure(9, 4.2)
    ranked = diagnostics.ranked_partitions(few.draws)
    order = diagnostics.dendrogram_order(few.similarity)
    plots.plot_ranked_partitions(ranked, order, ax=figure.subplots())
    return figure


@picture(
    "Estimates",
    "Where one estimate would hide the truth: the modes of the posterior, each with the share of the "
    "draws that are nearest to it.",
)
def modes(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 3.3)
    found = diagnostics.partition_modes(iris.draws, seed=0, num_modes=3)
    plots.plot_modes(iris.data, found, axes=figure.subplots(1, 3), columns=iris.columns)
    return figure


@picture(
    "Estimates",
    "What missing cells may hold, here every tenth petal width of the irises and whether every tenth one is "
    "setosa: 95 % of the draws of each above the widths that are there, and probabilities.",
)
def missing_cells(seen: Gallery) -> Figure:
    iris, names = seen.iris, ("other", "setosa")
    points, gaps = torch.from_numpy(iris.data), torch.arange(len(iris.data)) % 10 == 0
    points = (points - points.mean(0)) / points.std(0)
    is_setosa = torch.from_numpy(iris.data[:, 0] < 2.5).double()
    widths, setosa = points[:, 1].masked_fill(gaps, torch.nan), is_setosa.masked_fill(gaps, torch.nan)
    rows = torch.stack([points[:, 0], widths, setosa], -1)
    model = models.table_mixture(numbers=2, yes_no=1, missing=True)
    torch.manual_seed(0)
    found = models.PosteriorPredictive(
        model, rows, torch.from_numpy(iris.draws).flatten(0, -2)
    ).sample_missing()
    drawn, answers = found[:, 0::2].numpy(), found[:, 1::2].mean(0).numpy()
    figure = plots.new_figure(9, 3.6)
    left, right = figure.subplots(1, 2)
    there = widths[~gaps].numpy()
    plots.plot_missing_numbers(drawn, there, ax=left, column="petal width, standardised")
    plots.plot_missing_levels(np.stack([1 - answers, answers], -1), names, ax=right, column="species")
    return figure


@picture(
    "Estimates",
    "The estimate, and the partitions at the edge of its 95 % credible ball: the farthest, the farthest "
    "of those with the fewest clusters, and the farthest of those with the most.",
)
def credible_ball(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 4)
    ball = diagnostics.credible_ball(galaxies.draws, galaxies.estimate)
    axes = figure.subplots(2, 2, sharex=True)
    plots.plot_credible_ball(galaxies.data, ball, axes=axes, columns=galaxies.columns)
    return figure


@picture(
    "Estimates",
    "How far the draws lie from the estimate: all to the left of the dashed line are in the credible ball.",
)
def distance_histogram(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3)
    ball = diagnostics.credible_ball(galaxies.draws, galaxies.estimate)
    plots.plot_distance_histogram(ball, ax=figure.subplots())
    return figure


@picture(
    "Estimates",
    "Where the clusters of the estimate lie: marks are their centres, lines hold 95 % of the centres of "
    "their counterparts in the draws.",
)
def cluster_parameters(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 2.4)
    found = diagnostics.cluster_profiles(iris.draws, iris.estimate, data=iris.data)
    plots.plot_cluster_parameters(
        found.centres,
        found.centre_low,
        found.centre_high,
        axes=figure.subplots(1, 2),
        columns=iris.columns,
        sizes=found.sizes,
    )
    return figure


@picture(
    "Convergence",
    "One colour a chain: chains that lie over each other and wander over the whole range have converged.",
)
def trace(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3)
    left, right = figure.subplots(1, 2)
    plots.plot_trace(galaxies.log_joint, ax=left, name="log joint (nats)")
    plots.plot_trace(galaxies.draws.max(-1) + 1, ax=right, name="number of clusters")
    legend = figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    for line in legend.get_lines():
        line.set_linewidth(2.5)
    return figure


@picture(
    "Convergence",
    "Ranks of each chain's draws among all draws: bars at the height of their dashed lines say that all "
    "chains sample the same distribution.",
)
def rank_bars(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3.6)
    left, right = figure.subplots(1, 2)
    plots.plot_rank_bars(galaxies.log_joint, ax=left, name="log joint")
    plots.plot_rank_bars(galaxies.draws.max(-1) + 1.0, ax=right, name="number of clusters")
    return figure


@picture(
    "Convergence",
    "R-hat and effective draws of every functional: dots left of the dashed line in the first panel and "
    "right of it in the second are good.",
)
def convergence(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3.6)
    values = diagnostics.functionals(galaxies.draws) | {"log_joint": galaxies.log_joint}
    plots.plot_convergence(diagnostics.convergence(values), axes=figure.subplots(1, 2))
    return figure


@picture(
    "Convergence",
    "Effective draws of whether two points share a cluster, for pairs of points: bars left of the solid "
    "line are pairs whose probability is not known well.",
)
def co_membership(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3)
    found = diagnostics.co_membership_ess(galaxies.draws, num_pairs=400, seed=0)
    plots.plot_co_membership(found, ax=figure.subplots())
    return figure


@picture(
    "Convergence",
    "Distances of the draws to partitions taken from the chains: a chain in a mode of its own keeps "
    "other distances than the rest, even where all have the same number of clusters.",
)
def distances(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3)
    found = diagnostics.distance_rhat(galaxies.draws, seed=0)
    plots.plot_distances(galaxies.draws, found, axes=figure.subplots(1, 2))
    return figure


@picture(
    "Estimates",
    "The clusters of the estimate as diagonal Gaussians: ellipses of two standard deviations, the wider the "
    "line, the more points. Guides that say the parameters of a mixture are drawn so.",
)
def components(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 3.6)
    clusters = [iris.data[iris.estimate == k] for k in range(iris.estimate.max() + 1)]
    weights = np.bincount(iris.estimate) / len(iris.data)
    means, scales = (np.stack([by(own, axis=0) for own in clusters]) for by in (np.mean, np.std))
    plots.plot_components(iris.data, weights, means, scales, ax=figure.subplots(), assignments=iris.estimate)
    return figure


@picture(
    "Estimates",
    "Clusters of any shape by their densities, outlines that hold half and nine tenths of each: here smooth "
    "densities of the clusters of the estimate, elsewhere the flows of a guide.",
)
def cluster_densities(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 3.6)
    clusters = [iris.data[iris.estimate == k] for k in range(iris.estimate.max() + 1)]
    smooth = [gaussian_kde(own.T) for own in clusters if len(own) > 3]

    def log_densities(points: np.ndarray) -> np.ndarray:
        return np.stack([one.logpdf(points.T) for one in smooth])

    plots.plot_cluster_densities(iris.data, log_densities, ax=figure.subplots(), assignments=iris.estimate)
    return figure


@picture(
    "Estimates",
    "Clusters taken away one after the other, as filtering does: in colour what a round takes, in grey what "
    "is left for the next.",
)
def filtering(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 3)
    rounds = iris.estimate.max() + 1
    plots.plot_filtering(iris.data, iris.estimate, axes=np.atleast_1d(figure.subplots(1, min(rounds, 4))))
    return figure
