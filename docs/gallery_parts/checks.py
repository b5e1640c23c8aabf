"""Pictures of two sources, of calibration, of other methods and of training."""

import numpy as np
from matplotlib.figure import Figure

from gallery_parts.picture import picture
from gallery_parts.posteriors import Gallery, Posterior, shares_of_counts
from pyroclust import diagnostics, plots, read_table, standardise
from pyroclust.baselines import partition_scores, run_baselines
from pyroclust.saving.cards import find_guide, read_card


@picture(
    "Two sources",
    "How far the guide is from MCMC, and how far two halves of MCMC are from each other: a full dot "
    "near its hollow one is agreement as far as this MCMC can tell.",
)
def agreement(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3)
    found = diagnostics.agreement(galaxies.guide, galaxies.draws)
    plots.plot_agreement(found, ax=figure.subplots())
    return figure


@picture(
    "Two sources",
    "Distances between two draws: of one source, of the other, and one of each. Lines that lie over "
    "each other mean that the sources agree.",
)
def two_samples(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3.2)
    plots.plot_two_samples(
        galaxies.guide, galaxies.draws, ax=figure.subplots(), seed=0, names=("guide", "MCMC")
    )
    return figure


@picture(
    "Two sources",
    "Each mark is a partition, near to others like it: sources that agree cover the same ground.",
)
def partition_map(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 4.6)
    plots.plot_partition_map(
        galaxies.guide, galaxies.draws, ax=figure.subplots(), seed=0, names=("guide", "MCMC")
    )
    return figure


@picture(
    "Two sources",
    "A two-sample test: the grey bars are what the statistic would be if the sources did not differ, "
    "the red line what it is; far to the right of the bars the sources differ.",
)
def permutation_null(seen: Gallery) -> Figure:
    galaxies = seen.galaxies
    figure = plots.new_figure(9, 3)
    test = diagnostics.mmd_test(galaxies.guide, galaxies.draws, seed=0)
    plots.plot_permutation_null(test, ax=figure.subplots(), statistic="squared MMD of partitions")
    return figure


@picture(
    "Two sources",
    "Log importance weights of the guide's draws: a perfect guide has all of them at the dashed line.",
)
def log_weights(seen: Gallery) -> Figure:
    figure = plots.new_figure(9, 3)
    plots.plot_log_weights(seen.galaxies.log_weights, ax=figure.subplots())
    return figure


@picture(
    "Calibration",
    "Simulation-based calibration: lines inside the band mean that the truth is like one more draw of "
    "the guide.",
)
def rank_ecdf(seen: Gallery) -> Figure:
    figure = plots.new_figure(9, 3.6)
    truth, draws = (values_of(x) for x in (seen.truth[None], seen.simulated))
    found = diagnostics.sbc({name: row[0] for name, row in truth.items()}, draws, seed=0, num_bins=20)
    plots.plot_rank_ecdf({row.name: row.counts for row in found.rows}, ax=figure.subplots())
    return figure


def values_of(partitions: np.ndarray) -> dict[str, np.ndarray]:
    """Return three functionals of partitions ``(S, B, N)``."""
    reference = np.zeros(partitions.shape[-1], dtype=np.int64)
    found = diagnostics.functionals(partitions, reference=reference, num_pairs=0)
    return {name: found[name] for name in ("num_clusters", "entropy", "largest_share")}


@picture(
    "Calibration",
    "The local check: the same for those simulations that are most like the observed data, here the "
    "galaxies.",
)
def local_calibration(seen: Gallery) -> Figure:
    figure = plots.new_figure(9, 3.6)
    rows = seen.near.calibration.sbc.rows
    plots.plot_rank_ecdf({row.name: row.counts for row in rows}, ax=figure.subplots())
    return figure


@picture(
    "Calibration",
    "How often credible balls hold the partition that the data were simulated from: dots in the band "
    "are as they should be, below it the guide is too sure.",
)
def coverage(seen: Gallery) -> Figure:
    figure = plots.new_figure(5, 4.4)
    found = diagnostics.ball_coverage(seen.truth, seen.simulated, seed=0)
    plots.plot_coverage(found, ax=figure.subplots())
    return figure


@picture(
    "Calibration",
    "Of the pairs that share a cluster with probability p, a share p should: dots on the diagonal, or "
    "at least in their grey bars.",
)
def reliability(seen: Gallery) -> Figure:
    figure = plots.new_figure(5, 4.4)
    found = diagnostics.pair_reliability(seen.truth, seen.simulated)
    plots.plot_reliability(found, ax=figure.subplots())
    return figure


