"""Kernels by name, as the command line calls them."""

from collections.abc import Callable, Sequence

from pyroclust.core.errors import unknown_name
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.auxiliary_gibbs import AuxiliaryGibbs
from pyroclust.infer.mcmc.collapsed_gibbs import CollapsedGibbs
from pyroclust.infer.mcmc.compose import Compose
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.parallel_tempering import ParallelTempering
from pyroclust.infer.mcmc.reallocation import Reallocate
from pyroclust.infer.mcmc.slice_hyperparameters import SliceHyperparameters
from pyroclust.infer.mcmc.split_merge import MergeSplit, SplitMerge

__all__ = ["allowed_kernel_name", "kernel_names", "named_kernel"]

# Splits and merges are cheap beside a sweep, and few are accepted; not so where a cluster keeps D^2 numbers.
_PROPOSALS, _SWEEPS = 5, 3
# Share of steps that allocate all points anew, each at the cost of three sweeps. Hardly any is accepted
# where columns are fewer.
_SHARE, _FEWEST_COLUMNS = 0.1, 5


def _merge_split(model: CollapsedModel) -> PartitionKernel:
    return MergeSplit(model, proposals=_PROPOSALS)


def _split_merge(model: CollapsedModel) -> PartitionKernel:
    return SplitMerge(model, proposals=_PROPOSALS)


def _sweeps(model: CollapsedModel) -> PartitionKernel:
    return CollapsedGibbs(model, thin=_SWEEPS)


_KERNELS: dict[str, Sequence[Callable[[CollapsedModel], PartitionKernel]]] = {
    "auxiliary": (AuxiliaryGibbs,),
    "gibbs": (CollapsedGibbs,),
    "gibbs+merge-split": (_sweeps, MergeSplit),
    "merge-split": (_merge_split,),
    "merge-split+gibbs": (_merge_split, CollapsedGibbs),
    "split-merge": (_split_merge,),
    "split-merge+gibbs": (_split_merge, CollapsedGibbs),
    "tempered": (_merge_split, CollapsedGibbs),
}
_AROUND: dict[str, Callable[..., PartitionKernel]] = {"tempered": ParallelTempering}


def _can_reallocate(model: CollapsedModel) -> bool:
    is_free = model.constraints is None and model.row_weights is None
    is_wide = getattr(model.component, "dim", 0) >= _FEWEST_COLUMNS
    return bool(is_free and is_wide and model.is_conjugate and model.component.hyperpriors)


def kernel_names() -> tuple[str, ...]:
    """Return the names that :func:`named_kernel` knows.

    Example:
        >>> kernel_names()[:2]
        ('auxiliary', 'gibbs')
    """
    return tuple(sorted(_KERNELS))


def allowed_kernel_name(name: str, model: CollapsedModel) -> str:
    """Return the name of a kernel on a collapsed likelihood, or of the one that a model without it needs.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> allowed_kernel_name("gibbs", gaussian2d())
        'gibbs'
    """
    return name if model.is_conjugate else "auxiliary"


def named_kernel(name: str, model: CollapsedModel, *, thin: int = 1) -> PartitionKernel:
    """Return a kernel of a model by its name; random hyperparameters are drawn by slice sampling before it.

    ``gibbs`` visits every point; ``merge-split`` and ``split-merge`` propose five splits or merges a step,
    with ``+gibbs`` before a sweep over all points; ``gibbs+merge-split`` makes three sweeps and one proposal,
    for tables of many columns; ``tempered`` runs both under several powers of the likelihood at once, which
    costs several times as much; ``auxiliary`` keeps the parameters of clusters, for families that are not
    conjugate.

    Where a conjugate family of five columns or more has a random hyperparameter, and all points are free, a
    step in ten also proposes another value of it and, under that, all points allocated anew: many clusters of
    a small scale and few of a large one are far apart for all other moves.

    Args:
        name: one of :func:`kernel_names`.
        model: a mixture.
        thin: steps a draw.

    Raises:
        ValueError: if no kernel has that name, or it cannot run on the model.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> named_kernel("split-merge", gaussian2d())
        Compose([SplitMerge(gaussian2d)])
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
        if name != "auxiliary" and _can_reallocate(model):
            kernels.append(Reallocate(model, share=_SHARE))
    kernels += [make(model) for make in _KERNELS[name]]
    if name in _AROUND:
        return _AROUND[name](Compose(kernels), thin=thin)
    return Compose(kernels, thin=thin)
