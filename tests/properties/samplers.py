"""Properties of pyroclust.infer and pyroclust.data: what is drawn, weighed and scaled, given anything."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from properties.calls import Call
from properties.hostile import finite, seeds

from pyroclust import data as tables
from pyroclust import infer
from pyroclust.guides import PredictiveFilter
from pyroclust.models import gaussian2d
from pyroclust.partitions import Draws, is_canonical

MODEL = gaussian2d()
FILTER = PredictiveFilter(MODEL)
POINTS = st.integers(1, 4).flatmap(lambda size: finite(size, 2, extreme=False))


def given(**more: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"data": POINTS, **more})


def _exact(*, data: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return infer.exact_posterior(MODEL, data)


def _evidence(*, data: Any) -> torch.Tensor:
    return infer.log_evidence(MODEL, data)


def _weighed(*, data: Any, num_draws: int) -> Draws:
    torch.manual_seed(0)
    # Two runs of the same draws take different times.
    return replace(infer.importance_sample(MODEL, FILTER, data, num_draws=num_draws), seconds=0.0)


def _efficient(*, data: Any, num_draws: int) -> torch.Tensor:
    torch.manual_seed(0)
    return infer.efficiencies(MODEL, FILTER, data, num_draws=num_draws)


def _particles(*, data: Any, num_particles: int, ess_threshold: float) -> torch.Tensor:
    torch.manual_seed(0)
    draws, _ = infer.sequential_monte_carlo(
        MODEL, FILTER, data, num_particles=num_particles, ess_threshold=ess_threshold
    )
    return torch.from_numpy(draws.flat)


def weighed(found: Draws, *, data: Any, num_draws: int) -> None:
    assert found.num_draws == num_draws
    assert is_canonical(torch.from_numpy(found.assignments)).all()
    assert np.isfinite(found.log_weights).all()


def shares(found: torch.Tensor, **_: Any) -> None:
    assert ((found > 0) & (found <= 1 + 1e-6)).all()


def particles(found: torch.Tensor, *, num_particles: int, **_: Any) -> None:
    assert found.shape[0] == num_particles
    assert is_canonical(found).all()


@st.composite
def learned(draw: DrawFn) -> dict[str, Any]:
    fewest = draw(st.integers(2, 9))
    return {
        "steps": draw(st.integers(1, 9)),
        "min_points": fewest,
        "max_points": fewest + draw(st.integers(0, 9)),
        "learning_rate": draw(st.floats(1e-6, 1.0)),
        "warmup_steps": draw(st.integers(0, 9)),
        "final_fraction": draw(st.floats(0, 1)),
    }


def _schedule(**settings: Any) -> list[float]:
    found = infer.FitSettings(**settings)
    torch.manual_seed(0)
    return [float(found.draw_points()), *(found.learning_rate_at(step) for step in range(20))]


def _points(found: tables.Standardised) -> tuple[np.ndarray, ...]:
    """Leave out names, which data frames have and arrays have not."""
    return found.data, found.location, found.scale


def _standard(*, data: Any) -> tuple[np.ndarray, ...]:
    return _points(tables.standardise(tables.read_table(data)))


def _raw(*, data: Any) -> tuple[np.ndarray, ...]:
    return _points(tables.unscaled(tables.read_table(data)))


def _turned(*, data: Any, num_components: int) -> tuple[np.ndarray, ...]:
    return _points(tables.principal_components(tables.unscaled(tables.read_table(data)), num_components))


@st.composite
def varied(draw: DrawFn, *, turned: bool = False) -> dict[str, Any]:
    """Points no two columns of which are alike."""
    size, width = draw(st.integers(4, 6)), draw(st.integers(1, 3))
    steps = np.arange(1.0, size + 1)[:, None] ** np.arange(1, width + 1)
    found = {"data": steps + draw(finite(size, width, extreme=False)) / 1000}
    return found | ({"num_components": draw(st.integers(1, width))} if turned else {})


VALIDATED = st.fixed_dictionaries(
    {
        "every": st.integers(1, 9),
        "num_datasets": st.integers(1, 9),
        "exact_points": st.integers(2, 8),
        "sampled_points": st.integers(2, 9),
        "num_draws": st.integers(1, 9),
        "seed": seeds,
    }
)


def _visited(*, number: int, antithetic: bool, consistency: float) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    rule = infer.VisitingOrders(number, antithetic=antithetic, consistency=consistency)
    orders = rule.draw(torch.zeros(2, 4, 1))
    return {"orders": orders, "penalty": rule.penalty(torch.ones(2, len(orders)))}


def in_each_order(found: dict[str, torch.Tensor], *, number: int, antithetic: bool, **_: Any) -> None:
    """Orders are permutations, and equal log-probabilities cost nothing."""
    orders = found["orders"]
    assert torch.equal(orders.sort(-1).values, torch.arange(4).expand(number, 2, 4))
    assert not antithetic or torch.equal(orders[1], orders[0].flip(-1))
    assert (found["penalty"] == 0).all()


VISITED = st.fixed_dictionaries(
    {"number": st.integers(2, 4), "antithetic": st.booleans(), "consistency": st.floats(0, 2)}
)


def _left_out(*, num_particles: int, data: Any) -> torch.Tensor:
    torch.manual_seed(0)
    guide = PredictiveFilter(MODEL)
    points = guide.points(data)
    return torch.as_tensor(infer.LeaveOneOut(num_particles)(MODEL, guide)(points)).detach()


DRAWS = st.integers(1, 5)
SETS = st.fixed_dictionaries({"data": finite(2, 3, 2, extreme=False), "num_draws": DRAWS})
CALLS = [
    Call("infer.exact_posterior", _exact, given()),
    Call("infer.log_evidence", _evidence, given()),
    Call("infer.importance_sample", _weighed, given(num_draws=DRAWS), weighed),
    Call("infer.efficiencies", _efficient, SETS, shares),
    Call(
        "infer.sequential_monte_carlo",
        _particles,
        given(num_particles=st.integers(2, 5), ess_threshold=st.floats(0.1, 0.9)),
        particles,
    ),
    Call("infer.FitSettings", _schedule, learned(), one_form=True),
    Call("infer.Validation", infer.Validation, VALIDATED),
    Call("infer.VisitingOrders", _visited, VISITED, in_each_order),
    Call(
        "infer.LeaveOneOut",
        _left_out,
        st.fixed_dictionaries({"num_particles": st.integers(2, 4), "data": finite(2, 3, 2, extreme=False)}),
    ),
    Call("data.standardise", _standard, varied(), one_form=True),
    Call("data.unscaled", _raw, varied(), one_form=True),
    Call("data.principal_components", _turned, varied(turned=True), one_form=True),
]