@picture(
    "Calibration",
    "The posterior of the number of clusters, averaged over data of the model, should be the prior: "
    "bars of equal height, as far as the error bars say.",
)
def averaged_posterior(seen: Gallery) -> Figure:
    figure = plots.new_figure(9, 3.2)
    shares = np.stack([shares_of_counts(seen.simulated[:, b]) for b in range(seen.truth.shape[0])])
    error = shares.std(0) / np.sqrt(len(shares))
    simulated = shares_of_counts(seen.truth)
    plots.plot_averaged_posterior(
        simulated, shares.mean(0), error, ax=figure.subplots(), prior_name="simulated"
    )
    return figure


@picture(
    "Calibration",
    "Where the data lie among simulations of the guide's model, summary by summary: a red cross far "
    "outside the grey band is something that the guide has not been trained for.",
)
def familiarity(seen: Gallery) -> Figure:
    galaxies = standardise(read_table("galaxies")).data
    figure = plots.new_figure(9, 3.6)
    found = diagnostics.familiarity(galaxies, seen.familiar)
    plots.plot_familiarity(found, ax=figure.subplots())
    return figure


@picture(
    "Calibration",
    "The share of a guide's draws that count as exact ones, by size of the data: median and 5 to 95 % "
    "of the data sets, with the share of data sets whose weights cannot be trusted below.",
)
def efficiency(seen: Gallery) -> Figure:
    figure = plots.new_figure(9, 3)
    certificate = read_card(find_guide("ncp-nig1d")).certificate
    plots.plot_efficiency(certificate["sampled"], ax=figure.subplots())
    return figure


@picture(
    "Calibration",
    "By how much a guide's log q changes with the order in which it visits the points; 0 is an exact "
    "posterior.",
)
def order_spread(seen: Gallery) -> Figure:
    figure = plots.new_figure(9, 2)
    certificate = read_card(find_guide("ncp-nig1d")).certificate
    plots.plot_order_spread(certificate["order"], ax=figure.subplots())
    return figure


@picture(
    "Calibration",
    "A guide's certificate at a glance: efficiency, calibration, number of clusters and order of "
    "points, as its card stores them.",
)
def certificate(seen: Gallery) -> Figure:
    card = read_card(find_guide("ncp-nig1d"))
    return plots.plot_certificate(card.certificate, name="ncp-nig1d")


@picture(
    "Other methods",
    "What other methods make of the same data; clusters have the colours of the Bayesian estimate's as "
    "far as their points overlap.",
)
def baselines(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 5)
    axes = figure.subplots(2, 3)
    plots.plot_baselines(iris.data, other_partitions(iris), axes=axes, columns=iris.columns)
    return figure


@picture(
    "Other methods",
    "How near each method comes to labels that are known: the farther to the right the better.",
)
def scores(seen: Gallery) -> Figure:
    iris = seen.iris
    figure = plots.new_figure(9, 2.6)
    found = {name: partition_scores(iris.truth, labels) for name, labels in other_partitions(iris).items()}
    rows = {
        name: {
            "ARI": row.adjusted_rand,
            "AMI": row.adjusted_mutual_information,
            "NMI (arithmetic)": row.normalised_mutual_information_arithmetic,
            "accuracy": row.accuracy,
        }
        for name, row in found.items()
    }
    plots.plot_scores(rows, ax=figure.subplots())
    return figure


def other_partitions(posterior: Posterior) -> dict[str, np.ndarray]:
    """Return the Bayesian estimate, and the partitions of five other methods."""
    found = run_baselines(posterior.data, seed=0)
    return {"Bayesian": posterior.estimate} | {one.name: one.assignments for one in found}


@picture(
    "Training",
    "A training at a glance: the loss on fresh simulations, the learning rate, and the measurements on "
    "data sets that are never trained on.",
)
def training(seen: Gallery) -> Figure:
    return plots.plot_training(seen.log, seen.validation, name="a short training on gaussian2d")


@picture(
    "Training",
    "The loss alone: the band holds the 10th to 90th percentile of the steps.",
)
def training_loss(seen: Gallery) -> Figure:
    figure = plots.new_figure(9, 3)
    plots.plot_training_loss(seen.log["step"], seen.log["nats_per_point"], ax=figure.subplots())
    return figure
