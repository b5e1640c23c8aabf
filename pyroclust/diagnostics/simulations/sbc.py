"""Simulation-based calibration: ranks of true values among draws, functional by functional."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyroclust.core.messages import listed
from pyroclust.core.numbers import as_numbers, check_count, check_seed
from pyroclust.diagnostics.simulations.uniformity import uniformity


def rank_statistics(
    truth: np.ndarray, draws: np.ndarray, *, seed: int, uniforms: np.ndarray | None = None
) -> np.ndarray:
    """Return the rank of each true value among its draws, ties broken at random."""
    truth, draws = as_numbers("truth", truth), as_numbers("draws", draws)
    if truth.ndim != 1 or draws.ndim != 2 or draws.shape[1:] != truth.shape:
        raise ValueError(
            f"truth and draws have shapes {truth.shape} and {draws.shape}, expected (B,) and (S, B)"
        )
    if np.isnan(truth).any() or np.isnan(draws).any():
        raise ValueError("truth or draws hold nan, expected numbers that can be ranked")
    choices = (draws == truth).sum(0) + 1
    below = (draws < truth).sum(0)
    if uniforms is None:
        return below + np.random.default_rng(check_seed(seed)).integers(choices)
    found = as_numbers("uniforms", uniforms)
    if found.shape != truth.shape or not ((found >= 0) & (found < 1)).all():
        raise ValueError(f"uniforms has shape {found.shape}, expected {truth.shape} of numbers in [0, 1)")
    kept = np.asarray(uniforms)
    uniforms = kept if kept.dtype.kind == "f" else found
    # In the precision of the uniform numbers, where no product reaches the number of choices.
    return below + (uniforms * choices.astype(uniforms.dtype)).astype(np.int64)


def rank_counts(ranks: np.ndarray, *, num_draws: int, num_bins: int) -> np.ndarray:
    """Count ranks in equal bins of 0, ..., S."""
    if (num_draws + 1) % num_bins:
        raise ValueError(
            f"num_bins is {num_bins}, expected a divisor of the {num_draws + 1} possible ranks: "
            "bins must be equally probable"
        )
    return np.bincount(ranks * num_bins // (num_draws + 1), minlength=num_bins)


@dataclass(frozen=True)
class SbcRow:
    """The ranks of one functional."""

    name: str
    counts: np.ndarray
    chi_square: float
    ecdf: float
    p_value: float
    mean_rank: float

    def __repr__(self) -> str:
        return f"SbcRow({self.name}: p = {self.p_value:.2g}, mean rank {self.mean_rank:.3f})"


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

    def __repr__(self) -> str:
        size = f"{len(self.rows)} functionals, {self.num_datasets} data sets"
        return f"SimulationBasedCalibration({size}: p = {self.p_value:.2g}, worst {self.worst.name})"

    @property
    def p_value(self) -> float:
        """All functionals in one, by Bonferroni: valid however they depend on each other."""
        return min(1.0, len(self.rows) * min(row.p_value for row in self.rows))

    @property
    def worst(self) -> SbcRow:
        """The functional with the smallest p-value."""
        return min(self.rows, key=lambda row: row.p_value)


def sbc(
    truth: Mapping[str, np.ndarray],
    draws: Mapping[str, np.ndarray],
    *,
    seed: int,
    num_bins: int = 20,
    uniforms: Mapping[str, np.ndarray] | None = None,
) -> SimulationBasedCalibration:
    r"""Rank each functional of the truth among the same functional of the draws, and test the ranks.

    .. math::
        c \sim p(c),\; x \sim p(x \mid c),\; c_1, \ldots, c_S \sim q(c \mid x)
        \;\Rightarrow\; \#\{s: f(c_s, x) < f(c, x)\} + \text{random ties} \sim U\{0, \ldots, S\}
        \quad\text{if } q(c \mid x) = p(c \mid x)

    One functional is one view: draws from the prior pass in every functional that does not look at the data.

    Args:
        truth: functionals of the simulated partition of each data set, ``(B,)`` by name.
        draws: the same of its posterior draws, ``(S, B)`` by name.
        seed: of the ties, which are broken for each functional anew.
        num_bins: equal bins of the ranks; a divisor of S + 1.
        uniforms: numbers in [0, 1) that break the ties instead of the seed's, ``(B,)`` by name.

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
    for name, given in {"truth": truth, "draws": draws, "uniforms": uniforms}.items():
        if not isinstance(given, Mapping) and not (name == "uniforms" and given is None):
            raise ValueError(
                f"{name} is of type {type(given).__name__}, expected a dictionary of functionals by name"
            )
    if set(truth) != set(draws) or not truth or (uniforms is not None and not set(truth) <= set(uniforms)):
        theirs = listed(map(str, draws)) or "none"
        raise ValueError(
            f"truth has the functionals {listed(map(str, truth)) or 'none'} and draws {theirs}, expected the "
            "same, at least one, also in uniforms where given"
        )
    num_bins = check_count("num_bins", num_bins)
    seeds = np.random.SeedSequence(check_seed(seed)).generate_state(len(truth))
    ranks = {
        name: rank_statistics(
            values, draws[name], seed=int(own), uniforms=None if uniforms is None else uniforms[name]
        )
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
