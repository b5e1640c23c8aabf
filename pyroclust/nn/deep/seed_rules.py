"""Which class a point without label counts as while a network learns: rules that look at features."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.spanning_forests import constrained_forests
from pyroclust.partitions.constraints import Constraints


class SeedRule(ABC):
    """A rule that gives every point of a data set a class, some having a label.

    A new one is one class with ``@register(SeedRule)``.
    """

    @abstractmethod
    def classes(self, features: Tensor, known: Tensor) -> Tensor:
        """Return a class for every point of data sets, its label where there is one.

        Args:
            features: ``(*batch, N, E)``.
            known: labels ``(*batch, N)`` int64, negative where there is none; some of each data set are not.

        Shape:
            output: ``(*batch, N)`` int64.
        """


@register(SeedRule)
class NearestSeed(SeedRule):
    """The label of the nearest labelled point; cost O(N^2 E).

    Example:
        >>> line = torch.tensor([[0.0], [1.0], [2.0], [3.0], [3.9]])
        >>> NearestSeed().classes(line, torch.tensor([0, -1, -1, -1, 1]))
        tensor([0, 0, 1, 1, 1])
    """

    def classes(self, features: Tensor, known: Tensor) -> Tensor:
        far = torch.cdist(features.detach(), features.detach())
        nearest = far.masked_fill((known < 0).unsqueeze(-2), torch.inf).argmin(-1)
        return torch.where(known >= 0, known, known.gather(-1, nearest))


@register(SeedRule)
class SpreadingSeeds(SeedRule):
    r"""The label that spreads to a point first, from neighbour to neighbour.

    Again and again the point that is nearest to any point with a class takes the class of that one: the trees
    of the shortest spanning forest with one class each. Classes that are long or bent, as moons and circles,
    are found from a few labels; where classes touch, a label may spread into the wrong one. Cost O(N^2), on
    the CPU.

    Example:
        >>> line = torch.tensor([[0.0], [1.0], [2.0], [3.0], [4.1]])
        >>> SpreadingSeeds().classes(line, torch.tensor([0, -1, -1, -1, 1]))
        tensor([0, 0, 0, 0, 1])
    """

    def classes(self, features: Tensor, known: Tensor) -> Tensor:
        """Return a class for every point."""
        far = torch.cdist(features.detach(), features.detach()).cpu()
        labels = known.cpu().reshape(-1, known.shape[-1])
        found = [_spread(one, own) for one, own in zip(far.reshape(-1, *far.shape[-2:]), labels, strict=True)]
        return torch.stack(found).view(known.shape).to(known.device)


def _spread(far: Tensor, labels: Tensor) -> Tensor:
    """Return a class for every point of one data set, by compiled code."""
    seeds, points = labels >= 0, len(labels)
    kinds = labels[seeds].unique()
    found = constrained_forests(
        -far,
        far.new_zeros(1, points * (points - 1) // 2),
        far.new_zeros(1),
        kinds.new_tensor([len(kinds)]),
        Constraints.of(labels=labels),
    ).labels[0]
    class_of = kinds.new_zeros(int(found.max()) + 1)
    class_of[found[seeds]] = labels[seeds]
    return class_of[found]
