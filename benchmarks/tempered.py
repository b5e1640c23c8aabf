"""Tempered populations of `pyroclust.infer.tempered_populations`, kept in runs/tempered as they come."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax
from torch import Tensor

from pyroclust import Draws
from pyroclust.diagnostics import co_assignment
from pyroclust.files import replace_file
from pyroclust.infer import tempered_populations

__all__ = ["TEMPERED", "kept_populations", "together_in"]

TEMPERED = Path(__file__).parents[1] / "runs" / "tempered"
_AT_ONCE = 2


def kept_populations(
    name: str, model: Any, data: Tensor, *, num_populations: int, num_particles: int, sweeps: int
) -> Draws:
    """Return populations, weighted, drawn two at a time: those of earlier runs are read, and more are added.

    Args:
        name: of the table.
        model: of the posterior.
        data: the points, ``(N, D)``.
        num_populations: of them; one more where it is odd.
        num_particles: of each.
        sweeps: draws of the kernel at every power.
    """
    content = hashlib.sha256(f"{model}".encode() + data.numpy().tobytes()).hexdigest()[:8]
    folder = TEMPERED / f"{name}-{content}-{num_particles}x{sweeps}"
    labels, log_weights = [], []
    for seed in range(1, -(-num_populations // _AT_ONCE) + 1):
        path = folder / f"{seed}.npz"
        if not path.exists():
            drawn, record = tempered_populations(
                model, data, num_populations=_AT_ONCE, num_particles=num_particles, sweeps=sweeps, seed=seed
            )
            print(f"{name}, seed {seed}: {record}", flush=True)
            _write(path, drawn)
        with np.load(path) as file:
            # Files of before have the populations one after the other.
            shape = (_AT_ONCE, num_particles)
            labels.append(file["assignments"].astype(np.int64).reshape(*shape, -1))
            log_weights.append(file["log_weights"].reshape(shape))
    return Draws(assignments=np.concatenate(labels), log_weights=np.concatenate(log_weights))


def together_in(drawn: Draws, populations: slice) -> np.ndarray:
    """Return the co-assignment probabilities of some populations, ``(N, N)``."""
    assert drawn.log_weights is not None
    weights = softmax(drawn.log_weights[populations]).ravel()
    labels = drawn.assignments[populations]
    return co_assignment(labels.reshape(-1, drawn.num_points), weights=weights)


def _write(path: Path, drawn: Draws) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = io.BytesIO()
    np.savez_compressed(file, assignments=drawn.assignments.astype(np.int16), log_weights=drawn.log_weights)
    replace_file(path, file.getvalue())
