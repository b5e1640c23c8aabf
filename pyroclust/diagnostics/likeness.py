"""Are data like those that a model simulates or that were clustered, and a guide's weights like usual?"""

from dataclasses import dataclass

import numpy as np
import scipy

from pyroclust.core.numbers import as_finite, check_count, check_number, check_seed
from pyroclust.diagnostics.importance import evidences_of_orders, importance_efficiency
from pyroclust.diagnostics.limits import MIN_ALIKE, MIN_FAMILIARITY, written

_LOW, _HIGH = 0.05, 0.95
_HARDLY = 0.02
# Squared distances of larger numbers are not finite.
_LARGEST = 1e100
_NAMED = 3
_DISTANCES, _EMBEDDING = "the distances between points", "the embedding of the points"
_MORE_UNUSUAL = {_DISTANCES: "are more unusual", _EMBEDDING: "is farther from the average"}


@dataclass(frozen=True)
class FamiliarityRow:
    """One number of the data among the same number of the simulations."""

    name: str
    value: float
    low: float
    median: float
    high: float
    num_below: int
    num_above: int
    p_value: float
    unusualness: float

    @property
    def is_unusual(self) -> bool:
        """Whether the data lie outside the middle 90 % of the simulations, on a side that counts."""
        return not self.low <= self.value <= self.high and self.p_value <= 2 * _LOW


def familiarity_rows(
    sets: np.ndarray, evidence: np.ndarray | None, *, seed: int
) -> tuple[tuple[FamiliarityRow, ...], np.ndarray]:
    """Return the rows of the first set among the others, and the unusualness of all sets in each."""
    summaries = distance_summaries(sets)
    upper = {
        _DISTANCES: mahalanobis(summaries, summaries.mean(0)),
        _EMBEDDING: embedding_distances(sets, seed=seed),
    }
    both = column_summaries(sets)
    if evidence is not None:
        both["the log evidence"] = evidence
    rows, every = [], []
    for name, values in (upper | both).items():
        unusual = unusualness(values, upper_only=name in upper)
        rows.append(_row(name, values, unusual, upper_only=name in upper))
        every.append(unusual)
    return tuple(rows), np.stack(every)


def unusualness(values: np.ndarray, *, upper_only: bool) -> np.ndarray:
    """Measure distances to the median in units of the 5 or the 95 % quantile's, all data sets alike."""
    low, middle, high = np.quantile(values, (_LOW, 0.5, _HIGH))
    # Columns without spread have quantiles that are equal.
    least = 1e-9 * (1 + abs(middle))
    above = (values - middle) / max(high - middle, least)
    return np.maximum(above, 0 if upper_only else (middle - values) / max(middle - low, least))


def joint_p_value(unusual: np.ndarray) -> float:
    """Return the share of data sets, the first included, whose largest unusualness is as large as its own."""
    largest = unusual.max(0)
    return float((largest >= largest[0]).mean())


def _row(name: str, values: np.ndarray, unusual: np.ndarray, *, upper_only: bool) -> FamiliarityRow:
    own, others = values[0], values[1:]
    low, middle, high = (float(one) for one in np.quantile(others, (_LOW, 0.5, _HIGH)))
    more, less = float((values >= own).mean()), float((values <= own).mean())
    return FamiliarityRow(
        name=name,
        value=float(own),
        low=low,
        median=middle,
        high=high,
        num_below=int((others < own).sum()),
        num_above=int((others > own).sum()),
        p_value=more if upper_only else min(1.0, 2 * min(more, less)),
        unusualness=float(unusual[0]),
    )


def most_unusual(rows: tuple[FamiliarityRow, ...], *, num_simulations: int) -> list[str]:
    """Put the most unusual rows into words: always the first, others where hardly a simulation is beyond."""
    ranked = sorted(rows, key=lambda row: -row.unusualness)
    named = [row for place, row in enumerate(ranked) if not place or row.p_value <= _HARDLY]
    telling = sorted(named, key=lambda row: row.name in _MORE_UNUSUAL)
    return [_words(row, num_simulations) for row in telling[:_NAMED]]


def _words(row: FamiliarityRow, total: int) -> str:
    if row.name in _MORE_UNUSUAL:
        return f"{row.name} {_MORE_UNUSUAL[row.name]} than in {row.num_below} of {total} simulations"
    if row.value >= row.median:
        return f"{row.name} is larger than in {row.num_below} of {total} simulations"
    return f"{row.name} is smaller than in {row.num_above} of {total} simulations"


