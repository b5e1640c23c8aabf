"""What the missing cells of a table may hold, given the rest of it."""

from os import PathLike

import numpy as np
import torch

from pyroclust.analysis.predictive import analysis_of, predictive_law
from pyroclust.counts import check_count
from pyroclust.data.point_masses import apart
from pyroclust.random_state import seeded
from pyroclust.results.analysis import Analysis
from pyroclust.results.missing_cells import ColumnOfMissing, MissingCells

__all__ = ["missing_cells"]


def missing_cells(
    source: "Analysis | str | PathLike[str]", *, num_draws: int = 400, seed: int = 0
) -> MissingCells:
    r"""Draw the missing cells of a table that was clustered from their posterior.

    .. math:: c \sim p(c \mid x), \qquad \theta_k \sim p(\theta_k \mid x_k), \qquad x_{id} \sim
        F_d(\theta_{c_i})

    A row whose cluster is in doubt is drawn from several. Columns are independent given the cluster, and so
    a cell learns from the others of its row by way of the clusters alone. Cost O(S N D).

    Args:
        source: what :func:`pyroclust.compare` returned, or the folder that it wrote.
        num_draws: most draws of the partition, one value of each cell from each.
        seed: of these draws.

    Raises:
        ValueError: if no cell is missing, or the folder holds no comparison of rows of columns.

    Example:
        >>> from pyroclust import cluster
        >>> rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0) + np.linspace(0, 0.1, 40).reshape(20, 2)
        >>> rows[0, 1] = np.nan
        >>> found = cluster(rows, mcmc_draws=50, num_chains=2, warmup=50)
        >>> cells = missing_cells(found)
        >>> cells
        MissingCells(1 cells in 1 column(s), by merge-split+gibbs)
        >>> bool(cells.columns[0].interval[1, 0] < 0.8)
        True
    """
    check_count("num_draws", num_draws)
    found = analysis_of(source)
    data = found.data
    assert data is not None
    values, points = data.values, data.points
    gaps = np.isnan(values)
    lost = gaps & ~apart(values, data.parts)
    if not lost.any():
        raise ValueError("source has no missing cell, expected a table with some")
    law = predictive_law(found, num_draws)
    with seeded(seed), torch.no_grad():
        draws = law.sample_missing().numpy()[:, lost[gaps]]
    rows, places = np.nonzero(lost)
    units = data.in_units
    columns = tuple(
        ColumnOfMissing(
            points.columns[d],
            data.kinds[d],
            data.levels[d],
            rows[places == d],
            draws[:, places == d] * points.scale[d] + points.location[d],
            units[~gaps[:, d], d],
        )
        for d in np.unique(places)
    )
    return MissingCells(columns, found.row_names, found.reference.draws.name)
