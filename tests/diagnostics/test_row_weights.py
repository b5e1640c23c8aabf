"""Rows that stand for several equal ones: every figure is that of the labels with each one repeated."""

from dataclasses import asdict

import numpy as np
import pytest

from pyroclust.baselines.scores import labels_found, scores_where_known
from pyroclust.diagnostics import (
    AdjustedRand,
    Binder,
    NormalisedVariationOfInformation,
    VariationOfInformation,
    cluster_contrasts,
    cluster_profiles,
    column_shares,
    compare_sources,
    credible_ball,
    distance_rhat,
    functionals,
    outlier_probabilities,
    pairwise_loss,
    partition_modes,
    point_uncertainty,
)
from pyroclust.diagnostics.chains import least_rows, num_large_clusters
from pyroclust.diagnostics.clusters import membership
from pyroclust.diagnostics.constraint_effect import constraint_effect
from pyroclust.diagnostics.differences import central_draw, marginals
from pyroclust.diagnostics.findings import clarity_finding, share_of_sure_pairs, share_together
from pyroclust.diagnostics.frequencies import co_assignment
from pyroclust.partitions import Draws
from pyroclust.results.answer import AnswerInWords
from pyroclust.results.summaries import DrawsSummary

POINTS, CHAINS, DRAWS = 11, 2, 30
LOSSES = (VariationOfInformation(0.6), Binder(1.3), NormalisedVariationOfInformation(), AdjustedRand())


class Case:
    """Draws around two partitions, points with gaps, labels, and how often each point counts."""

    def __init__(self, rng):
        centres = rng.integers(4, size=(2, 1, POINTS))
        moves = rng.random((CHAINS, DRAWS, POINTS)) < 0.15
        drawn = np.where(rng.random((CHAINS, DRAWS, 1)) < 0.5, *centres)
        self.draws = np.where(moves, rng.integers(5, size=moves.shape), drawn)
        # Its last point is alone.
        self.estimate = np.append(rng.permutation(np.arange(POINTS - 1) % 3), 3)
        self.free = rng.permutation(self.draws, axis=-1)
        self.data = rng.normal(size=(POINTS, 2)) + self.estimate[:, None]
        self.data[rng.integers(POINTS - 1), 1] = np.nan
        self.labels = np.array(["a", "b", None], dtype=object)[rng.integers(3, size=POINTS)]
        self.times = rng.integers(1, 5, size=POINTS)
        # A large one, so that one row in a hundred is more than two.
        self.times[rng.integers(POINTS - 1)] = 400
        self.times[-1] = 1
        self.row_weights = self.times

    def repeated(self):
        """Write each row as often as it counts."""
        every = object.__new__(Case)
        every.times, every.row_weights = self.times, None
        for name in ("draws", "estimate", "free", "labels"):
            setattr(every, name, getattr(self, name).repeat(self.times, -1))
        every.data = self.data.repeat(self.times, 0)
        return every

    @property
    def of_rows(self):
        return {"row_weights": self.row_weights}

    @property
    def uncertainty(self):
        return point_uncertainty(self.draws, self.estimate, **self.of_rows)

    @property
    def summary(self):
        return DrawsSummary(
            Draws(assignments=self.draws, log_joint=np.zeros(self.draws.shape[:2])),
            name="the draws",
            seed=1,
            data=self.data,
            true_labels=self.labels,
            known=self.estimate,
            **self.of_rows,
        )


def in_words(case):
    found = AnswerInWords.of(case.summary, rely="", following="", given="")
    large = found.large_clusters
    return [found.sizes, found.certain_rows, found.certain_pairs, large.least_rows, large.probability]


def summarised(case):
    """Return the figures of summary.json, but for the pairs of points that convergence looks at."""
    view, figures = case.summary, case.summary.figures()
    rows = [row for row in figures["convergence"] if not row["name"].startswith("together")]
    estimate, large = figures["point_estimate"], figures["num_large_clusters"]
    return [
        *([row["mean"], row["sd"]] for row in rows),
        *([row["rhat"], row["ess_bulk"]] for row in rows if not row["constant"]),
        *(estimate["mean_uncertainty"], estimate["adjusted_rand_to_labels"], estimate["assignments"]),
        *(large["least_rows"], large["probabilities"]),
        *(figures["credible_ball"]["radius"], figures["credible_ball"]["lower_clusters"]),
        *(figures["modes"]["weights"], figures["modes"]["spread"], figures["distance_rhat"]),
        *(view.estimate.num_doubtful, view.sizes, view.own_membership),
        *(finding.value for finding in view.findings),
    ]


def conditioned(case):
    found = constraint_effect(case.free, marginals(case.draws), **case.of_rows)
    return [found.change, found.noise, *vars(found.before).values(), *vars(found.after).values()]


