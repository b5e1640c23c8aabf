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
    """What happened at one step, an entry a group."""

    ess: Tensor  # (G,) effective share of the particles before resampling, in [0, 1]
    resampled: Tensor  # (G,) bool


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

    A group is one run on one data set. Its particles move together: the S copies are allocated at once to
    all children of its members, with expected numbers S r, and a child of weight w gets

    .. math:: w' = \frac{m}{S} \, w \, \frac{\gamma_{n+1}}{\gamma_n} \Big/ r

    where m is the number of copies of its parent. Masses :math:`r = (m / S) q` draw labels from the guide and
    resample nothing; masses proportional to :math:`(m / S) q^{1 - \beta} (w \gamma_{n+1} / \gamma_n)^\beta`
    resample by the weights to the power beta. Whatever r, sums of weights stay unbiased.

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
        self.num_particles, self._prior = num_particles, target[0].prior
        distinct, self._prefix = dataset.unique(return_inverse=True)
        first = torch.zeros_like(distinct).unsqueeze(-1)
        self._target = _View(*target, Prefixes.of_labels(*target, distinct, first))
        self._proposal = self._target
        if proposal[0] is not target[0]:
            self._proposal = _View(*proposal, Prefixes.of_labels(*proposal, distinct, first))
        self._group = torch.arange(len(dataset), device=dataset.device)
        self._num_groups = len(dataset)
        self._copies = torch.full_like(self._group, num_particles)
        self._log_weight = target[1].opening[dataset, 0]
        self._history: list[tuple[Tensor, Tensor]] = [(torch.zeros_like(distinct), first.squeeze(-1))]

    def advance(self, step: int, *, exponent: float, ess_threshold: float) -> StepReport:
        """Label the point of ``step``, from 1 on, in every particle; O(P K) candidates of the scorers.

        Args:
            step: in visiting order.
            exponent: beta, in (0, 1].
            ess_threshold: resample the groups whose effective share, by the weights to the power beta, is below.
        """
        draw, joint = self._masses(step)
        ratio = torch.where(draw.isfinite(), joint - draw, -torch.inf)
        tempered = draw + exponent * ratio
        total = self._sum(tempered)
        ess = (2 * total - self._sum(draw + 2 * exponent * ratio)).exp().nan_to_num(nan=0.0)
        resampled = (ess < ess_threshold) & total.isfinite()
        if exponent == 1:
            tempered, total = joint, self._sum(joint)
        spread = tempered - total[self._group].unsqueeze(-1)
        mass = torch.where(resampled[self._group].unsqueeze(-1), spread, draw)
        self._allocate(step, mass, joint)
        return StepReport(ess, resampled)

    def _masses(self, step: int) -> tuple[Tensor, Tensor]:
        """Return for all children the log of (m / S) q, and of (m / S) w times the ratio of targets, ``(M, W)``."""
        copies = (self._copies.double() / self.num_particles).log()
        logits = self._target.logits(step)
        clusters = self._target.prefixes.clusters
        sizes = torch.arange(int(clusters.max()) + 1, device=clusters.device)
        before, after = (self._prior.log_v(n, sizes) for n in (step, step + 1))
        norm = torch.where(before.isfinite(), after - before, -torch.inf)[clusters]
        guided = logits if self._proposal is self._target else self._proposal.logits(step)
        log_q = guided.log_softmax(-1)
        draw = copies.unsqueeze(-1) + log_q[self._prefix]
        weight = copies + self._log_weight + norm[self._prefix]
        return draw, weight.unsqueeze(-1) + logits[self._prefix]

    def _allocate(self, step: int, mass: Tensor, joint: Tensor) -> None:
        width = mass.shape[1]
        entry, copies = allocate(
            mass, self._group, num_particles=self.num_particles, num_groups=self._num_groups
        )
        member, label = entry // width, entry % width
        key, prefix = (self._prefix[member] * width + label).unique(return_inverse=True)
        self._log_weight = (joint - mass)[member, label]
        self._group, self._copies, self._prefix = self._group[member], copies, prefix
        parent, child = key // width, key % width
        for view in {id(one): one for one in (self._target, self._proposal)}.values():
            view.grow(step, parent, child)
        self._history.append((parent, child))

    def particles(self) -> tuple[Tensor, Tensor]:
        """Return labels ``(G, S, n)`` canonical in visiting order, and log weights ``(G, S)`` in nats."""
        row = torch.arange(len(self._history[-1][0]), device=self._group.device)
        labels = []
        for parent, label in reversed(self._history):
            labels.append(label[row])
            row = parent[row]
        merged = torch.stack(labels[::-1], -1)
        shape = (self._num_groups, self.num_particles)
        member = torch.arange(len(self._copies), device=self._copies.device).repeat_interleave(self._copies)
        return merged[self._prefix[member]].view(*shape, -1), self._log_weight[member].view(shape)

    def _sum(self, values: Tensor) -> Tensor:
        return group_logsumexp(values, self._group, self._num_groups)
