"""Properties of pyroclust.infer.mcmc: chains of any data from any start."""

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from properties.calls import Call
from properties.hostile import any_labels, finite, seeds

from pyroclust import models
from pyroclust.infer import mcmc
from pyroclust.partitions import is_canonical

MODEL = models.gaussian2d()


@st.composite
def chains_of(draw: DrawFn, **more: SearchStrategy[Any]) -> dict[str, Any]:
    size = draw(st.integers(2, 5))
    found = {
        "data": draw(finite(size, 2, extreme=False)),
        "num_draws": draw(st.integers(1, 3)),
        "warmup": draw(st.integers(0, 2)),
        "num_chains": draw(st.integers(1, 3)),
        "seed": draw(seeds),
        "init": torch.from_numpy(draw(any_labels(size))),
    }
    return found | {name: draw(one) for name, one in more.items()}


def _run(make: Callable[..., mcmc.PartitionKernel]) -> Callable[..., dict[str, torch.Tensor]]:
    def found(
        *, data: Any, num_draws: int, warmup: int, num_chains: int, seed: int, init: Any, **numbers: Any
    ) -> dict[str, torch.Tensor]:
        run = make(MODEL, init=init, **numbers).run(
            data, num_draws=num_draws, warmup=warmup, num_chains=num_chains, seed=seed
        )
        return {
            "assignments": torch.from_numpy(run.assignments),
            "log_joint": torch.from_numpy(run.log_joint),
        }

    return found


def chain(found: dict[str, torch.Tensor], *, data: Any, num_draws: int, num_chains: int, **_: Any) -> None:
    """Draws are partitions, and their joint density is that of the model."""
    points = torch.as_tensor(data, dtype=torch.float64)
    labels = found["assignments"]
    assert labels.shape == (num_chains, num_draws, len(points))
    assert is_canonical(labels).all()
    torch.testing.assert_close(found["log_joint"].double(), MODEL.log_joint(points, labels).double())


def _started(make: Callable[..., mcmc.Starts]) -> Callable[..., torch.Tensor]:
    def found(*, draws: torch.Tensor) -> torch.Tensor:
        kernel = mcmc.CollapsedGibbs(MODEL, init=make(draws))
        run = kernel.run(torch.zeros(3, 2), num_draws=1, num_chains=2, seed=0)
        return torch.from_numpy(run.assignments)

    return found


def _sized(make: Callable[..., Any]) -> Callable[..., int]:
    return lambda *, size: int(make(size=size).size)


def _sliced(**numbers: Any) -> dict[str, Any]:
    rule = mcmc.SliceParameters(**numbers)
    return {name: getattr(rule, name) for name in numbers}


SIZES = st.fixed_dictionaries({"size": st.integers(1, 20)})
SLICES = st.fixed_dictionaries({"rounds": st.integers(1, 9), "width": st.floats(0.1, 10)})
CALLS = [
    Call("infer.mcmc.CollapsedGibbs", _run(mcmc.CollapsedGibbs), chains_of(thin=st.integers(1, 2)), chain),
    Call(
        "infer.mcmc.FromDraws",
        _started(mcmc.FromDraws),
        st.fixed_dictionaries({"draws": any_labels(2, 3).map(torch.from_numpy)}),
    ),
    Call("infer.mcmc.UniformBlocks", _sized(mcmc.UniformBlocks), SIZES),
    Call("infer.mcmc.NeighbourBlocks", _sized(mcmc.NeighbourBlocks), SIZES),
    Call("infer.mcmc.SliceParameters", _sliced, SLICES),
]
