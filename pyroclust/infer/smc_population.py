"""A population of weighted label prefixes, and how it takes in one more point."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.filter_scorer import FilterEncoding, FilterScorer
from pyroclust.distributions.prefixes import Prefixes
from pyroclust.distributions.scorer import Scorer
from pyroclust.infer.smc_allocation import allocate, group_logsumexp

__all__ = ["Population", "StepReport"]


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
        entry, copies = allocate(
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