_MOST_POINTS = 300


@dataclass(frozen=True)
class Familiarity:
    """Where a data set lies among simulated ones.

    Attributes:
        p_value: share of data sets, this one included, whose distances between points are as unusual.
        distance: Mahalanobis distance of the summaries of these from those of the simulations.
        median_distance: of the simulations themselves.
        num_simulations: data sets simulated.
        rows: every summary on its own; ``p_value`` is the first row's.
        overall: all summaries in one p-value.
        warning: what is unusual, in words; ``None`` for data inside the training world.
        num_points: of the data.
        training_points: fewest and most points in training; ``None`` where they were not given.
    """

    p_value: float
    distance: float
    median_distance: float
    num_simulations: int
    rows: tuple[FamiliarityRow, ...] = ()
    overall: float = 1.0
    warning: str | None = None
    num_points: int | None = None
    training_points: tuple[int, int] | None = None

    def __repr__(self) -> str:
        words = self.warning or f"like the simulations, p = {written(self.overall, '.2g', MIN_FAMILIARITY)}"
        return f"Familiarity({words})"


def familiarity(
    data: np.ndarray,
    simulations: np.ndarray,
    *,
    seed: int = 0,
    training_points: tuple[int, int] | None = None,
    log_evidence: float | None = None,
    simulated_log_evidence: np.ndarray | None = None,
) -> Familiarity:
    r"""Compare numbers of a data set with those of simulated data sets; labels play no part.

    .. math::
        p = \frac{1 + \#\{s: d_s \ge d\}}{1 + S}, \qquad d^2 = (t - \bar t)^\top \Sigma^{-1} (t - \bar t)

    with summaries t: logarithms of the median distances to the first, third and eighth neighbour, of five
    quantiles of the distances of all pairs, and of the root mean square of the points. Mean and covariance
    are taken over all S + 1 data sets, so that under the model every rank of d is equally likely. Rows of
    their own have the mean and the spread of each column, the distance of the points' kernel embedding (MMD)
    from that of all data sets, and the log evidence where it is given. The overall p-value ranks the largest
    ``unusualness`` over all rows, and is exact however the rows depend on each other. Data outside the range
    of sizes, of another dimension, or with an overall p-value of at most 0.01, come with a warning, for which
    at least 99 simulations are needed.

    A small p says that the data are unlike the simulations; a large one does not say that the model is right.
    Of more than 300 points a random 300 are looked at. Cost O(S N^2).

    Args:
        data: points, ``(N, D)``.
        simulations: data sets of as many points, ``(S, N, D)``; of more than 300, 300 are enough.
        seed: of the points that are looked at, and of the embedding.
        training_points: fewest and most points in training.
        log_evidence: an estimate of log p(data).
        simulated_log_evidence: the same estimate of each simulated data set, ``(S,)``.

    Raises:
        ValueError: if the shapes do not fit, there are fewer than 20 simulations, or one of the log evidences
            is missing.

    References:
        Schmitt et al. (2023), Detecting model misspecification in amortized Bayesian inference with neural
        networks. https://arxiv.org/abs/2112.08866

    Example:
        >>> rng = np.random.default_rng(0)
        >>> simulations = rng.standard_normal((199, 50, 2))
        >>> familiarity(rng.standard_normal((50, 2)), simulations).warning is None
        True
        >>> familiarity(rng.standard_normal((50, 2)) * [4, 1], simulations).overall
        0.005
    """
    data, simulations = as_finite("data", data), as_finite("simulations", simulations)
    if data.ndim != 2 or not data.size or simulations.ndim != 3:
        raise ValueError(
            f"data and simulations have shapes {data.shape} and {simulations.shape}, expected (N, D) with at "
            "least one point and (S, N, D)"
        )
    largest = max(np.abs(one).max(initial=0.0) for one in (data, simulations))
    if largest > _LARGEST:
        raise ValueError(
            f"data or simulations reach {largest:.3g}, expected at most {_LARGEST:g}: centre and rescale them"
        )
    check_seed(seed)
    size = _size_warning(len(data), training_points)
    if simulations.shape[2] != data.shape[1]:
        other = f"the data have {data.shape[1]} columns, the simulations {simulations.shape[2]}"
        warning = _sentence([other, *size])
        return Familiarity(
            0.0, np.inf, np.nan, len(simulations), (), 0.0, warning, len(data), training_points
        )
    sets = _sets(data, simulations, seed)
    evidence = _evidence(log_evidence, simulated_log_evidence, len(simulations))
    rows, every = familiarity_rows(sets, evidence, seed=seed)
    overall = joint_p_value(every)
    odd = most_unusual(rows, num_simulations=len(simulations)) if overall <= MIN_FAMILIARITY else []
    chance = f" (p = {written(overall, '.3g', MIN_FAMILIARITY)})" if odd else ""
    return Familiarity(
        p_value=rows[0].p_value,
        distance=rows[0].value,
        median_distance=rows[0].median,
        num_simulations=len(simulations),
        rows=rows,
        overall=overall,
        warning=_sentence([*size, *odd], chance),
        num_points=len(data),
        training_points=training_points,
    )


