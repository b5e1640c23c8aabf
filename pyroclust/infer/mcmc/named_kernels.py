"""Kernels by name, as the command line calls them, and the one that runs where nobody has chosen."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyroclust.core.large_tables import ALL_AT_ONCE
from pyroclust.core.messages import unknown_name
from pyroclust.core.random_state import preserved_random_state
from pyroclust.distributions import Component
from pyroclust.distributions.protocols import CollapsedModel, is_of_graphs
from pyroclust.infer.mcmc.auxiliary_gibbs import AuxiliaryGibbs, has_density
from pyroclust.infer.mcmc.blocked_gibbs import BlockedGibbs, can_draw_at_once
from pyroclust.infer.mcmc.collapsed_gibbs import CollapsedGibbs
from pyroclust.infer.mcmc.compose import Compose
from pyroclust.infer.mcmc.hyperparameters import Reallocate, SliceHyperparameters
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.parallel_tempering import ParallelTempering
from pyroclust.infer.mcmc.parameters import UnconstrainedSpace
from pyroclust.infer.mcmc.split_merge import MergeSplit, SplitMerge

# Splits and merges are cheap beside a sweep, and few are accepted; not so where a cluster keeps D^2 numbers.
_PROPOSALS, _SWEEPS = 5, 3
# Share of steps that allocate all points anew, each at the cost of three sweeps. Hardly any is accepted
# where columns are fewer.
_SHARE, _FEWEST_COLUMNS = 0.1, 5
NARROW = 4
"""Up to so many dimensions proposals of splits and merges are worth five of them a sweep. The wider tables
that were tried have full covariances of 6 to 13 columns, see benchmarks/wide_tables.py."""


_MERGE_SPLIT = partial(MergeSplit, proposals=_PROPOSALS)
_SPLIT_MERGE = partial(SplitMerge, proposals=_PROPOSALS)
_TEMPERED, BLOCKED = "tempered", "blocked"
_KERNELS: dict[str, Sequence[Callable[[CollapsedModel], PartitionKernel]]] = {
    "auxiliary": (AuxiliaryGibbs,),
    BLOCKED: (BlockedGibbs,),
    "gibbs": (CollapsedGibbs,),
    "gibbs+merge-split": (partial(CollapsedGibbs, thin=_SWEEPS), MergeSplit),
    "merge-split": (_MERGE_SPLIT,),
    "merge-split+gibbs": (_MERGE_SPLIT, CollapsedGibbs),
    "split-merge": (_SPLIT_MERGE,),
    "split-merge+gibbs": (_SPLIT_MERGE, CollapsedGibbs),
    _TEMPERED: (_MERGE_SPLIT, CollapsedGibbs),
}


def _can_reallocate(model: CollapsedModel) -> bool:
    is_free = model.constraints is None and model.row_weights is None
    is_wide = getattr(model.component, "dim", 0) >= _FEWEST_COLUMNS
    return bool(is_free and is_wide and model.is_conjugate and model.component.hyperpriors)


def kernel_names() -> tuple[str, ...]:
    """Return the names that :func:`named_kernel` knows."""
    return tuple(sorted(_KERNELS))


def allowed_kernel_name(name: str, model: CollapsedModel) -> str:
    """Return the name of a kernel on a collapsed likelihood, or of the one that a model without it needs."""
    return name if model.is_conjugate else "auxiliary"


def named_kernel(name: str, model: CollapsedModel, *, thin: int = 1) -> PartitionKernel:
    """Return a kernel of a model by its name; random hyperparameters are drawn by slice sampling before it.

    ``gibbs`` visits every point; ``merge-split`` and ``split-merge`` propose five splits or merges a step,
    with ``+gibbs`` before a sweep over all points; ``gibbs+merge-split`` makes three sweeps and one proposal,
    for tables of many columns; ``tempered`` runs both under several powers of the likelihood at once, which
    costs several times as much; ``blocked`` draws all points at once given parameters, for tables of many
    points; ``auxiliary`` keeps the parameters of clusters, for families that are not
    conjugate.

    Of all others, where a conjugate family of five columns or more has a random hyperparameter, and all
    points are free, a step in ten also proposes another value of it and, under that, all points allocated
    anew: many clusters of a small scale and few of a large one are far apart for all other moves.
    """
    if not isinstance(name, str) or name not in _KERNELS:
        raise ValueError(f"kernel: {unknown_name('kernel', name, _KERNELS)}")
    if not (hasattr(model, "prior") and hasattr(model, "component")):
        raise ValueError(
            f"kernel is '{name}', and the model '{model.name}' can only be simulated, expected a mixture of "
            "a prior and a component family: leave the kernel out"
        )
    kernels: list[PartitionKernel] = []
    if model.hyperpriors.keys() - model.prior.integrated_names:
        kernels.append(SliceHyperparameters(model))
        if name not in ("auxiliary", BLOCKED) and _can_reallocate(model):
            kernels.append(Reallocate(model, share=_SHARE))
    kernels += [make(model) for make in _KERNELS[name]]
    return (
        ParallelTempering(Compose(kernels), thin=thin) if name == _TEMPERED else Compose(kernels, thin=thin)
    )


def has_kernel(model: Any) -> bool:
    """Return whether :func:`default_kernel` can run on a model.

    It needs the prior and the family. Of a family that is not conjugate it needs the density of a point in a
    cluster, known hyperparameters, and parameters that slices can move.
    """
    if not (hasattr(model, "prior") and hasattr(model, "component")):
        return False
    return bool(model.is_conjugate or _can_keep_parameters(model.component))


def _can_keep_parameters(component: Component) -> bool:
    if component.hyperpriors or not has_density(component):
        return False
    with preserved_random_state():
        try:
            UnconstrainedSpace(component)
        except ValueError:
            return False
    return True


def default_kernel_name(model: CollapsedModel, *, num_points: int = 0) -> str:
    """Return the name of :func:`default_kernel`, or of the kernel for so many points."""
    if num_points >= ALL_AT_ONCE and can_draw_at_once(model):
        return BLOCKED
    narrow = is_of_graphs(model) or model.component.dim <= NARROW
    return allowed_kernel_name("merge-split+gibbs" if narrow else "gibbs+merge-split", model)


def default_kernel(model: CollapsedModel, *, thin: int = 1) -> PartitionKernel:
    """Return merge-split moves and a Gibbs sweep, or what a model allows in their place.

    Above four dimensions there are more sweeps and fewer proposals, which cost more there; sweeps alone leave
    partitions into many small clusters.
    """
    return named_kernel(default_kernel_name(model), model, thin=thin)


def kernel_or_default(model: CollapsedModel, kernel: PartitionKernel | None) -> PartitionKernel:
    """Return a kernel of a model, or the default one in place of None."""
    if kernel is None:
        return default_kernel(model)
    if kernel.model != model:
        raise ValueError(
            f"kernel belongs to the model '{kernel.model.name}', expected '{model.name}': make it of the same"
        )
    return kernel
