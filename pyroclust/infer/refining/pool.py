"""Data sets of any law with partitions from a model's posterior, by chains: what to train guides on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.distributions.programs import sampled
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.refining.posterior_chains import PosteriorChains, check_shares

__all__ = ["PosteriorPool"]

# Sizes of data sets in the pool, each so much larger than the one before.
_GROWTH = 1.25
_SMALLEST = 5


class PosteriorPool:
    r"""A law of data beside a model's own, with partitions drawn from the model's posterior.

    .. math::
        x \sim r, \qquad c \sim p(c \mid x), \qquad
        L(\phi) = E_{r(x)} E_{p(c \mid x)}[-\log q_\phi(c \mid x)]

    A guide that is trained on simulations of its model is right where these lie. With any other law r of the
    data sets, real tables for one, the loss has the same minimiser, :math:`q(c \mid x) = p(c \mid x)` for all
    x, and now also weighs data sets that the model hardly ever makes. The labels come from Markov chains: one
    a data set, which begins at a draw of the exact filter, and goes on at every visit. A data set that was
    visited ``visits`` times makes room for a new one.

    It is a Pyro program with the sites ``"assignments"`` and ``"data"``, for ``fit(..., data=pool)``; a step
    of a training is one of the model's own simulations with the probability of the prior's share, and
    otherwise one of data sets of the pool. These have the largest of the sizes 5, 6, 8, 10, ... (each a
    quarter more than the last) that is not above the step's N. What it holds is part of a checkpoint:
    ``fit(..., resume=True)`` comes to the same weights.

    Cost of a step: O(B T N K) predictives for B partitions and T sweeps, and some 3 ms of preparation a data
    set, one after the other. Memory O(N D) a data set of the pool, of which there are four times as many as a
    step visits, for each size.

    Args:
        model: a mixture of a conjugate family with known hyperparameters; a
            :class:`~pyroclust.distributions.GammaConcentration` is integrated out.
        laws: programs that data sets are drawn from, with the site ``"data"``, each with its share.
        prior: share of the model's own simulations; shares are divided by their sum.
        partitions: draws of a chain that a visit gives.
        sweeps: draws of the default kernel between two of these.
        visits: how often a data set is used.
        burn_in: draws of the kernel after the filter's.

    Raises:
        ValueError: if the model is not conjugate or has random hyperparameters, a law has points of another
            shape, or a number is out of range.

    Example:
        >>> from pyro import poutine
        >>> from pyroclust.models import DistortedClusters, niw_mixture
        >>> model = niw_mixture(2)
        >>> pool = PosteriorPool(model, {DistortedClusters(model): 1.0}, prior=0.0, partitions=4)
        >>> trace = poutine.trace(poutine.uncondition(pool)).get_trace(torch.empty(8, 11, 2))
        >>> {name: tuple(trace.nodes[name]["value"].shape) for name in ("assignments", "data")}
        {'assignments': (8, 10), 'data': (8, 10, 2)}

    References:
        Naesseth, Lindsten and Blei (2020), Markovian score climbing. https://arxiv.org/abs/2003.10374
    """

    def __init__(
        self,
        model: CollapsedModel,
        laws: Mapping[Any, float],
        *,
        prior: float = 0.5,
        partitions: int = 8,
        sweeps: int = 4,
        visits: int = 20,
        burn_in: int = 50,
    ) -> None:
        if not laws:
            raise ValueError("laws is empty, expected one or more programs with their shares")
        for law in laws:
            if tuple(law.event_shape) != tuple(model.event_shape):
                raise ValueError(
                    f"laws has '{law.name}' with points of shape {tuple(law.event_shape)}, expected "
                    f"{tuple(model.event_shape)} as the model's"
                )
        self.model, self.laws = model, tuple(laws)
        self._shares = check_shares("prior", prior, laws.values())
        self.partitions, self.visits = check_count("partitions", partitions), check_count("visits", visits)
        self.sweeps, self.burn_in = check_count("sweeps", sweeps), check_count("burn_in", burn_in)
        self._chains = PosteriorChains(model, sweeps=self.sweeps)
        self._groups: dict[int, _Group] = {}

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor, without what the pool holds."""
        shares = self._shares.tolist()
        return {
            "model": self.model,
            "laws": dict(enumerate(zip(self.laws, shares[1:], strict=True))),
            "prior": shares[0],
            "partitions": self.partitions,
            "sweeps": self.sweeps,
            "visits": self.visits,
            "burn_in": self.burn_in,
        }

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return tuple(self.model.event_shape)

    @property
    def most_points(self) -> int | None:
        """Points of the largest data set that every law can make; None for any."""
        known = [one.most_points for one in self.laws if hasattr(one, "most_points")]
        return min(known, default=None)

    @property
    def num_datasets(self) -> int:
        """Data sets that the pool holds now."""
        return sum(len(one.visited) for one in self._groups.values())

    def __repr__(self) -> str:
        """Name the laws, and say how many data sets there are."""
        names = ", ".join(str(one.name) for one in self.laws)
        return f"PosteriorPool({self.model.name}; {names}; {self.num_datasets} data sets)"

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on a template, ``(*batch, N, *event_shape)``, of which only the shape counts.

        Raises:
            ValueError: if a law cannot make data sets of that size.
        """
        if torch.rand((), dtype=torch.float64) * self._shares.sum() < self._shares[0]:
            found: Tensor = self.model(data)
            return found
        event_dim = 1 + len(self.event_shape)
        most = data.shape[-event_dim]
        points, labels = self._visit(data.shape[:-event_dim].numel() * most, most)
        with pyro.plate("datasets", len(points)):
            pyro.sample("assignments", Delta(labels, event_dim=1))
            return pyro.sample("data", Delta(points, event_dim=event_dim), obs=points)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the data sets of the pool and where their chains are, for a checkpoint."""
        return {
            f"{size}.{name}": value
            for size, group in self._groups.items()
            for name, value in vars(group).items()
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state.

        Raises:
            ValueError: if it is none of this pool's.
        """
        sizes = dict.fromkeys(str(name).partition(".")[0] for name in state)
        groups = {}
        for size in sizes:
            parts = {name: state.get(f"{size}.{name}") for name in _Group.__dataclass_fields__}
            group = _Group(**parts) if size.isdigit() else None  # type: ignore[arg-type]
            if group is None or not group.fits(int(size), self.event_shape, len(self._chains.names)):
                raise ValueError(
                    "the checkpoint was changed: its entry 'data' is no state of the pool; restore the file, "
                    "or train anew into another folder"
                )
            groups[int(size)] = group
        self._groups = groups

    def _visit(self, numbers: int, most_points: int) -> tuple[Tensor, Tensor]:
        """Return data sets with partitions, about so many points in all, ``(B, N, ...)`` and ``(B, N)``."""
        size = _size_below(most_points)
        some = max(1, numbers // (size * self.partitions))
        group = self._groups.get(size)
        if group is None or len(group.visited) < some:
            group = self._groups[size] = self._fresh(size, 4 * some)
        chosen = torch.randperm(len(group.visited))[:some]
        draws = [self._advance(group, int(place), self.partitions) for place in chosen]
        labels, points = torch.cat(draws), group.points[chosen].repeat_interleave(self.partitions, 0)
        group.visited[chosen] += 1
        worn = (group.visited >= self.visits).nonzero()[:, 0]
        if len(worn):
            group.replace(worn, self._fresh(size, len(worn)))
        return points, labels

    def _fresh(self, size: int, number: int) -> "_Group":
        """Draw data sets, start their chains, and let each of them forget its start."""
        which = torch.multinomial(self._shares[1:], number, replacement=True)
        parts = []
        for place in which.unique().tolist():
            template = torch.empty(int((which == place).sum()), size, *self.event_shape)
            parts.append(sampled(self.laws[place], template)["data"]["value"])
        points = torch.cat(parts)[torch.randperm(number)]
        hyper = self._chains.draw_hyperparameters(number)
        group = _Group(
            points,
            torch.cat([self._chains.start(one) for one in points]),
            hyper,
            # Spread out, or the first data sets would all be replaced in the same step.
            torch.randint(self.visits, (number,)),
        )
        for place in range(number):
            self._advance(group, place, max(1, self.burn_in // self.sweeps))
        return group

    def _advance(self, group: "_Group", place: int, draws: int) -> Tensor:
        """Advance the chain of a data set, keep where it is then, and return the draws, ``(draws, N)``."""
        labels, hyper = group.labels[place : place + 1], group.hyper[place : place + 1]
        return self._chains.advance(group.points[place], labels, hyper=hyper, draws=draws)


@dataclass
class _Group:
    """Data sets of one size.

    Attributes:
        points: ``(M, N, *event_shape)``.
        labels: where the chain of each is, ``(M, N)`` int64.
        hyper: hyperparameters that the kernel moves, ``(M, H)`` float64.
        visited: how often each was used, ``(M,)`` int64.
    """

    points: Tensor
    labels: Tensor
    hyper: Tensor
    visited: Tensor

    def replace(self, places: Tensor, fresh: "_Group") -> None:
        """Put new data sets in place of others."""
        self.points[places], self.labels[places], self.hyper[places] = fresh.points, fresh.labels, fresh.hyper
        self.visited[places] = 0

    def fits(self, size: int, event_shape: tuple[int, ...], num_hyper: int) -> bool:
        """Return whether these are data sets of a size with their chains."""
        if not all(isinstance(one, Tensor) for one in vars(self).values()):
            return False
        number = len(self.visited) if self.visited.dim() == 1 else -1
        shapes = ((size, *event_shape), (size,), (num_hyper,))
        own = (self.points, self.labels, self.hyper)
        return (
            all(one.shape == (number, *shape) for one, shape in zip(own, shapes, strict=True))
            and self.labels.dtype == self.visited.dtype == torch.int64
            and self.hyper.dtype == torch.float64
            and bool(self.points.isfinite().all() and self.hyper.isfinite().all())
            and bool((self.labels >= 0).all() and (self.labels < size).all())
        )


def _size_below(num_points: int) -> int:
    """Return the largest size of data sets in the pool that is not above a number of points."""
    if num_points <= _SMALLEST:
        return num_points
    size = _SMALLEST
    while (following := max(size + 1, round(size * _GROWTH))) <= num_points:
        size = following
    return size