def ball(case):
    found = credible_ball(case.draws, case.estimate, level=0.6, **case.of_rows)
    return [found.radius, found.coverage, found.distances, found.horizontal, found.upper, found.lower]


def of_labels(case):
    found = labels_found(case.labels, case.estimate, **case.of_rows)
    return [(one.points, one.cluster, one.share_found, one.share_of_cluster) for one in found]


def moved(case):
    values = functionals(case.draws, reference=case.estimate, num_pairs=0, **case.of_rows)
    return [*values.values()]


def separated(case):
    return [
        *vars(column_shares(case.draws, data=case.data, **case.of_rows)).values(),
        *vars(cluster_contrasts(case.estimate, data=case.data, **case.of_rows)).values(),
        *vars(cluster_profiles(case.draws, case.estimate, data=case.data, **case.of_rows)).values(),
    ]


def large(case):
    rows = case.draws.shape[-1] if case.row_weights is None else case.row_weights.sum()
    return [num_large_clusters(case.draws, **case.of_rows), least_rows(rows)]


def sure_pairs(case):
    # Each draw beside one other leaves pairs that are together in all, in half and in none of them.
    together = (co_assignment(one) for one in case.draws.reshape(-1, 2, case.draws.shape[-1])[:5])
    return [share_of_sure_pairs(one, **case.of_rows) for one in together]


def clear(case):
    finding = clarity_finding(case.uncertainty, **case.of_rows)
    said = [float(word.strip(";")) for word in finding.sentence.split() if word[0].isdigit()]
    return [finding.value, said]


FIGURES = {
    "the uncertainty of the rows": lambda case: [case.uncertainty],
    "certain rows": lambda case: [share_together(1 - case.uncertainty, **case.of_rows)],
    "certain pairs": sure_pairs,
    "whether the estimate is clear": clear,
    "large clusters": large,
    "losses": lambda case: [one(case.estimate, case.draws, **case.of_rows) for one in LOSSES],
    "losses of all pairs": lambda case: [
        pairwise_loss(case.free, case.draws, loss=one, **case.of_rows) for one in LOSSES
    ],
    "expected losses": lambda case: [
        one.expected(case.estimate[None], case.draws, **case.of_rows) for one in LOSSES
    ],
    "the credible ball": ball,
    "modes": lambda case: vars(partition_modes(case.draws, seed=0, **case.of_rows)).values(),
    "functionals": moved,
    "the R-hat of distances": lambda case: vars(distance_rhat(case.draws, seed=0, **case.of_rows)).values(),
    "the most central draw": lambda case: [central_draw(case.draws, **case.of_rows)],
    "membership": lambda case: [membership(case.draws, case.estimate, **case.of_rows).T],
    "what sets clusters apart": separated,
    "rows that are alone": lambda case: [
        outlier_probabilities(case.draws, fewest=fewest, **case.of_rows) for fewest in (2, 4)
    ],
    "what constraints changed": conditioned,
    "scores": lambda case: asdict(scores_where_known(case.labels, case.estimate, **case.of_rows)).values(),
    "known labels": of_labels,
    "the answer in words": in_words,
    "the summary": summarised,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_that_of_the_repeated_rows(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    for _ in range(5):
        case = Case(rng)
        every, figures = case.repeated(), FIGURES[name]
        for found, wanted in zip(figures(case), figures(every), strict=True):
            value = np.asarray(found, dtype=float)
            if value.ndim and value.shape[-1] == POINTS:
                value = value.repeat(case.times, -1)
            np.testing.assert_allclose(value, np.asarray(wanted, dtype=float), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("figure", [point_uncertainty, credible_ball, cluster_profiles])
def test_weights_that_count_no_rows_are_refused(figure):
    case = Case(np.random.default_rng(0))
    data = {"data": case.data} if figure is cluster_profiles else {}
    with pytest.raises(ValueError, match=r"row_weights has shape \(2,\), expected \(11,\) whole numbers"):
        figure(case.draws, case.estimate, row_weights=[1, 2], **data)


def test_two_sources_are_compared_by_rows():
    case = Case(np.random.default_rng(1))
    sources = case.draws, case.free
    found = compare_sources(*sources, seed=0, row_weights=case.row_weights, num_permutations=99)
    every = compare_sources(*(one.repeat(case.times, -1) for one in sources), seed=0, num_permutations=99)
    # Independent draws are as many as the traces of a few pairs of points say, and these pairs are others.
    np.testing.assert_allclose(
        [found.vi_between, found.vi_within_a, found.mmd.statistic],
        [every.vi_between, every.vi_within_a, every.mmd.statistic],
        rtol=0.2,
    )
    distinct = compare_sources(*sources, seed=0, num_permutations=99)
    assert abs(distinct.vi_between / every.vi_between - 1) > 0.5
