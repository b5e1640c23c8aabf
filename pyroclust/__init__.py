"""Amortized Bayesian clustering in Pyro."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyroclust.calibrating import calibrate as calibrate
    from pyroclust.calibrating import calibrate_near as calibrate_near
    from pyroclust.comparing import compare as compare
    from pyroclust.diagnosing import diagnose as diagnose
    from pyroclust.export import to_arviz as to_arviz
    from pyroclust.exporting.pyro_results import from_pyro as from_pyro
    from pyroclust.pretrained import load_guide as load_guide
    from pyroclust.reading import read_draws as read_draws

__all__ = [
    "__version__",
    "calibrate",
    "calibrate_near",
    "compare",
    "diagnose",
    "from_pyro",
    "load_guide",
    "read_draws",
    "to_arviz",
]

__version__ = version("pyroclust")

_HOMES = {
    "calibrate": "pyroclust.calibrating",
    "calibrate_near": "pyroclust.calibrating",
    "compare": "pyroclust.comparing",
    "diagnose": "pyroclust.diagnosing",
    "from_pyro": "pyroclust.exporting.pyro_results",
    "load_guide": "pyroclust.pretrained",
    "read_draws": "pyroclust.reading",
    "to_arviz": "pyroclust.export",
}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: `pyroclust --help` need not wait for torch.
    if name not in _HOMES:
        raise AttributeError(f"module 'pyroclust' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
