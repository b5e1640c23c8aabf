"""The kernel that the library runs where nobody has chosen one."""

from pyroclust.infer.mcmc.auxiliary_gibbs import AuxiliaryGibbs
from pyroclust.infer.mcmc.collapsed_gibbs import CollapsedGibbs
from pyroclust.infer.mcmc.compose import Compose
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.slice_hyperparameters import SliceHyperparameters
from pyroclust.infer.mcmc.split_merge import MergeSplit
from pyroclust.protocols import CollapsedModel

__all__ = ["default_kernel"]

_PROPOSALS = 5


def default_kernel(model: CollapsedModel, *, thin: int = 1) -> PartitionKernel:
    """Return merge-split moves and a Gibbs sweep, or what a model allows in their place.

    Conjugate families get five merge-split proposals and one sweep of collapsed Gibbs sampling a step, others
    Gibbs sampling with auxiliary parameters; random hyperparameters are drawn by slice sampling before.

    Args:
        model: a mixture.
        thin: steps a draw.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> default_kernel(gaussian2d())
        Compose([MergeSplit(gaussian2d), CollapsedGibbs(gaussian2d)])
    """
    kernels: list[PartitionKernel] = []
    if model.hyperpriors.keys() - model.prior.integrated_names:
        kernels.append(SliceHyperparameters(model))
    if model.is_conjugate:
        kernels += [MergeSplit(model, proposals=_PROPOSALS), CollapsedGibbs(model)]
    else:
        kernels.append(AuxiliaryGibbs(model))
    return Compose(kernels, thin=thin)