def _sets(data: np.ndarray, simulations: np.ndarray, seed: int) -> np.ndarray:
    """Put the data before the simulations, all of as many points, ``(S + 1, N, D)``."""
    shown = min(len(data), _MOST_POINTS)
    if simulations.shape[1] < shown or len(simulations) < 20:
        raise ValueError(
            f"simulations has shape {simulations.shape}, expected at least 20 data sets of {shown} points in "
            f"{data.shape[1]} dimensions, (S, N, D)"
        )
    own = data[np.random.default_rng(check_seed(seed)).permutation(len(data))[:shown]]
    return np.concatenate([own[None], simulations[:, :shown]]).astype(np.float64)


def _evidence(own: float | None, simulated: np.ndarray | None, num_simulations: int) -> np.ndarray | None:
    if own is None and simulated is None:
        return None
    simulated = None if simulated is None else as_finite("simulated_log_evidence", simulated)
    shape = None if simulated is None else simulated.shape
    if own is None or simulated is None or shape != (num_simulations,):
        raise ValueError(
            f"log_evidence is {own} and simulated_log_evidence has shape {shape}, expected a "
            f"number and ({num_simulations},), one a simulation"
        )
    own = check_number("log_evidence", own, above=-_LARGEST, below=_LARGEST)
    return np.concatenate([[own], simulated])


def _size_warning(num_points: int, training: tuple[int, int] | None) -> list[str]:
    if training is None:
        return []
    if not isinstance(training, tuple | list) or len(training) != 2:
        raise ValueError("training_points is no pair, expected the fewest and the most points in training")
    least, most = (check_count("training_points", one) for one in training)
    if least <= num_points <= most:
        return []
    return [f"the data have {num_points} points, those of training had {least} to {most}"]


def _sentence(reasons: list[str], chance: str = "") -> str | None:
    if not reasons:
        return None
    return f"The data are outside the training world{chance}: {'; '.join(reasons)}."


_NEIGHBOURS = (1, 3, 8)
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 1.0)
_TINY = 1e-9
_FEATURES = 200
_POOLED = 1000


def distance_summaries(sets: np.ndarray) -> np.ndarray:
    """Describe the distances between the points of each set, and its size."""
    return np.stack([_distances(points) for points in sets])


def column_summaries(sets: np.ndarray) -> dict[str, np.ndarray]:
    """Return location and spread of the columns: means, and logarithms of standard deviations."""
    mean, spread = sets.mean(1), np.log(sets.std(1) + _TINY)
    found = {}
    for column in range(sets.shape[2]):
        found[f"the mean of column {column + 1}"] = mean[:, column]
        found[f"the spread of column {column + 1}"] = spread[:, column]
    return found


def embedding_distances(sets: np.ndarray, *, seed: int) -> np.ndarray:
    """Return how far the kernel mean embedding of each set is from that of all sets together."""
    rng = np.random.default_rng(check_seed(seed))
    points = sets.reshape(-1, sets.shape[2])
    pooled = points[rng.permutation(len(points))[:_POOLED]]
    width = np.median(scipy.spatial.distance.pdist(pooled)) if len(pooled) > 1 else 1.0
    frequencies = rng.standard_normal((sets.shape[2], _FEATURES)) / max(width, _TINY)
    embedded = np.stack([_embedding(points @ frequencies) for points in sets])
    return np.linalg.norm(embedded - embedded.mean(0), axis=-1)


