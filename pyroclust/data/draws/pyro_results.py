"""Results of ``pyro.infer.MCMC`` with our kernels as ArviZ data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from pyro.infer import MCMC
from torch import Tensor

from pyroclust.data.draws.arviz import DrawsOfGroup, arviz_container, groups_of_draws, stamped
from pyroclust.infer.mcmc import assignments

_OURS = ("assignments", "num_clusters")


def from_pyro(
    mcmc: MCMC,
    *,
    data: Tensor | np.ndarray | None = None,
    model: Any = None,
    reference: np.ndarray | None = None,
    point_names: Sequence[str] | None = None,
) -> Any:
    """Put a finished run of ``pyro.infer.MCMC`` with a kernel over partitions into an ArviZ container.

    ``az.from_pyro`` has no place for integers and is gone in ArviZ 1.x. Groups: ``posterior`` as in
    :func:`pyroclust.to_arviz`, with every other site as float64; ``sample_stats`` with ``lp``,
    ``diverging``, and the kernel's numbers of whole chains, such as ``splits_accepted``; ``observed_data``
    with ``data``; ``log_likelihood`` with ``data`` and ``model``; ``constant_data`` with ``reference``.

    Args:
        mcmc: a run with a kernel that has the site ``"assignments"``.
        data: the points that it ran on.
        model: mixture of a conjugate family, to evaluate points; its random hyperparameters are taken from
            the draws.
        reference: partition to measure distances from; a central draw by default.
        point_names: names of the points.

    Shape:
        data: ``(N, D)``; reference: ``(N,)``.

    Raises:
        ValueError: if nothing was run, the kernel has no partitions, ``data`` has other points, or there is a
            model and no data.

    Example:
        >>> from pyroclust.infer.mcmc import CollapsedGibbs
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> mcmc = MCMC(CollapsedGibbs(gaussian2d()), num_samples=4, warmup_steps=1, disable_progbar=True)
        >>> mcmc.run(data)
        >>> tree = from_pyro(mcmc, data=data)
        >>> tree["posterior"]["assignments"].dtype, tree["posterior"]["log_joint"].dtype
        (dtype('int64'), dtype('float64'))
    """
    labels = assignments(mcmc).numpy()
    data = None if data is None else torch.as_tensor(data)
    num_points = labels.shape[-1]
    if data is not None and (data.dim() != 2 or len(data) != num_points):
        raise ValueError(f"data has shape {tuple(data.shape)}, expected ({num_points}, D) as the draws")
    sites = {
        name: values.double().numpy()
        for name, values in mcmc.get_samples(group_by_chain=True).items()
        if name not in _OURS
    }
    attributes = {"sampler": type(mcmc.kernel).__name__, "warmup": mcmc.warmup_steps}
    groups = groups_of_draws(
        {"posterior": DrawsOfGroup(labels, sites, attributes)},
        stats={"lp": sites.get("log_joint"), **_sample_stats(mcmc, labels.shape[:2])},
        reference=reference,
        point_names=point_names,
        data=None if data is None else data.numpy(),
        model=model,
    )
    return arviz_container(stamped(groups))


def _sample_stats(mcmc: MCMC, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    chains = [mcmc._diagnostics[chain] or {} for chain in range(shape[0])]
    diverging = np.zeros(shape, dtype=bool)
    for row, diagnostics in zip(diverging, chains, strict=True):
        row[np.asarray(diagnostics.get("divergences", []), dtype=np.int64)] = True
    names = sorted({name for diagnostics in chains for name in diagnostics} - {"divergences"})
    per_chain = {
        name.replace(" ", "_"): np.array([float(diagnostics.get(name, np.nan)) for diagnostics in chains])
        for name in names
    }
    return {"diverging": diverging, **per_chain}
