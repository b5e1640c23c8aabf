"""Watching short chains until they have settled: the functionals that are looked at."""

import numpy as np
from torch import Tensor

from pyroclust.diagnostics.chains.functionals import cluster_share_entropy, pairs_together, shares
from pyroclust.diagnostics.chains.short_chains import CheckedRound, drift, start_memory, start_test
from pyroclust.diagnostics.draws.frequencies import count_clusters
from pyroclust.diagnostics.draws.losses import variation_of_information
from pyroclust.diagnostics.limits import MIN_SETTLED

__all__ = ["Watch"]

# Points among which pairs are chosen, and how many pairs.
_POINTS, _PAIRS = 64, 24


class Watch:
    """Functionals of many chains, and what is seen from one look to the next.

    The functionals are ``num_clusters``, ``entropy`` of the cluster shares in bits, ``largest_share``,
    ``log_joint``, ``distance`` to the draw of highest log joint at the first look (variation of information,
    in bits), and ``together_i_j`` for the 24 pairs among 64 points that the first draws are least sure of.

    Args:
        assignments: where the chains begin, ``(S, N)``.
        log_joint: ``(S,)`` in nats.
        ancestors: which proposal each chain began at, ``(S,)``.
        seed: of the points and the tests.
    """

    def __init__(self, assignments: Tensor, log_joint: Tensor, *, ancestors: np.ndarray, seed: int) -> None:
        draws = assignments.numpy()
        self._ancestors, self._seed = ancestors, seed
        self._pairs = _doubtful_pairs(draws, np.random.default_rng(seed))
        # Where the kernel keeps parameters, it is known with them alone, and not yet.
        self._has_joint = bool(log_joint.isfinite().all())
        self._reference = draws[int(log_joint.nan_to_num(nan=-np.inf).argmax())]
        self._before = self._look(assignments, log_joint)

    def again(self, assignments: Tensor, log_joint: Tensor, *, sweeps: int) -> CheckedRound:
        """Return what has changed since the last look, and remember this one."""
        before, self._before = self._before, self._look(assignments, log_joint)
        now = np.stack(list(self._before.values()), -1)
        seen = drift(np.stack(list(before.values()), -1), now, seed=self._seed)
        kept = [start_memory(column, self._ancestors) for column in self._before.values()]
        by_chance = start_test(now, self._ancestors, seed=self._seed)
        known = [one.rhat for one in kept if np.isfinite(one.rhat) or by_chance < MIN_SETTLED]
        names = list(self._before)
        return CheckedRound(
            sweeps=sweeps,
            p_value=seen.p_value,
            moved=names[seen.worst] if seen.worst >= 0 else "",
            change=float(seen.changes[seen.worst]) if seen.worst >= 0 else 0.0,
            nested_rhat=_largest(known),
            start_p_value=by_chance,
            effective_draws=min(one.effective for one in kept),
            num_chains=len(now),
        )

    def _look(self, assignments: Tensor, log_joint: Tensor) -> dict[str, np.ndarray]:
        """Return the functionals by name, ``(S,)`` each."""
        draws = assignments.numpy()
        share = shares(draws)
        values = {
            "num_clusters": count_clusters(draws).astype(np.float64),
            "entropy": cluster_share_entropy(share),
            "largest_share": share.max(-1),
            "distance": variation_of_information(draws, self._reference),
        }
        if self._has_joint:
            values["log_joint"] = log_joint.numpy()
        together = pairs_together(draws, self._pairs)
        return values | {f"together_{i}_{j}": together[:, place] for place, (i, j) in enumerate(self._pairs)}


def _doubtful_pairs(draws: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the pairs among some points that draws are least sure of, ``(P, 2)``."""
    num_points = draws.shape[1]
    chosen = np.sort(generator.permutation(num_points)[:_POINTS])
    first, second = (chosen[place] for place in np.triu_indices(len(chosen), 1))
    together = (draws[:, first] == draws[:, second]).mean(0)
    doubtful = np.argsort(np.abs(together - 0.5), kind="stable")[:_PAIRS]
    return np.stack([first[doubtful], second[doubtful]], -1)


def _largest(values: list[float]) -> float:
    known = [one for one in values if not np.isnan(one)]
    return max(known, default=float("nan"))
