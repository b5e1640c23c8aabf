"""Amortized Bayesian clustering in Pyro."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyroclust.analysis.compare import compare as compare
    from pyroclust.analysis.diagnose import diagnose as diagnose
    from pyroclust.calibration.calibrate import calibrate as calibrate
    from pyroclust.calibration.calibrate import calibrate_near as calibrate_near
    from pyroclust.data.datasets import read_table as read_table
    from pyroclust.data.standardise import standardise as standardise
    from pyroclust.io import read_draws as read_draws
    from pyroclust.io.arviz import to_arviz as to_arviz
    from pyroclust.io.pyro_results import from_pyro as from_pyro
    from pyroclust.saving.cards import list_guides as list_guides
    from pyroclust.saving.guides import load_guide as load_guide
    from pyroclust.saving.guides import save_guide as save_guide

__all__ = [
    "__version__",
    "calibrate",
    "calibrate_near",
    "compare",
    "diagnose",
    "from_pyro",
    "list_guides",
    "load_guide",
    "read_draws",
    "read_table",
    "save_guide",
    "standardise",
    "to_arviz",
]

__version__ = version("pyroclust")

_HOMES = {
    "calibrate": "pyroclust.calibration.calibrate",
    "calibrate_near": "pyroclust.calibration.calibrate",
    "compare": "pyroclust.analysis.compare",
    "diagnose": "pyroclust.analysis.diagnose",
    "from_pyro": "pyroclust.io.pyro_results",
    "list_guides": "pyroclust.saving.cards",
    "load_guide": "pyroclust.saving.guides",
    "read_draws": "pyroclust.io",
    "read_table": "pyroclust.data.datasets",
    "save_guide": "pyroclust.saving.guides",
    "standardise": "pyroclust.data.standardise",
    "to_arviz": "pyroclust.io.arviz",
}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: `pyroclust --help` need not wait for torch.
    if name not in _HOMES:
        raise AttributeError(f"module 'pyroclust' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
