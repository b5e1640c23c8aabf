"""Settings of the whole process that a user has changed: the same draws, and the settings as they were."""

import contextlib
import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyro
import torch
from faults.cases import Case

from pyroclust.core.random_state import seeded
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.infer import exact_posterior, importance_sample, sequential_monte_carlo
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.models import gaussian2d

POINTS = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
MODEL = gaussian2d()
FILTER = PredictiveFilter(MODEL)
with seeded(0):
    NETWORK = NeuralClusteringProcess(MODEL)


@contextlib.contextmanager
def changed(change: Callable[[Any], Any], value: Any, back: Any) -> Iterator[None]:
    change(value)
    try:
        yield
    finally:
        change(back)


@contextlib.contextmanager
def filled_store() -> Iterator[None]:
    with pyro.get_param_store().scope():
        pyro.param("loc", torch.ones(3))
        yield
        assert set(pyro.get_param_store().keys()) == {"loc"}, "the parameter store was changed"


SETTINGS: dict[str, Callable[[], Any]] = {
    "np.seterr(all='raise')": lambda: np.errstate(all="raise"),
    "warnings are errors": lambda: warnings.catch_warnings(action="error"),
    "a default dtype of float64": lambda: changed(torch.set_default_dtype, torch.float64, torch.float32),
    "inference mode": torch.inference_mode,
    "deterministic algorithms": lambda: changed(torch.use_deterministic_algorithms, True, False),
    "Pyro's validation off": lambda: pyro.validation_enabled(is_validate=False),
    "a parameter store with a parameter": filled_store,
    "two threads of torch": lambda: changed(torch.set_num_threads, 2, torch.get_num_threads()),
}


def every_call() -> list[Any]:
    """Draw by every kind of sampler."""
    found: list[Any] = [guide.posterior(POINTS).sample((5,)).clone() for guide in (FILTER, NETWORK)]
    found.append(importance_sample(MODEL, FILTER, POINTS, num_draws=5).assignments)
    found.append(sequential_monte_carlo(MODEL, FILTER, POINTS, num_particles=5)[0].assignments)
    found.append(CollapsedGibbs(MODEL).run(POINTS, num_draws=3, seed=1).assignments)
    found.append(exact_posterior(MODEL, POINTS)[1].argmax().clone())
    return [one.tolist() for one in found]


def state() -> dict[str, Any]:
    """Return what a call must leave as it was."""
    return {
        "np.geterr": np.geterr(),
        "default dtype": torch.get_default_dtype(),
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "validation": torch.distributions.Distribution._validate_args,
        "threads": torch.get_num_threads(),
        "filters": len(warnings.filters),
        "random": random.getstate()[1][:3],
        "numpy's random": np.random.get_state()[2],  # noqa: NPY002
    }


def unmoved(setting: Callable[[], Any], folder: Path) -> str:
    """Draw under a setting, and compare draws and settings with those without it."""
    with seeded(3):
        wanted = every_call()
    with setting():
        before = state()
        with seeded(3):
            found = every_call()
        after = state()
    assert after == before, f"left changed: {[name for name in before if before[name] != after[name]]}"
    assert found == wanted, "other draws"
    return "the same draws, settings as before"


CASES = [
    Case("settings", name, "the same draws, and the setting is as before", partial(unmoved, setting))
    for name, setting in SETTINGS.items()
]
