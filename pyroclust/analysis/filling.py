"""What the missing cells of a table may hold, given the rest of it."""

from os import PathLike

import numpy as np
import torch

from pyroclust.analysis.found import Found
from pyroclust.counts import check_count
from pyroclust.data.kinds import Kind
from pyroclust.data.point_masses import apart
from pyroclust.random_state import seeded
from pyroclust.results.comparison_result import ComparisonResult
from pyroclust.results.missing_cells import ColumnOfMissing, MissingCells

__all__ = ["missing_cells"]


def missing_cells(
    source: "ComparisonResult | str | PathLike[str]", *, num_draws: int = 400, seed: int = 0
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
        >>> from pyroclust import compare
        >>> rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0) + np.linspace(0, 0.1, 40).reshape(20, 2)
        >>> rows[0, 1] = np.nan
        >>> found = compare(rows, guide="none", mcmc_draws=50, num_chains=2, warmup=50)
        >>> cells = missing_cells(found)
        >>> cells
        MissingCells(1 cells in 1 column(s), by merge-split+gibbs)
        >>> bool(cells.columns[0].interval[1, 0] < 0.8)
        True
    """
    check_count("num_draws", num_draws)
    found = Found.at(source)
    number = len(found.columns)
    kinds, levels = found.kinds or (Kind.NUMBER,) * number, found.levels or ((),) * number
    gaps = np.isnan(found.data)
    lost = gaps & ~apart(found.data, found.columns, kinds)
    if not lost.any():
        raise ValueError("source has no missing cell, expected a table with some")
    law = found.predictive(num_draws, np.random.default_rng(seed))
    with seeded(seed), torch.no_grad():
        draws = law.sample_missing().numpy()[:, lost[gaps]]
    rows, places = np.nonzero(lost)
    units = found.data * found.scale + found.location
    columns = tuple(
        ColumnOfMissing(
            found.columns[d],
            kinds[d],
            levels[d],
            rows[places == d],
            draws[:, places == d] * found.scale[d] + found.location[d],
            units[~gaps[:, d], d],
        )
        for d in np.unique(places)
    )
    return MissingCells(columns, found.row_names, found.drawn_by)
