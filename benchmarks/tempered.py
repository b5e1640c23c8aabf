"""Tempered populations of `pyroclust.infer.tempered_populations`, kept in runs/tempered as they come."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.files import replace_file
from pyroclust.infer import TemperedPopulations, tempered_populations

__all__ = ["TEMPERED", "kept_populations"]

TEMPERED = Path(__file__).parents[1] / "runs" / "tempered"
_AT_ONCE, _HYPER = 2, "hyper "


def kept_populations(
    name: str, model: Any, data: Tensor, *, num_populations: int, num_particles: int, sweeps: int
) -> TemperedPopulations:
    """Return populations, drawn two at a time: those of earlier runs are read, and more are added.

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
    found = []
    for seed in range(1, -(-num_populations // _AT_ONCE) + 1):
        path = folder / f"{seed}.npz"
        if not path.exists():
            drawn = tempered_populations(
                model, data, num_populations=_AT_ONCE, num_particles=num_particles, sweeps=sweeps, seed=seed
            )
            print(f"{name}, seed {seed}: {drawn}, {len(drawn.ancestors.unique())} ancestors", flush=True)
            _write(path, drawn)
        found.append(_read(path))
    return TemperedPopulations.joined(found)


def _write(path: Path, drawn: TemperedPopulations) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    hyper = {f"{_HYPER}{name}": values.numpy() for name, values in drawn.hyperparameters.items()}
    file = io.BytesIO()
    np.savez_compressed(
        file,
        assignments=drawn.assignments.numpy().astype(np.int16),
        log_weights=drawn.log_weights.numpy(),
        log_joint=drawn.log_joint.numpy(),
        ancestors=drawn.ancestors.numpy(),
        **{f"powers {place}": np.array(one) for place, one in enumerate(drawn.powers)},
        **hyper,
    )
    replace_file(path, file.getvalue())


def _read(path: Path) -> TemperedPopulations:
    with np.load(path) as file:
        found = {name: file[name] for name in file.files}
    powers = tuple(tuple(found.pop(f"powers {place}").tolist()) for place in range(_AT_ONCE))
    tensors = {name: torch.from_numpy(values) for name, values in found.items()}
    assignments = tensors.pop("assignments").long()
    hyper = {
        name.removeprefix(_HYPER): tensors.pop(name) for name in list(tensors) if name.startswith(_HYPER)
    }
    return TemperedPopulations(
        assignments=assignments,
        hyperparameters=hyper,
        num_populations=_AT_ONCE,
        powers=powers,
        **tensors,
    )
