"""New rows among the clusters that a comparison found: to which they belong, and whether they are alike."""

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from pyroclust.analysis.predictive import analysis_of, new_points_law
from pyroclust.counts import check_count
from pyroclust.data.datasets import Source, read_new_rows
from pyroclust.diagnostics import Likeness, likeness
from pyroclust.diagnostics.limits import written_p
from pyroclust.models.sampled_predictive import NewPoints
from pyroclust.protocols import takes_missing
from pyroclust.results.analysis import Analysis
from pyroclust.threads import single_precision

__all__ = ["Prediction", "predict"]

_OLD_ROWS, _FEWEST_OLD_ROWS, _MOST_PATTERNS = 300, 30, 20


@dataclass(frozen=True)
class Prediction:
    """What a posterior says of new rows.

    Attributes:
        row_names: of the M new rows.
        probabilities: of the J clusters of the point estimate, and of a new one last, ``(M, J + 1)``; rows
            sum to 1.
        log_density: log predictive density of each row in nats, in the units of the columns, ``(M,)``.
        likeness: where the densities lie among those of old rows, each left out of its cluster.
        sizes: points of the clusters of the point estimate, ``(J,)``.
        notes: sentences on what was left out.
    """

    row_names: tuple[str, ...]
    probabilities: NDArray[np.float64]
    log_density: NDArray[np.float64]
    likeness: Likeness
    sizes: NDArray[np.int64]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return how many rows there are, and how many are new."""
        return f"Prediction({len(self.row_names)} rows, {int(self.is_new.sum())} of them in a new cluster)"

    @property
    def clusters(self) -> NDArray[np.int64]:
        """The most probable cluster of each row, J for a new one."""
        found: NDArray[np.int64] = self.probabilities.argmax(-1)
        return found

    @property
    def typicality(self) -> NDArray[np.float64]:
        """Share of old rows, each left out, that are no more likely than each new one, ``(M,)``."""
        return self.likeness.typicality

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether a row is in no cluster that there is, more probably than in any one of them."""
        return self.clusters == len(self.sizes)

    @property
    def warning(self) -> str | None:
        """Say that the new rows are unlike the old ones; ``None`` where nothing says so."""
        if not self.likeness.is_unlike:
            return None
        return (
            "The new rows are unlike those that were clustered: half of them are less likely than "
            f"{1 - np.median(self.typicality):.0%} of the old rows (rank test, "
            f"{written_p(self.likeness.p_value)}). Probabilities of clusters hold only for rows from the "
            "same source: if these are from another, compare all rows anew."
        )

    def frame(self) -> pd.DataFrame:
        """Return one row a new row: most probable cluster, all probabilities, log density, typicality."""
        clusters = [*(str(k + 1) for k in range(len(self.sizes))), "new"]
        found: dict[str, Any] = {
            "row": list(self.row_names),
            "cluster": [clusters[one] for one in self.clusters],
            **{f"probability_{name}": self.probabilities[:, at] for at, name in enumerate(clusters)},
            "log_density": self.log_density,
            "typicality": self.typicality,
        }
        return pd.DataFrame(found)


@single_precision()
def predict(
    source: "Analysis | str | PathLike[str]",
    new: Source,
    *,
    num_draws: int = 400,
    seed: int = 0,
    **reading: Any,
) -> Prediction:
    r"""Say to which clusters of a comparison new rows belong, and whether they are like the old ones.

    .. math:: P(j \mid x^*) = \frac{\sum_s \sum_k p(c^* = k, x^* \mid c^{(s)}, x) \, |k \cap j| / |k|}
        {\sum_s p(x^* \mid c^{(s)}, x)}

    Averaged over the draws that are the answer of the comparison, or those of MCMC where none passed. New
    rows are put on the scale of the old ones. Cost O(S K D) a row.

    Args:
        source: what :func:`pyroclust.compare` returned, or the folder that it wrote.
        new: rows with the same columns, as :func:`pyroclust.read_table` takes them; other columns are left
            out.
        num_draws: most draws S that are averaged over; 100 where the family is not conjugate, for which the
            parameters of clusters are drawn by slice moves.
        seed: of which draws and old rows these are.
        **reading: how a text file is read, as :func:`pyroclust.read_table` says: ``delimiter``, ``decimal``,
            ``header``.

    Raises:
        ValueError: if the folder holds no comparison, its model has no predictive density, or a column is
            missing.

    Example:
        >>> import numpy as np
        >>> from pyroclust import cluster
        >>> old = np.concatenate([np.zeros(10), np.ones(10)]) + np.linspace(0, 0.1, 20)
        >>> found = cluster(old, mcmc_draws=50, num_chains=2, warmup=50)
        >>> predict(found, [0.05, 1.05]).clusters
        array([0, 1])
    """
    check_count("num_draws", num_draws)
    found = analysis_of(source)
    rng, old_rows = np.random.default_rng(seed), found.data
    assert old_rows is not None
    points_of, estimate_of = old_rows.points, found.reference.summary.estimate
    assert estimate_of is not None
    law = new_points_law(found, num_draws, rng)
    table = read_new_rows(new, points_of.columns, kinds=old_rows.kinds, levels=old_rows.levels, **reading)
    if table.has_missing and not takes_missing(law.model):
        raise ValueError(
            f"new has missing cells, which model {law.model.name} cannot take: leave these rows out, or "
            "compare with --family nig and rows of which some cells are missing"
        )
    points = torch.from_numpy((table.data - points_of.location) / points_of.scale)
    estimate = torch.tensor(estimate_of.assignments)
    old = torch.from_numpy(rng.permutation(len(points_of.data))[:_OLD_ROWS])
    with torch.no_grad():
        probabilities = law.cluster_probs(points, estimate).numpy()
        density = law.log_prob(points).numpy()
        alike = _likeness(law, points, density, old)
    return Prediction(
        row_names=table.row_names,
        probabilities=probabilities,
        log_density=density - ~np.isnan(table.data) @ np.log(points_of.scale),
        likeness=alike,
        sizes=np.bincount(estimate_of.assignments),
        notes=(*table.notes, f"Clusters are those of {found.reference.draws.name}."),
    )


def _likeness(law: NewPoints, points: torch.Tensor, density: np.ndarray, old: torch.Tensor) -> Likeness:
    """Compare densities of new rows with those of old ones, of the same cells each.

    Densities of fewer cells are larger: where some are missing, each new row has its share of old rows that
    are no more likely in its own cells, and these shares are compared with even ones.
    """
    lost = points.isnan()
    if not bool(lost.any()):
        return likeness(density, law.log_prob_left_out(old).numpy())
    patterns, which = torch.unique(lost, dim=0, return_inverse=True)
    # Every pattern of missing cells costs as much as all old rows do; of many these are fewer.
    old = old[: max(_FEWEST_OLD_ROWS, _OLD_ROWS * _MOST_PATTERNS // max(_MOST_PATTERNS, len(patterns)))]
    shares = np.empty(len(density))
    for place, hidden in enumerate(patterns):
        own = (which == place).numpy()
        usual = law.log_prob_left_out(old, hidden=hidden).numpy()
        shares[own] = np.searchsorted(np.sort(usual), density[own], side="right") / len(usual)
    found = likeness(shares, (np.arange(len(old)) + 1.0) / len(old))
    return replace(found, typicality=shares)
