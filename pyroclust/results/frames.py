"""The answer as tables: one row a point, and one row a cluster."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.data.tables import Table
from pyroclust.results.summaries import DrawsSummary, Estimate

__all__ = ["clusters_frame", "points_frame"]


def points_frame(
    row_names: Sequence[str], summary: DrawsSummary, others: Mapping[str, Estimate], table: Table | None
) -> pd.DataFrame:
    """Return one row a point: what the draws say of it, the table, then the estimates of other draws."""
    found: dict[str, Any] = {"row": list(row_names)}
    if summary.estimate is not None:
        labels, member = summary.estimate.assignments, summary.membership
        found["cluster"] = labels + 1
        if member is not None:
            found["probability"] = member[np.arange(len(labels)), labels]
        found["uncertainty"] = summary.estimate.uncertainty
    beside: dict[str, Any] = {}
    for name, one in others.items():
        beside |= {f"{name}_cluster": one.assignments + 1, f"{name}_uncertainty": one.uncertainty}
    if table is not None:
        ours = {*found, *beside, "label", "partial_label"} | (
            {"weight"} if table.weights is not None else set()
        )
        for title, values in table.written() if table.shape is None else ():
            while title in ours:
                title += " (given)"
            ours.add(title)
            found[title] = values
        if table.weights is not None:
            found["weight"] = table.weights
        for name, known in (("label", table.labels), ("partial_label", table.partial_labels)):
            if known is not None:
                found[name] = pd.Series(known, dtype=object)
    return pd.DataFrame(found | beside)


def clusters_frame(
    summary: DrawsSummary, columns: tuple[str, ...], weights: np.ndarray | None = None
) -> pd.DataFrame:
    """Return one row a cluster of the point estimate, from 1, as latent profile analysis reports it."""
    estimate, profiles, member = summary.estimate, summary.profiles, summary.membership
    if estimate is None or member is None:
        return pd.DataFrame({"cluster": []})
    sizes, labels = np.bincount(estimate.assignments), estimate.assignments
    own = member[np.arange(len(labels)), labels]
    found: dict[str, Any] = {
        "cluster": np.arange(len(sizes)) + 1,
        "rows": sizes,
        **({} if weights is None else {"weight": summary.sizes}),
        "share": summary.sizes / summary.sizes.sum(),
        "mean_membership": np.bincount(labels, weights=own) / sizes,
    }
    if profiles is not None:
        found |= {
            "share_low": profiles.share_low,
            "share_high": profiles.share_high,
            "stability": profiles.stability,
        }
        for d, name in enumerate(columns):
            found[name] = profiles.centres[:, d]
            found[f"{name} low"] = profiles.centre_low[:, d]
            found[f"{name} high"] = profiles.centre_high[:, d]
    return pd.DataFrame(found)
