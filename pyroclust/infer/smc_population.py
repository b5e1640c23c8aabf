"""A population of weighted label prefixes: how it grows by a point, and when and how it is resampled."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.distributions.sequential.sampling import Prefixes
from pyroclust.distributions.sequential.scorer import Scorer

__all__ = ["Population", "StepReport", "allocate_particles", "group_logsumexp", "learn_exponents"]


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


def allocate_particles(
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
        >>> log_mass, group = torch.tensor([[0.5, 0.0, 0.5]]).log(), torch.tensor([0])
        >>> allocate_particles(log_mass, group, num_particles=4, num_groups=1)
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


@dataclass(frozen=True)
class StepReport:
    """What happened at one step.

    Attributes:
        ess: effective share of the particles of each group before resampling, by the weights to the power
            beta, ``(G,)`` in [0, 1].
        resampled: which groups were resampled, ``(G,)`` bool.
        parent: which member each member came from, ``(M,)``.
        log_weight: log weights of the members, ``(M,)`` in nats.
    """

    ess: Tensor
    resampled: Tensor
    parent: Tensor
    log_weight: Tensor


@dataclass
class _View:
    """A scorer, what it made of the data sets, and its states of the prefixes."""

    scorer: Scorer[Any]
    encoding: Any
    prefixes: Prefixes

    def logits(self, step: int) -> Tensor:
        return self.prefixes.logits(self.scorer, self.encoding, step)

    def grow(self, step: int, parent: Tensor, label: Tensor) -> None:
        self.prefixes.grow(self.scorer, self.encoding, step, parent=parent, label=label)


class Population:
    r"""Particles in G groups; those of a group that agree so far are one member with a number of copies.

    A group is one run on one data set. Its S particles move together: they are allocated to all children of
    its members by masses r, and a child gets the weight

    .. math:: w' = \frac{m}{S} \, w \, \frac{\gamma_{n+1}}{\gamma_n} \Big/ r

    where m is the number of copies of its parent and :math:`\gamma_n = p(c_{\le n}, x_{\le n})`. Masses
    :math:`r = (m / S) q` draw labels from the guide and resample nothing; masses proportional to :math:`(m /
    S) \, q \, (w \gamma_{n+1} / (\gamma_n q))^\beta` resample by the weights to the power beta. Whatever r,
    sums of weights stay unbiased.

    Args:
        proposal: the guide's scorer and encoding.
        target: the exact filter of the model and its encoding, the points in the same order.
        dataset: rows of the encodings, one a group, ``(G,)``.
        num_particles: S, particles a group.
    """

    def __init__(
        self,
        proposal: tuple[Scorer[Any], Any],
        target: tuple[FilterScorer, FilterEncoding],
        *,
        dataset: Tensor,
        num_particles: int,
    ) -> None:
        self.num_particles, self.num_groups, self._prior = num_particles, len(dataset), target[0].prior
        self._num_points = target[1].points.shape[1]
        distinct, self._prefix = dataset.unique(return_inverse=True)
        first = torch.zeros_like(distinct)
        self._target = _View(*target, Prefixes.of_labels(*target, distinct, first.unsqueeze(-1)))
        self._proposal = self._target
        if proposal[0] is not target[0]:
            self._proposal = _View(*proposal, Prefixes.of_labels(*proposal, distinct, first.unsqueeze(-1)))
        self._group = torch.arange(self.num_groups, device=dataset.device)
        self._copies = torch.full_like(self._group, num_particles)
        self._log_weight = target[1].opening[dataset, 0]
        self._history: list[tuple[Tensor, Tensor]] = [(first, first)]

    def advance(self, step: int, *, exponent: Tensor, ess_threshold: float) -> StepReport:
        """Label the point of ``step`` in every particle; O(P K) candidates for P distinct prefixes.

        Args:
            step: in visiting order, from 1.
            exponent: beta of each group, ``(G,)`` in (0, 1].
            ess_threshold: resample the groups whose effective share is below.
        """
        draw, joint = self._masses(step)
        power = exponent[self._group].unsqueeze(-1)
        log_ratio = power * torch.where(draw.isfinite(), joint - draw, -torch.inf)
        total = self._sum(draw + log_ratio)
        ess = (2 * total - self._sum(draw + 2 * log_ratio)).exp().nan_to_num(nan=0.0)
        resampled = (ess < ess_threshold) & total.isfinite()
        spread = draw + log_ratio - total[self._group].unsqueeze(-1)
        mass = torch.where(resampled[self._group].unsqueeze(-1), spread, draw)
        parent = self._allocate(step, mass, joint)
        return StepReport(ess, resampled, parent, self._log_weight)

    def _masses(self, step: int) -> tuple[Tensor, Tensor]:
        """Return log (m / S) q, and log (m / S) w times the ratio of targets, of all children, ``(M, W)``."""
        copies = (self._copies.double() / self.num_particles).log()
        logits, clusters = self._target.logits(step), self._target.prefixes.clusters
        sizes = torch.arange(int(clusters.max()) + 1, device=clusters.device)
        before, after = (self._prior.log_v(points, sizes) for points in (step, step + 1))
        # The filter's logits are relative to V_{n+1}(K), the prefix carries V_n(K).
        carried = torch.where(before.isfinite(), after - before, -torch.inf)[clusters]
        guided = logits if self._proposal is self._target else self._proposal.logits(step)
        draw = copies.unsqueeze(-1) + guided.log_softmax(-1)[self._prefix]
        weight = copies + self._log_weight + carried[self._prefix]
        return draw, weight.unsqueeze(-1) + logits[self._prefix]

    def _allocate(self, step: int, mass: Tensor, joint: Tensor) -> Tensor:
        """Replace the members by those children that get particles, and return the parents of these."""
        width = mass.shape[1]
        entry, copies = allocate_particles(
            mass, self._group, num_particles=self.num_particles, num_groups=self.num_groups
        )
        member, label = entry // width, entry % width
        key, prefix = (self._prefix[member] * width + label).unique(return_inverse=True)
        self._log_weight = (joint - mass)[member, label]
        self._group, self._copies, self._prefix = self._group[member], copies, prefix
        parent, child = key // width, key % width
        if step + 1 < self._num_points:
            for view in {id(one): one for one in (self._target, self._proposal)}.values():
                view.grow(step, parent, child)
        self._history.append((parent, child))
        return member

    def particles(self) -> tuple[Tensor, Tensor]:
        """Return labels ``(G, S, n)`` canonical in visiting order, and log weights ``(G, S)`` in nats."""
        row = torch.arange(len(self._history[-1][0]), device=self._group.device)
        columns = []
        for parent, label in reversed(self._history):
            columns.append(label[row])
            row = parent[row]
        labels = torch.stack(columns[::-1], -1)
        shape = (self.num_groups, self.num_particles)
        member = self.members()
        return labels[self._prefix[member]].view(*shape, -1), self._log_weight[member].view(shape)

    def members(self) -> Tensor:
        """Return which member each particle belongs to, ``(G S,)``."""
        every = torch.arange(len(self._copies), device=self._copies.device)
        return every.repeat_interleave(self._copies)

    def _sum(self, values: Tensor) -> Tensor:
        return group_logsumexp(values, self._group, self.num_groups)


_SMALLEST = 0.01


def learn_exponents(pilot: Population, num_points: int) -> Tensor:
    r"""Run a pilot without resampling and regress final log weights on those of every step.

    .. math::
        \beta_n = \frac{\mathrm{Cov}(\log w_N, \log w_n)}{\mathrm{Var}(\log w_n)}, \qquad
        w_n = \frac{p(c_{\le n}, x_{\le n})}{q(c_{\le n} \mid x)}

    clamped to [0.01, 1]. The best weight to resample by is what a particle's final weight can be expected to
    be, given its present one. For a proposal that is blind to the future, log weights add up without being
    taken back, and beta is about 1: the usual targets :math:`\gamma_n = p(c_{\le n}, x_{\le n})`. A guide
    that looks ahead pays now for what the points to come give back: its prefixes look bad by :math:`\gamma_n`
    although they are right, and beta is small until the end. Cost of one run of S particles; memory O(N S) a
    group.

    Shape:
        output: ``(num_points, G)`` float64; the first row is 1.
    """
    ones = torch.ones(pilot.num_groups, dtype=torch.float64)
    reports = [pilot.advance(step, exponent=ones, ess_threshold=0.0) for step in range(1, num_points)]
    member, backwards = pilot.members(), []
    for report in reversed(reports):
        backwards.append(report.log_weight[member])
        member = report.parent[member]
    # At the first step all weights are equal.
    backwards.append(torch.zeros(len(member), dtype=torch.float64))
    log_weights = torch.stack(backwards[::-1]).view(num_points, pilot.num_groups, -1)
    alive = log_weights.isfinite() & log_weights[-1].isfinite()
    centred = _centred(log_weights, alive)
    covariance = (centred * _centred(log_weights[-1].expand_as(log_weights), alive)).sum(-1)
    slope = covariance / centred.square().sum(-1)
    return slope.nan_to_num(nan=1.0, posinf=1.0, neginf=1.0).clamp(_SMALLEST, 1.0)


def _centred(values: Tensor, alive: Tensor) -> Tensor:
    kept = torch.where(alive, values, 0.0)
    mean = kept.sum(-1, keepdim=True) / alive.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(alive, kept - mean, 0.0)
