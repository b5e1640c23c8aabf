"""Tempered populations of `pyroclust.infer.tempered_populations`, kept in runs/tempered as they come."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from pyroclust.core.files import replace_file
from pyroclust.infer import Populations, tempered_populations
from pyroclust.partitions import Draws

__all__ = ["TEMPERED", "kept_populations"]

TEMPERED = Path(__file__).parents[1] / "runs" / "tempered"
_AT_ONCE, _HYPER = 2, "hyper "


def kept_populations(
    name: str, model: Any, data: Tensor, *, num_populations: int, num_particles: int, sweeps: int
) -> Draws:
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
            draws, populations = tempered_populations(
                model, data, num_populations=_AT_ONCE, num_particles=num_particles, sweeps=sweeps, seed=seed
            )
            print(f"{name}, seed {seed}: {populations}", flush=True)
            _write(path, draws, populations)
        found.append(_read(path))
    return Draws.joined(found)


def _write(path: Path, draws: Draws, populations: Populations) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        assignments=draws.flat.astype(np.int16),
        log_weights=draws.log_weights.ravel(),
        log_joint=draws.log_joint.ravel(),
        ancestors=populations.ancestors.ravel(),
        **{f"powers {place}": np.array(one) for place, one in enumerate(populations.powers)},
        **{f"{_HYPER}{name}": values.ravel() for name, values in draws.parameters.items()},
    )
    replace_file(path, file.getvalue())


def _read(path: Path) -> Draws:
    with np.load(path) as file:
        kept = [name for name in file.files if not name.startswith("powers")]
        found = {name: file[name].reshape(_AT_ONCE, -1, *file[name].shape[1:]) for name in kept}
    return Draws(
        name="tempered populations",
        assignments=found["assignments"].astype(np.int64),
        log_weights=found["log_weights"],
        log_joint=found["log_joint"],
        parameters={name.removeprefix(_HYPER): found[name] for name in found if name.startswith(_HYPER)},
    )
