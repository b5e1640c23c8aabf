"""Points as data frames: what the CSV files hold."""

from collections.abc import Mapping

import pandas as pd

from pyroclust.data.tables import Table
from pyroclust.results.draws_summary import Estimate

__all__ = ["with_estimates", "with_table"]


def with_table(frame: pd.DataFrame, table: Table | None) -> pd.DataFrame:
    """Add the columns and the label of a table as given.

    Args:
        frame: names of the points.
        table: the points, or ``None``.
    """
    if table is None:
        return frame
    parts: list[pd.DataFrame | pd.Series] = [frame, pd.DataFrame(table.data, columns=list(table.columns))]
    if table.labels is not None:
        parts.append(pd.Series(table.labels, name="label"))
    return pd.concat(parts, axis=1)


def with_estimates(frame: pd.DataFrame, estimates: Mapping[str, Estimate]) -> pd.DataFrame:
    """Add cluster and uncertainty of each point by every source.

    Clusters are those of the point estimates, numbered from 0 in order of first appearance; ``uncertainty``
    is the probability of being apart from the companions in that cluster.

    Args:
        frame: one row a point.
        estimates: by the name of their source.
    """
    found = {
        f"{source}_{column}": values
        for source, estimate in estimates.items()
        for column, values in (("cluster", estimate.assignments), ("uncertainty", estimate.uncertainty))
    }
    return pd.concat([frame, pd.DataFrame(found)], axis=1)
