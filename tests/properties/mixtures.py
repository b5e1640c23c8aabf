"""Properties of pyroclust.models, and of what pyroclust.infer computes from a model alone."""

from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from properties.calls import Call
from properties.hostile import any_labels, finite

from pyroclust import distributions as laws
from pyroclust import infer, models
from pyroclust.guides import PredictiveFilter
from pyroclust.nn import DensestFirst
from pyroclust.partitions import canonical, is_canonical

POSITIVE = st.floats(0.05, 20)
FIXED = {
    "few_components": models.few_components,
    "gaussian2d": models.gaussian2d,
    "nig_mixture": models.nig_mixture,
    "niw_mixture": models.niw_mixture,
    "normal_mixture": models.normal_mixture,
    "overlap2d": models.overlap2d,
    "sensitivity2d": models.sensitivity2d,
}
GAUSSIAN = models.gaussian2d()
# The same order of the points, whoever asks.
FILTER = PredictiveFilter(GAUSSIAN, order=DensestFirst(1.0))


@st.composite
def labelled(draw: DrawFn, *, draws: tuple[int, ...] = (), **more: Any) -> dict[str, Any]:
    """Points of a plane, and draws of their partition."""
    size = draw(st.integers(2, 5))
    found = {"data": torch.from_numpy(draw(finite(size, 2, extreme=False)))}
    found["assignments"] = canonical(torch.from_numpy(draw(any_labels(*draws, size))))
    return found | {name: draw(one) for name, one in more.items()}


def _joint(*, data: Any, assignments: Any, concentration: float) -> torch.Tensor:
    prior = laws.ChineseRestaurantPrior(concentration)
    return models.Mixture(prior, laws.NormalKnownVariance(2)).log_joint(data, assignments)


def _simulated(make: Any) -> Any:
    def found(*, dim: int, **_: Any) -> tuple[torch.Tensor, torch.Tensor, tuple[int, ...]]:
        torch.manual_seed(0)
        model = make(dim)
        data, assignments = infer.simulate(model, torch.empty(2, 3, model.component.dim))
        return data, assignments, model.event_shape

    return found


def a_model(found: tuple[torch.Tensor, torch.Tensor, tuple[int, ...]], *, dim: int) -> None:
    data, assignments, event_shape = found
    assert event_shape == (dim,)
    assert data.shape == (2, 3, dim)
    assert data.isfinite().all()
    assert is_canonical(assignments).all()


def _predicted(*, data: Any, assignments: Any, points: Any) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    law = models.PosteriorPredictive(GAUSSIAN, data, assignments)
    return {
        "log_prob": law.log_prob(points),
        "clusters": law.log_cluster_probs(points),
        "new": law.log_new_cluster_prob(points),
        "drawn": law.sample((3,)),
    }


def predicted(found: dict[str, torch.Tensor], **_: Any) -> None:
    """A point belongs to some cluster, a new one among them; densities are numbers."""
    chances = found["clusters"].exp().sum(-1)
    torch.testing.assert_close(chances, torch.ones_like(chances))
    assert found["log_prob"].isfinite().all()
    assert (found["new"] <= 1e-9).all()
    assert found["drawn"].shape == (3, 2)


def _companion(*, num_components: int, num_points: int) -> tuple[torch.Tensor, torch.Tensor]:
    program = models.companion(GAUSSIAN, num_components)
    return program.truncation_error(num_points), program.truncation_error(num_points + 1)


def _parameters(*, data: Any, assignments: Any, num_samples: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return infer.cluster_parameters(GAUSSIAN, data, assignments, num_samples=num_samples)


def _drawn(*, template: Any) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return infer.simulate(GAUSSIAN, template)


def _divergences(*, data: Any) -> torch.Tensor:
    return infer.divergences(GAUSSIAN, FILTER, data)


def not_negative(found: torch.Tensor, **_: Any) -> None:
    assert (found >= -1e-9).all()


def _labelled_rows(kind: Any) -> Any:
    def found(*, table: Any, labels: Any) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(0)
        model = kind([(table, labels)])
        return infer.simulate(model, torch.empty(2, 3, *model.event_shape))

    return found


def some_rows(found: tuple[torch.Tensor, torch.Tensor], **_: Any) -> None:
    data, assignments = found
    assert data.isfinite().all()
    assert is_canonical(assignments).all()


def _rising(values: np.ndarray) -> np.ndarray:
    return values / 100 + np.arange(len(values)).reshape(-1, *(1,) * (values.ndim - 1))


def rows(*event_shape: int) -> Any:
    """Labelled points no column of which is constant."""
    return st.integers(4, 6).flatmap(
        lambda size: st.fixed_dictionaries(
            {
                "table": finite(size, *event_shape, extreme=False).map(_rising),
                "labels": any_labels(size, top=2),
            }
        )
    )


DIMS = st.fixed_dictionaries({"dim": st.integers(1, 3)})
PLANES = st.fixed_dictionaries({"dim": st.integers(2, 3)})
CALLS = [
    *(
        Call(
            f"models.{name}",
            _simulated(make),
            PLANES if name in ("niw_mixture", "few_components") else DIMS,
            a_model,
        )
        for name, make in FIXED.items()
    ),
    Call("models.Mixture", _joint, labelled(concentration=POSITIVE)),
    Call(
        "models.PosteriorPredictive",
        _predicted,
        labelled(draws=(3,), points=finite(4, 2, extreme=False).map(torch.from_numpy)),
        predicted,
    ),
    Call(
        "models.companion",
        _companion,
        st.fixed_dictionaries({"num_components": st.integers(2, 9), "num_points": st.integers(1, 9)}),
    ),
    Call("models.LabelledTables", _labelled_rows(models.LabelledTables), rows(2), some_rows),
    Call("models.LabelledImages", _labelled_rows(models.LabelledImages), rows(4, 4), some_rows),
    Call(
        "infer.cluster_parameters",
        _parameters,
        labelled(draws=(2,), num_samples=st.integers(1, 4)),
    ),
    Call(
        "infer.simulate",
        _drawn,
        st.fixed_dictionaries({"template": finite(2, 3, 2, extreme=False).map(torch.from_numpy)}),
    ),
    Call(
        "infer.divergences",
        _divergences,
        st.fixed_dictionaries({"data": finite(2, 3, 2, extreme=False).map(torch.from_numpy)}),
        not_negative,
    ),
]
