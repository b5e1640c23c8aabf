"""References of `pyroclust.infer.mcmc.chains`, kept in runs/references."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pyroclust.infer.mcmc.chains import AGREED, NUM_CHAINS, Reference, largest_rhat, reference_chains

__all__ = [
    "AGREED",
    "NUM_CHAINS",
    "REFERENCES",
    "Reference",
    "kept_reference",
    "largest_rhat",
    "reference_chains",
]

REFERENCES = Path(__file__).parents[1] / "runs" / "references"


def kept_reference(path: Path, make: Callable[[], Reference]) -> Reference:
    """Return the reference in a file, made and written there where there is none yet."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **asdict(make()))
    with np.load(path) as found:
        numbers = {name: found[name].item() for name in ("halves", "rhat", "sweeps", "seconds")}
        return Reference(together=found["together"], draws=found["draws"], **numbers)
