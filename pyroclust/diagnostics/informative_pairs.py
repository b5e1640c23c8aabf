"""Which pairs of points to ask about: "are these two in one cluster?"."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import entr

from pyroclust.core.compiling import compiled
from pyroclust.core.machine import each_in_threads, num_threads
from pyroclust.core.numbers import check_count, check_number, whole_numbers
from pyroclust.diagnostics.frequencies import MAX_PAIRED_POINTS, co_assignment, paired_draws
from pyroclust.diagnostics.labels import compact, distinct_draws, equal_rows
from pyroclust.diagnostics.losses import Binder, losses_within
from pyroclust.partitions.raw_labels import DrawsLike

_SEED = 0
# Bits; less is rounding.
_NOTHING = 1e-9
# Bits by which an entropy of float32 sums may be too small.
_ROUNDING = 1e-4
_BLOCK = 1 << 16
# Answers a thread, and pairs among which the most useful one is sought.
_ANSWERS_A_THREAD, _CLOSE_PAIRS = 2_000_000, 2000
_PAIRS_OF_DRAWS = 256


@dataclass(frozen=True)
class InformativePairs:
    """Pairs of points worth asking about, the first the most.

    Attributes:
        pairs: ``(M, 2)``, the smaller point first; fewer than asked for where nothing is left to ask.
        information: what each answer adds to those before it, ``(M,)`` in bits.
        probability: probability that the two points are together, ``(M,)``.
    """

    pairs: np.ndarray
    information: np.ndarray
    probability: np.ndarray

    def __repr__(self) -> str:
        if not len(self.pairs):
            return "InformativePairs(none: the draws leave nothing to ask)"
        one, other = self.pairs[0].tolist()
        bits = f"{self.information.sum():.2f} bits"
        if len(self.pairs) == 1:
            return f"InformativePairs(points {one} and {other}: {bits}, together {self.probability[0]:.2f})"
        return f"InformativePairs({len(self.pairs)} pairs: {bits}; points {one} and {other} first)"


def most_informative_pairs(
    draws: DrawsLike,
    *,
    number: int = 1,
    weights: np.ndarray | None = None,
    candidates: np.ndarray | None = None,
    tolerance: float = 0.1,
) -> InformativePairs:
    r"""Return the pairs of points whose answers ("same cluster?") tell most about the partition.

    The answer :math:`a_{ij} = 1[c_i = c_j]` is a function of the partition c, so what it tells is all of its
    own entropy, in bits:

    .. math:: I(c; a_{ij}) = H(a_{ij}) = -p_{ij} \log_2 p_{ij} - (1 - p_{ij}) \log_2 (1 - p_{ij})

    with :math:`p_{ij} = P(c_i = c_j)`. Pairs are taken one at a time, each for what it adds to the answers
    before, :math:`H(a_q \mid a_1, \dots, a_{q - 1})`, by the answers that every draw gives: at least a share
    :math:`1 - (1 - 1/m)^m > 0.63` of what the best m pairs would tell, less m times the tolerance.
    Among the pairs within ``tolerance`` of the best the one is taken whose answer is expected to lower the
    number of pairs of points in doubt most,

    .. math:: \sum_{k < l} \frac{\operatorname{Cov}(a_{kl}, a_q)^2}{\operatorname{Var} a_q}
        = \frac{-\sum_{st} b_s b_t d(c^{(s)}, c^{(t)})}{2 \operatorname{Var} a_q}, \qquad
        b_s = w_s (a_q^{(s)} - p_q)

    with d the number of pairs about which two draws disagree (Binder's loss). Points that share a cluster in
    every draw are one point here, and the first of them is named; of more than 2,000 such groups as many are
    chosen at random, in proportion to the pairs in doubt that their points are in. S draws can tell no more
    than :math:`\log_2 S` bits: it is better to ask one pair, to draw anew given the answer, and to ask again.
    Cost: a second for 1,000 draws of 1,000 points on one core.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        number: how many pairs to ask about before drawing anew.
        weights: of the draws, ``(S,)``; equal by default.
        candidates: the pairs that can be asked about, ``(P, 2)``; all by default.
        tolerance: bits by which a pair may be worse than the best; 0 takes the largest entropy.

    References:
        Houlsby et al. (2011), Bayesian active learning for classification and preference learning.
        https://arxiv.org/abs/1112.5745
        Nemhauser, Wolsey and Fisher (1978), An analysis of approximations for maximizing submodular set
        functions. https://doi.org/10.1007/BF01588971

    Example:
        >>> draws = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 1]])
        >>> most_informative_pairs(draws)
        InformativePairs(points 0 and 2: 1.00 bits, together 0.50)
        >>> most_informative_pairs(draws, number=5).information.tolist()
        [1.0, 0.5]
    """
    number = check_count("number", number)
    tolerance = check_number("tolerance", tolerance, at_least=0)
    found = distinct_draws(draws, weights=weights)
    drawn = found.mass > 0
    partitions, mass = found.partitions[drawn], found.mass[drawn]
    asked = None if candidates is None else _checked_pairs(candidates, partitions.shape[1])
    columns = _Columns.of(partitions, mass)
    if asked is None:
        questions = _all_questions(columns)
    else:
        questions = _Questions(columns.group[asked], asked, np.full(len(asked), np.inf))
    usefulness = _Usefulness(partitions, mass)
    chosen = [*_greedy(columns, questions, usefulness, number=number, tolerance=tolerance)]
    picked = np.array([place for place, _, _ in chosen], dtype=np.int64)
    return InformativePairs(
        questions.points[picked].reshape(-1, 2),
        np.array([gain for _, gain, _ in chosen]),
        np.array([together for _, _, together in chosen]),
    )


@dataclass(frozen=True)
class _Columns:
    """Groups of points that share a cluster in every draw."""

    labels: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    sizes: np.ndarray
    group: np.ndarray

    @classmethod
    def of(cls, partitions: np.ndarray, mass: np.ndarray) -> "_Columns":
        columns = partitions.T.astype(np.min_scalar_type(int(partitions.max())))
        place, first, sizes = equal_rows(columns)
        order = np.argsort(first)
        columns = np.ascontiguousarray(columns[first[order]])
        return cls(columns, mass, first[order], sizes[order], np.argsort(order)[place])


@dataclass(frozen=True)
class _Questions:
    """Pairs that can be asked about."""

    groups: np.ndarray
    points: np.ndarray
    bounds: np.ndarray


def _checked_pairs(candidates: Any, num_points: int) -> np.ndarray:
    pairs = whole_numbers("candidates", candidates)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"candidates has shape {pairs.shape}, expected pairs of points, (P, 2)")
    outside = ((pairs < 0) | (pairs >= num_points)).any(-1)
    if outside.any():
        pair = tuple(pairs[outside][0].tolist())
        raise ValueError(
            f"candidates has the pair {pair}, expected points from 0 to {num_points - 1}: they count from 0"
        )
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        pair = tuple(pairs[same][0].tolist())
        raise ValueError(f"candidates has the pair {pair}, expected two different points")
    return np.sort(pairs, axis=-1)


def _all_questions(columns: _Columns) -> _Questions:
    chosen = _doubtful_groups(columns)
    one, other = np.triu_indices(len(chosen), 1)
    groups = np.stack([chosen[one], chosen[other]], -1)
    # Labels of some of the points may be above their number.
    together = co_assignment(compact(columns.labels[chosen].T)[0], weights=columns.mass)[one, other]
    entropy = (entr(together) + entr(1 - together)) / np.log(2)
    return _Questions(groups, columns.first[groups], entropy + _ROUNDING)


def _doubtful_groups(columns: _Columns) -> np.ndarray:
    """Return the groups among which pairs are sought: all of few, and of many those with much in doubt."""
    if len(columns.first) <= MAX_PAIRED_POINTS:
        return np.arange(len(columns.first))
    generator = np.random.default_rng(_SEED)
    doubt = columns.sizes * _doubt(columns, generator)
    with np.errstate(divide="ignore"):
        # The largest of these are draws without replacement, in proportion to the doubt.
        keys = np.log(doubt) + generator.gumbel(size=len(doubt))
    return np.sort(np.argsort(-keys, kind="stable")[:MAX_PAIRED_POINTS])


def _doubt(columns: _Columns, generator: np.random.Generator) -> np.ndarray:
    """Return for a point of each group how many others two draws do not agree about, ``(A,)``."""
    doubt = np.zeros(len(columns.first))
    pairs = generator.choice(len(columns.mass), size=(_PAIRS_OF_DRAWS, 2), p=columns.mass)
    for one, other in pairs[pairs[:, 0] != pairs[:, 1]]:
        left, right = columns.labels[:, one].astype(np.int64), columns.labels[:, other].astype(np.int64)
        _, cell = np.unique(left * (1 + right.max()) + right, return_inverse=True)
        for sign, label in ((1, left), (1, right), (-2, cell.reshape(-1))):
            doubt += sign * np.bincount(label, weights=columns.sizes)[label]
    return doubt


@compiled(fastmath=False)
def _add_answers(
    labels: np.ndarray,
    pairs: np.ndarray,
    pattern: np.ndarray,
    mass: np.ndarray,
    sizes: np.ndarray,
    gains: np.ndarray,
    together: np.ndarray,
) -> None:
    yes = np.zeros(len(sizes))
    for q in range(len(pairs)):
        one, other = labels[pairs[q, 0]], labels[pairs[q, 1]]
        for s in range(len(mass)):
            if one[s] == other[s]:
                yes[pattern[s]] += mass[s]
        gain, total = 0.0, 0.0
        for g in range(len(sizes)):
            no = sizes[g] - yes[g]
            if yes[g] > 0 and no > 0:
                gain -= yes[g] * np.log2(yes[g] / sizes[g]) + no * np.log2(no / sizes[g])
            total += yes[g]
            yes[g] = 0.0
        gains[q], together[q] = gain, min(total, 1.0)


def _answers(
    columns: _Columns, pairs: np.ndarray, pattern: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what answers add to the patterns of answers before, in bits, and how likely "yes" is."""
    gains, together = np.empty(len(pairs)), np.empty(len(pairs))
    step = max(1 + _ANSWERS_A_THREAD // len(pattern), -(-len(pairs) // num_threads()))

    def run(begin: int) -> None:
        part = slice(begin, begin + step)
        rest = (pattern, columns.mass, sizes, gains[part], together[part])
        _add_answers(columns.labels, pairs[part], *rest)

    each_in_threads(run, range(0, len(pairs), step))
    return gains, together


def _greedy(
    columns: _Columns, questions: _Questions, usefulness: "_Usefulness", *, number: int, tolerance: float
) -> Iterator[tuple[int, float, float]]:
    """Yield the place of each question in turn, what its answer adds, and how likely it is "yes"."""
    pattern: np.ndarray = np.zeros(len(columns.mass), np.int64)
    sizes: np.ndarray = np.ones(1)
    bounds = questions.bounds.copy()
    for _ in range(number):
        # What an answer adds only shrinks as more is known: what it added before bounds it.
        best, order = 0.0, np.argsort(-bounds, kind="stable")
        for begin in range(0, len(order), _BLOCK):
            part = order[begin : begin + _BLOCK]
            part = part[bounds[part] >= max(best - tolerance - _NOTHING, _NOTHING)]
            if not len(part):
                break
            bounds[part], _ = _answers(columns, questions.groups[part], pattern, sizes)
            best = max(best, float(bounds[part].max()))
        # Equal up to rounding is equal.
        close = np.flatnonzero(bounds >= max(best - tolerance - _NOTHING, _NOTHING))
        if not len(close):
            return
        close = _few(close, bounds)
        pairs = columns.labels[questions.groups[close]]
        settled = usefulness.of(pairs, pattern) if len(close) > 1 else np.ones(1)
        place = int(close[(settled >= settled.max() - 1e-9 * abs(settled.max())).argmax()])
        pair = questions.groups[[place]]
        gain, together = _answers(columns, pair, pattern, sizes)
        yield place, float(gain[0]), float(together[0])
        answer = columns.labels[pair[0, 0]] == columns.labels[pair[0, 1]]
        _, pattern = np.unique(2 * pattern + answer, return_inverse=True)
        pattern = pattern.reshape(-1)
        sizes = np.bincount(pattern, weights=columns.mass)


def _few(close: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return at most so many of the questions, the best among them."""
    if len(close) <= _CLOSE_PAIRS:
        return close
    chosen = np.random.default_rng(_SEED).choice(close, _CLOSE_PAIRS - 1, replace=False)
    return np.unique([*chosen, close[bounds[close].argmax()]])


class _Usefulness:
    """How far answers are expected to lower the number of pairs of points in doubt."""

    def __init__(self, partitions: np.ndarray, mass: np.ndarray) -> None:
        most = paired_draws(partitions.shape[1])
        if len(mass) > most:
            # One draw of each of equal parts of the probability.
            edges = np.cumsum(mass)
            kept = np.searchsorted(edges, edges[-1] * (np.arange(most) + 0.5) / most)
            self._kept, times = np.unique(kept, return_counts=True)
            self._share = times / most
        else:
            self._kept, self._share = np.arange(len(mass)), mass
        self._partitions = partitions[self._kept]

    @cached_property
    def _disagreement(self) -> np.ndarray:
        """Number of pairs of points about which every two draws disagree."""
        return losses_within(self._partitions, loss=Binder()) * self._partitions.shape[1] ** 2 / 2

    def of(self, labels: np.ndarray, pattern: np.ndarray) -> np.ndarray:
        """Return the expected drop for every question, given the patterns of the answers before."""
        answers = (labels[:, 0] == labels[:, 1])[:, self._kept]
        pattern, drop = pattern[self._kept], np.zeros(len(labels))
        for one in np.unique(pattern):
            inside = np.flatnonzero(pattern == one)
            share, yes = self._share[inside], answers[:, inside].astype(np.float64)
            away = yes - (yes @ share / share.sum())[:, None]
            variance = away**2 @ share
            away *= share
            apart = -((away @ self._disagreement[np.ix_(inside, inside)]) * away).sum(-1) / 2
            drop += np.divide(apart, variance, out=np.zeros_like(drop), where=variance > 0)
        return drop
