"""How good a guide's draws are on real tables, where nothing is known but what long chains say."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.calibration.rows import RealTablesRow
from pyroclust.core.counts import check_count
from pyroclust.core.random_state import pyro_seeded
from pyroclust.diagnostics import co_assignment, importance_efficiency
from pyroclust.distributions.points import Points, as_points
from pyroclust.guides.exact_filter import exact_filter
from pyroclust.infer.mcmc.reference import Reference, reference_chains

__all__ = ["real_tables_row"]

# The draws come in equal parts from so many posteriors, each with a visiting order of its own.
_ORDERS = 8


def real_tables_row(
    guide: Any,
    tables: Sequence[Points],
    *,
    source: str = "tables",
    num_draws: int = 1000,
    seed: int = 1,
    reference: Callable[[int, Tensor], Reference] | None = None,
) -> RealTablesRow:
    """Hold draws of a guide, and of the exact filter of its model, against long chains on real tables.

    Cost: that of the chains, seconds to a minute a table.

    Args:
        guide: of a conjugate model, without conditions.
        tables: data sets on the scale that the guide was made for, ``(n, D)`` each.
        source: which tables these are, in words.
        num_draws: draws a table, a multiple of 8.
        seed: of the draws.
        reference: the chains of a table, told its place and its points; by default
            :func:`~pyroclust.infer.mcmc.reference.reference_chains` of the model.

    Raises:
        ValueError: if there is no table, the model has no exact filter, or the number of draws is another.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> guide = PredictiveFilter(gaussian2d())
        >>> row = real_tables_row(guide, [torch.tensor([[0.0, 0.0], [20.0, 0.0]])], num_draws=80)
        >>> row.num_agreed, row.median_largest < 0.2
        (1, True)
    """
    tables = list(tables)
    if not tables:
        raise ValueError("tables is empty, expected one or more data sets")
    each, rest = divmod(check_count("num_draws", num_draws), _ORDERS)
    if rest:
        raise ValueError(f"num_draws is {num_draws}, expected a multiple of {_ORDERS}, the visiting orders")
    baseline = exact_filter(guide.model, conditions=guide.conditions)
    chains = reference or (lambda _, points: reference_chains(guide.model, points, seed=seed))
    own, others, agreed, floors = [], [], 0, []
    for place, table in enumerate(tables):
        points = as_points(table, like=torch.empty(0, dtype=torch.float64))
        found = chains(place, points)
        agreed += found.agreed
        floors.append(found.floor(num_draws)[0])
        with pyro_seeded(seed, place):
            own.append(_errors(guide, points, found, each))
            others.append(_errors(baseline, points, found, each))
    (efficiency, largest, mean), of_filter = np.median(own, 0).tolist(), np.median(others, 0).tolist()
    return RealTablesRow(
        source=source,
        num_tables=len(tables),
        num_draws=num_draws,
        num_agreed=agreed,
        median_efficiency=efficiency,
        lower_efficiency=float(np.quantile([one[0] for one in own], 0.25)),
        median_largest=largest,
        median_mean=mean,
        median_floor=float(np.median(floors)),
        baseline_efficiency=of_filter[0],
        baseline_largest=of_filter[1],
        baseline_mean=of_filter[2],
    )


def _errors(guide: Any, points: Tensor, found: Reference, each: int) -> tuple[float, float, float]:
    """Return efficiency, largest and mean error of draws of one table, so many of every posterior."""
    with torch.no_grad():
        parts = [guide.posterior(points).sample_and_log_prob((each,)) for _ in range(_ORDERS)]
    draws, log_q = (torch.cat(one) for one in zip(*parts, strict=True))
    log_weights = guide.model.log_joint(points, draws).double() - log_q.double()
    efficiency = float(importance_efficiency(log_weights.numpy()))
    return efficiency, *found.errors(co_assignment(draws.numpy()))
