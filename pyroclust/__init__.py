"""Amortized Bayesian clustering in Pyro: models, guides, MCMC and diagnostics over partitions.

The shortest way in::

    import pyroclust

    found = pyroclust.cluster("iris")    # or a file, a data frame, an array
    print(found)                         # how many clusters, and may I rely on it?

Or step by step, with Pyro's own nouns::

    guide = pyroclust.load_guide("ncp-niw2d")
    posterior = guide.posterior(data)                      # data: a tensor (N, D)
    draws, log_prob = posterior.sample_and_log_prob((1000,))
    pyroclust.diagnose(draws)

Names of this package, loaded when they are first used:

* ``cluster``: say how many clusters a table has, which rows are in which, and how sure that is.
* ``compare``: the same, with a guide beside MCMC of its model, and whether the two agree.
* ``cluster_many``: the same for many data sets of the same columns, by a guide first.
* ``Analyses``: what that returns, a row of figures for each data set, and its draws.
* ``forest``: cluster a table by spanning forests of its rows, without a model.
* ``Analysis``: what these return, and ``diagnose`` and ``update``; it reads itself back from its folder.
* ``Draws``: draws of a partition, of any sampler.
* ``predict``: say to which of these clusters new rows belong, and whether they are like the old ones.
* ``update``: add rows to such a table: its draws go on instead of starting over.
* ``missing_cells``: draw the cells of a table that are missing from their posterior.
* ``diagnose``: judge draws of partitions from any software: convergence, clusters, certainty.
* ``list_guides``, ``load_guide``, ``save_guide``: the shelf of trained guides, and folders of your own.
* ``calibrate``, ``calibrate_near``: check a sampler on simulations, everywhere or near your data.
* ``certify``: measure what a guide is worth on fresh data of its model.
* ``read_table``, ``standardise``: points from files, on the scale that the shipped guides expect.
* ``Draws``: draws of a partition, with what is known of each; ``Draws.of`` takes arrays of any software.
* ``read_draws``: draws from files of any software.
* ``to_arviz``, ``from_pyro``: draws as containers of ArviZ.
* ``register``: let cards and recipes name a class of your own.

Packages:

* :mod:`pyroclust.models`: mixtures as Pyro models.
* :mod:`pyroclust.guides`: networks that are trained once and then give the posterior of any data set.
* :mod:`pyroclust.infer`: losses, training, importance sampling, exact posteriors.
* :mod:`pyroclust.infer.mcmc`: kernels over partitions for ``pyro.infer.MCMC``.
* :mod:`pyroclust.distributions`: priors over partitions and families of clusters.
* :mod:`pyroclust.nn`: the networks that guides are made of.
* :mod:`pyroclust.diagnostics`: functions of draws: estimates, convergence, comparisons.
* :mod:`pyroclust.calibration`: simulation-based checks, certificates.
* :mod:`pyroclust.plots`, :mod:`pyroclust.baselines`, :mod:`pyroclust.partitions`: pictures, classical
  clusterings, label vectors.

The command ``pyroclust --help`` does the same from a terminal.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyroclust.analysis.cluster_many import cluster_many as cluster_many
    from pyroclust.analysis.compare import cluster as cluster
    from pyroclust.analysis.compare import compare as compare
    from pyroclust.analysis.diagnose import diagnose as diagnose
    from pyroclust.analysis.forest import forest as forest
    from pyroclust.analysis.predicting import missing_cells as missing_cells
    from pyroclust.analysis.predicting import predict as predict
    from pyroclust.analysis.updating import update as update
    from pyroclust.calibration import calibrate as calibrate
    from pyroclust.calibration import calibrate_near as calibrate_near
    from pyroclust.calibration import certify as certify
    from pyroclust.core.registry import register as register
    from pyroclust.data import read_table as read_table
    from pyroclust.data import standardise as standardise
    from pyroclust.data.draws import read_draws as read_draws
    from pyroclust.data.draws.arviz import from_pyro as from_pyro
    from pyroclust.data.draws.arviz import to_arviz as to_arviz
    from pyroclust.partitions import Draws as Draws
    from pyroclust.results.analysis import Analysis as Analysis
    from pyroclust.results.data_sets import Analyses as Analyses
    from pyroclust.saving.cards import list_guides as list_guides
    from pyroclust.saving.guides import load_guide as load_guide
    from pyroclust.saving.guides import save_guide as save_guide

__version__ = version("pyroclust")

_HOMES = {
    "Analyses": "pyroclust.results.data_sets",
    "Analysis": "pyroclust.results.analysis",
    "Draws": "pyroclust.partitions",
    "calibrate": "pyroclust.calibration",
    "calibrate_near": "pyroclust.calibration",
    "certify": "pyroclust.calibration",
    "cluster": "pyroclust.analysis.compare",
    "cluster_many": "pyroclust.analysis.cluster_many",
    "compare": "pyroclust.analysis.compare",
    "diagnose": "pyroclust.analysis.diagnose",
    "forest": "pyroclust.analysis.forest",
    "from_pyro": "pyroclust.data.draws.arviz",
    "list_guides": "pyroclust.saving.cards",
    "load_guide": "pyroclust.saving.guides",
    "missing_cells": "pyroclust.analysis.predicting",
    "predict": "pyroclust.analysis.predicting",
    "read_draws": "pyroclust.data.draws",
    "read_table": "pyroclust.data",
    "register": "pyroclust.core.registry",
    "save_guide": "pyroclust.saving.guides",
    "standardise": "pyroclust.data",
    "to_arviz": "pyroclust.data.draws.arviz",
    "update": "pyroclust.analysis.updating",
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604
_PACKAGES = (
    "baselines",
    "calibration",
    "diagnostics",
    "distributions",
    "guides",
    "infer",
    "models",
    "nn",
    "partitions",
    "plots",
)


def __getattr__(name: str) -> Any:
    # Loaded when asked for: `pyroclust --help` need not wait for torch.
    if name in _PACKAGES:
        return import_module(f"pyroclust.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'pyroclust' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
