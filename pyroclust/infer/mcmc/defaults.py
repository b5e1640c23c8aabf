"""The kernel that the library runs where nobody has chosen one."""

from typing import Any

from pyroclust.core.random_state import preserved_random_state
from pyroclust.distributions import Component
from pyroclust.distributions.protocols import CollapsedModel, is_of_graphs
from pyroclust.infer.mcmc.auxiliary_gibbs import has_density
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.named_kernels import allowed_kernel_name, named_kernel
from pyroclust.infer.mcmc.parameters.target import UnconstrainedSpace

__all__ = ["NARROW", "default_kernel", "default_kernel_name", "has_kernel", "own_or_default_kernel"]

NARROW = 4
"""Up to so many dimensions proposals of splits and merges are worth five of them a sweep. The wider tables
that were tried have full covariances of 6 to 13 columns, see benchmarks/wide_tables.py."""


def has_kernel(model: Any) -> bool:
    """Return whether :func:`default_kernel` can run on a model.

    It needs the prior and the family. Of a family that is not conjugate it needs the density of a point in a
    cluster, known hyperparameters, and parameters that slices can move.

    Args:
        model: any.

    Example:
        >>> from pyroclust.models import gaussian2d, warped_clusters
        >>> has_kernel(gaussian2d()), has_kernel(warped_clusters())
        (True, False)
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


def default_kernel_name(model: CollapsedModel) -> str:
    """Return the name of :func:`default_kernel`, as :func:`named_kernel` calls it.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> default_kernel_name(gaussian2d())
        'merge-split+gibbs'
    """
    narrow = is_of_graphs(model) or model.component.dim <= NARROW
    return allowed_kernel_name("merge-split+gibbs" if narrow else "gibbs+merge-split", model)


def default_kernel(model: CollapsedModel, *, thin: int = 1) -> PartitionKernel:
    """Return merge-split moves and a Gibbs sweep, or what a model allows in their place.

    Conjugate families get five merge-split proposals and one sweep of collapsed Gibbs sampling a step; above
    four dimensions one proposal and three sweeps, since sweeps alone leave partitions into many small
    clusters there, and proposals cost more. Families that are not conjugate get Gibbs sampling with auxiliary
    parameters. Random hyperparameters are drawn by slice sampling before.

    Args:
        model: a mixture.
        thin: steps a draw.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> default_kernel(gaussian2d())
        Compose([MergeSplit(gaussian2d), CollapsedGibbs(gaussian2d)])
    """
    return named_kernel(default_kernel_name(model), model, thin=thin)


def own_or_default_kernel(model: CollapsedModel, kernel: PartitionKernel | None) -> PartitionKernel:
    """Return a kernel that was given, or the default one of the model.

    Raises:
        ValueError: if the kernel belongs to another model.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> own_or_default_kernel(gaussian2d(), None)
        Compose([MergeSplit(gaussian2d), CollapsedGibbs(gaussian2d)])
    """
    if kernel is None:
        return default_kernel(model)
    if kernel.model != model:
        raise ValueError(
            f"kernel belongs to the model '{kernel.model.name}', expected '{model.name}': make it of the same"
        )
    return kernel
