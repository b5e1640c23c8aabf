"""Simulation-based calibration: is the truth one more draw, functional by functional?"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.ranks import rank_counts, rank_statistics
from pyroclust.diagnostics.uniformity import uniformity

__all__ = ["SbcRow", "SimulationBasedCalibration", "sbc"]


@dataclass(frozen=True)
class SbcRow:
    """The ranks of one functional.

    Attributes:
        name: of the functional.
        counts: ranks of the truth in equal bins, ``(num_bins,)`` int64.
        chi_square: p-value of Pearson's chi-square.
        ecdf: p-value of the largest deviation of the ranks' distribution function.
        p_value: both in one, by Bonferroni.
        mean_rank: between 0 and 1; a half if calibrated, less where the truth is lower than the draws.
    """

    name: str
    counts: np.ndarray
    chi_square: float
    ecdf: float
    p_value: float
    mean_rank: float


@dataclass(frozen=True)
class SimulationBasedCalibration:
    """The ranks of all functionals.

    Attributes:
        rows: one a functional, in the order given.
        ranks: of the truth, 0, ..., S, ``(B,)`` by functional.
        num_draws: S.
        num_datasets: B.
    """

    rows: tuple[SbcRow, ...]
    ranks: Mapping[str, np.ndarray]
    num_draws: int
    num_datasets: int

    @property
    def p_value(self) -> float:
        """All functionals in one, by Bonferroni: valid however they depend on each other."""
        return min(1.0, len(self.rows) * min(row.p_value for row in self.rows))

    @property
    def worst(self) -> SbcRow:
        """The functional with the smallest p-value."""
        return min(self.rows, key=lambda row: row.p_value)


def sbc(
    truth: Mapping[str, np.ndarray], draws: Mapping[str, np.ndarray], *, seed: int, num_bins: int = 20
) -> SimulationBasedCalibration:
    r"""Rank each functional of the truth among the same functional of the draws, and test the ranks.

    .. math::
        c \sim p(c),\; x \sim p(x \mid c),\; c_1, \ldots, c_S \sim q(c \mid x)
        \;\Rightarrow\; \#\{s: f(c_s, x) < f(c, x)\} + \text{random ties} \sim U\{0, \ldots, S\}
        \quad\text{if } q(c \mid x) = p(c \mid x)

    One functional is one view: draws from the prior pass in every functional that does not look at the data.
    Cost O(F S B) for F functionals.

    Shape:
        truth: ``(B,)`` each; draws: ``(S, B)`` each.

    Args:
        truth: functionals of the simulated partition of each data set, by name.
        draws: the same of its posterior draws.
        seed: of the ties, which are broken for each functional anew.
        num_bins: equal bins of the ranks; a divisor of S + 1.

    Raises:
        ValueError: if the names or shapes differ, or the bins are not equal.

    References:
        Talts et al. (2018), Validating Bayesian inference algorithms with simulation-based calibration.
        https://arxiv.org/abs/1804.06788
        Modrák et al. (2023), Simulation-based calibration checking for Bayesian computation: the choice of
        test quantities shapes sensitivity. https://doi.org/10.1214/23-BA1404

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth, draws = rng.standard_normal(500), rng.standard_normal((99, 500))
        >>> sbc({"x": truth}, {"x": draws}, seed=0).p_value > 0.01
        True
        >>> sbc({"x": truth}, {"x": 0.5 * draws}, seed=0).p_value < 0.01
        True
    """
    if set(truth) != set(draws) or not truth:
        raise ValueError(
            f"truth has the functionals {sorted(truth)} and draws {sorted(draws)}, expected the same, at "
            "least one"
        )
    seeds = np.random.SeedSequence(seed).generate_state(len(truth))
    ranks = {
        name: rank_statistics(values, draws[name], seed=int(own))
        for (name, values), own in zip(truth.items(), seeds, strict=True)
    }
    shapes = {np.shape(one) for one in draws.values()}
    if len(shapes) > 1:
        raise ValueError(f"the functionals of the draws have shapes {sorted(shapes)}, expected equal ones")
    num_draws, num_datasets = shapes.pop()
    rows = tuple(_row(name, found, num_draws, num_bins) for name, found in ranks.items())
    return SimulationBasedCalibration(rows, ranks, num_draws, num_datasets)


def _row(name: str, ranks: np.ndarray, num_draws: int, num_bins: int) -> SbcRow:
    counts = rank_counts(ranks, num_draws=num_draws, num_bins=num_bins)
    found = uniformity(counts)
    mean = float(ranks.mean() / num_draws) if num_draws else 0.5
    return SbcRow(name, counts, found.chi_square, found.ecdf, found.p_value, mean)