def _embedding(phases: np.ndarray) -> np.ndarray:
    mean: np.ndarray = np.concatenate([np.cos(phases), np.sin(phases)], -1).mean(0) / np.sqrt(_FEATURES)
    return mean


def mahalanobis(rows: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return the distance of each row to a centre, in the metric of the rows' covariance."""
    centred = rows - rows.mean(0)
    ridge = 1e-6 * np.eye(rows.shape[1])
    gaps = rows - centre
    solved = np.linalg.solve(centred.T @ centred / len(rows) + ridge, gaps.T).T
    return np.sqrt((gaps * solved).sum(-1))


def _distances(points: np.ndarray) -> np.ndarray:
    size = np.sqrt((points**2).mean())
    if len(points) < 2:
        return np.log([size + _TINY])
    places = [min(k, len(points) - 1) for k in _NEIGHBOURS]
    pairs = scipy.spatial.distance.cdist(points, points)
    near = np.median(np.partition(pairs, places, axis=1)[:, places], axis=0)
    # Every pair twice, as in a matrix without its diagonal.
    apart = np.quantile(np.tile(scipy.spatial.distance.pdist(points), 2), _QUANTILES)
    return np.log(np.array([size, *near, *apart]) + _TINY)


_BAD = 0.95


@dataclass(frozen=True)
class WeightFigure:
    """One figure of a guide's draws on a data set, among those on simulated data sets."""

    name: str
    value: float
    median: float
    bad: float
    num_worse: int
    p_value: float


@dataclass(frozen=True)
class WeightQuality:
    """What the weights of a guide's draws on a data set say, beside those on simulations of its model."""

    rows: tuple[WeightFigure, ...]
    p_value: float
    num_simulations: int
    num_draws: int
    num_points: int

    def __repr__(self) -> str:
        return f"WeightQuality(p = {self.p_value:.3f} among {self.num_simulations} simulations)"


def weight_quality(log_weights: np.ndarray, *, num_points: int) -> WeightQuality:
    """Compare a guide's log weights ``(S + 1, M, R)`` on a data set, the first, with those on simulations.

    Each has M visiting orders of R draws.
    """
    sets, orders, draws = log_weights.shape
    efficiency = np.array([importance_efficiency(one) for one in log_weights])
    figures = {"the efficiency of the weights": (efficiency, -np.log(efficiency))}
    if orders > 1:
        spread = np.array([evidences_of_orders(one.ravel(), num_orders=orders).std() for one in log_weights])
        figures["the spread of the log evidence over visiting orders, in nats"] = spread, spread
    badness = [bad for _, bad in figures.values()]
    return WeightQuality(
        tuple(_weight_figure(name, *both) for name, both in figures.items()),
        joint_p_value(np.stack([unusualness(bad, upper_only=True) for bad in badness])),
        num_simulations=sets - 1,
        num_draws=orders * draws,
        num_points=num_points,
    )


def _weight_figure(name: str, values: np.ndarray, badness: np.ndarray) -> WeightFigure:
    as_bad = badness >= badness[0]
    worst = np.argsort(badness[1:], kind="stable")
    return WeightFigure(
        name=name,
        value=float(values[0]),
        median=float(np.median(values[1:])),
        bad=float(values[1:][worst[int(_BAD * len(worst))]]),
        num_worse=int(as_bad[1:].sum()),
        p_value=float(as_bad.mean()),
    )


# Fewer points have no ranks to speak of.
_FEWEST = 5


@dataclass(frozen=True)
class Likeness:
    """Where new points lie among old ones."""

    typicality: np.ndarray
    p_value: float

    @property
    def is_unlike(self) -> bool:
        """Whether the new points are unlike the old ones."""
        return self.p_value < MIN_ALIKE


def likeness(new: np.ndarray, usual: np.ndarray) -> Likeness:
    """Compare log densities of new points with those of old ones, each left out of its cluster."""
    enough = len(new) >= _FEWEST
    p_value = (
        float(scipy.stats.mannwhitneyu(new, usual, alternative="less").pvalue) if enough else float("nan")
    )
    return Likeness(np.searchsorted(np.sort(usual), new, side="right") / len(usual), p_value)
