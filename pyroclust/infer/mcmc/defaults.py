"""The kernel that the library runs where nobody has chosen one."""

from typing import Any

from pyroclust.infer.mcmc.auxiliary_gibbs import has_density
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.protocols import CollapsedModel

__all__ = ["default_kernel", "default_kernel_name", "has_kernel"]


def has_kernel(model: Any) -> bool:
    """Return whether kernels can run on a model: they need its prior, and densities of its family.

    Args:
        model: any.

    Example:
        >>> from pyroclust.models import gaussian2d, warped_clusters
        >>> has_kernel(gaussian2d()), has_kernel(warped_clusters())
        (True, False)
    """
    if not (hasattr(model, "prior") and hasattr(model, "component")):
        return False
    return bool(model.is_conjugate or has_density(model.component))


def default_kernel_name(model: CollapsedModel) -> str:
    """Return the name of :func:`default_kernel`, as :func:`named_kernel` calls it.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> default_kernel_name(gaussian2d())
        'merge-split+gibbs'
    """
    return "merge-split+gibbs" if model.is_conjugate else "auxiliary"


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
    return named_kernel(default_kernel_name(model), model, thin=thin)
