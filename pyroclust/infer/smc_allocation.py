"""Sums over groups of rows, and stratified allocation of particles within groups."""

import torch
from torch import Tensor

__all__ = ["allocate", "group_logsumexp"]


def group_logsumexp(values: Tensor, group: Tensor, num_groups: int) -> Tensor:
    """Sum exponentials over all entries of the rows of each group, in log space; O(M W).

    Shape:
        values: ``(M, W)``; group: ``(M,)``; output: ``(num_groups,)``, minus infinity where all are.

    Example:
        >>> group_logsumexp(torch.zeros(3, 2), torch.tensor([0, 0, 1]), 2).exp()
        tensor([4., 2.])
    """
    rows = values.logsumexp(-1)
    highest = rows.new_full((num_groups,), -torch.inf).scatter_reduce_(0, group, rows, "amax")
    highest = highest.nan_to_num(neginf=0.0)
    return rows.new_zeros(num_groups).index_add_(0, group, (rows - highest[group]).exp()).log() + highest


def allocate(
    log_mass: Tensor, group: Tensor, *, num_particles: int, num_groups: int
) -> tuple[Tensor, Tensor]:
    r"""Allocate the particles of each group to entries by stratified sampling.

    Particle s of a group goes to the entry at :math:`(s + u_s) / S` of the group's cumulative mass, with
    independent uniform numbers u_s: entry j expects S r_j particles, its number varies less than under
    independent draws, and particles in different strata are independent. (One number u for all strata,
    systematic sampling, would make particles of equal mass choose alike.) Cost O(M W + S G log(M W)).

    Args:
        log_mass: log masses r that sum to one over each group, ``(M, W)``.
        group: group of each row, sorted, every group at least once, ``(M,)``.
        num_particles: S, particles a group.
        num_groups: G.

    Shape:
        output: the entries that get particles, ascending indices into the flattened masses, and their numbers
        of particles, ``(entries,)`` int64 each; S in total for each group.

    References:
        Douc, Cappe and Moulines (2005), Comparison of resampling schemes for particle filtering.
        https://doi.org/10.1109/ISPA.2005.195385

    Example:
        >>> allocate(torch.tensor([[0.5, 0.0, 0.5]]).log(), torch.tensor([0]), num_particles=4, num_groups=1)
        (tensor([0, 2]), tensor([2, 2]))
    """
    cumulative = log_mass.exp().flatten().cumsum(0)
    last_row = torch.searchsorted(group, torch.arange(num_groups, device=group.device), right=True)
    end = cumulative[last_row * log_mass.shape[1] - 1].unsqueeze(-1)
    start = torch.cat([end.new_zeros(1, 1), end[:-1]])
    strata = torch.arange(num_particles, device=group.device)
    uniform = torch.rand(num_groups, num_particles, dtype=end.dtype, device=group.device)
    place = start + (end - start) * ((strata + uniform) / num_particles)
    # Rounding must not push the last particle into the next group.
    place = place.minimum(end.nextafter(start))
    entry = torch.searchsorted(cumulative, place.flatten(), right=True)
    return entry.unique_consecutive(return_counts=True)
