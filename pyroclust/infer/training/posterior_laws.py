"""Laws of data with partitions from posteriors, drawn by chains: what guides are trained on beside models."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.random_state import seed_from_torch
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.protocols import CollapsedModel, LawOfModels, SimulatedModel, sampled
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.nn.compiled.filter import CompiledFilterScorer

# Sizes of data sets in a pool, each so much larger than the one before.
_GROWTH = 1.25
_SMALLEST = 5


class PosteriorChains:
    """The default kernel of a model, to start chains at draws of the exact filter and to move them on."""

    def __init__(self, model: CollapsedModel, *, sweeps: int) -> None:
        unknown = [name for name in model.hyperpriors if name not in model.prior.integrated_names]
        if unknown:
            raise ValueError(
                f"model has the random hyperparameters {', '.join(unknown)}, expected known ones: "
                "labels would depend on values that the guide is not given"
            )
        component = ConjugateComponent.of(model.component, otherwise="chains begin at draws of the filter")
        self._priors = model.prior.hyperpriors
        self._scorer = CompiledFilterScorer(model.prior, component)
        self._kernel: PartitionKernel = default_kernel(model, thin=sweeps)
        self.names = tuple(sorted(self._kernel.updates))

    def draw_hyperparameters(self, number: int = 1) -> Tensor:
        """Draw what the kernel moves from its prior, ``(number, H)`` float64."""
        drawn = [self._priors[name].sample(torch.Size((number,))).double() for name in self.names]
        return torch.stack(drawn, -1) if drawn else torch.empty(number, 0, dtype=torch.float64)

    def start(self, points: Tensor) -> Tensor:
        """Draw a partition by the exact filter in a random order, ``(N, ...) -> (1, N)``."""
        filtered = SequentialPartition(
            self._scorer,
            self._scorer.encode(points.unsqueeze(0)),
            order=torch.randperm(len(points)).unsqueeze(0),
            dataset=torch.tensor(0),
        )
        drawn: Tensor = filtered.sample_and_log_prob((1,))[0]
        return drawn

    def advance(self, points: Tensor, labels: Tensor, *, hyper: Tensor, draws: int) -> Tensor:
        """Move a chain on, and return its draws; labels and hyperparameters become those of the last."""
        values = {name: hyper[:, i] for i, name in enumerate(self.names)}
        states = ChainStates(labels, values, torch.full((1,), torch.nan))
        generator = np.random.default_rng(seed_from_torch())
        trace = self._kernel.bind(points.to(DOUBLE), states, generator).advance(
            states, draws, every=self._kernel.thin
        )
        labels[0] = trace.assignments[0, -1]
        for i, name in enumerate(self.names):
            hyper[0, i] = trace.hyperparameters[name][0, -1]
        moved: Tensor = trace.assignments[0]
        return moved


def _shares(name: str, first: float, laws: Iterable[float]) -> Tensor:
    """Return the share of simulations, called ``name`` in messages, and those of laws, ``(1 + L,)``."""
    others = [check_number("a share of laws", share, at_least=0) for share in laws]
    shares = torch.tensor([check_number(name, first, at_least=0), *others], dtype=torch.float64)
    if not shares.sum() > 0:
        raise ValueError(f"{name} and laws have only shares of 0, expected one above 0")
    return shares


class PosteriorPool:
    r"""A law of data beside a model's own, with partitions drawn from the model's posterior.

    .. math::
        x \sim r, \qquad c \sim p(c \mid x), \qquad
        L(\phi) = E_{r(x)} E_{p(c \mid x)}[-\log q_\phi(c \mid x)]

    With any law r of the data sets the loss has the same minimiser, :math:`q(c \mid x) = p(c \mid x)`; r
    weighs data sets that the model hardly ever makes, real tables for one. The labels come from Markov
    chains: one a data set, which begins at a draw of the exact filter, and goes on at every visit.

    It is a Pyro program with the sites ``"assignments"`` and ``"data"``, for ``fit(..., data=pool)``. A batch
    is one of the model's own simulations with the probability of the prior's share, else one of data sets of
    the pool, of the largest of the sizes 5, 6, 8, 10, ... up to the step's N. What it holds is part of a
    checkpoint.

    Cost of a step: O(B T N K) predictives for B partitions and T sweeps, and some 3 ms a data set.

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
        ValueError: if the model or a law is of another kind, or a number is out of range.

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
        self._shares = _shares("prior", prior, laws.values())
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
        known = [law.most_points for law in self.laws if hasattr(law, "most_points")]
        return min(known, default=None)

    @property
    def num_datasets(self) -> int:
        """Data sets that the pool holds now."""
        return sum(len(group.visited) for group in self._groups.values())

    def __repr__(self) -> str:
        names = ", ".join(str(law.name) for law in self.laws)
        return f"PosteriorPool({self.model.name}; {names}; {self.num_datasets} data sets)"

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on a template, ``(*batch, N, *event_shape)``, of which only the shape counts."""
        if torch.rand((), dtype=torch.float64) * self._shares.sum() < self._shares[0]:
            simulated: Tensor = self.model(data)
            return simulated
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
        """Go on from a state of this pool."""
        sizes = dict.fromkeys(name.partition(".")[0] for name in state)
        self._groups = {
            int(size): _Group(*(state[f"{size}.{name}"] for name in _Group.__dataclass_fields__))
            for size in sizes
        }

    def _visit(self, numbers: int, most_points: int) -> tuple[Tensor, Tensor]:
        """Return data sets with partitions, about so many points in all, ``(B, N, ...)`` and ``(B, N)``."""
        size = _size_below(most_points)
        number = max(1, numbers // (size * self.partitions))
        group = self._groups.get(size)
        if group is None or len(group.visited) < number:
            group = self._groups[size] = self._fresh(size, 4 * number)
        chosen = torch.randperm(len(group.visited))[:number]
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
            torch.cat([self._chains.start(dataset) for dataset in points]),
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
    """Data sets of one size ``(M, N, ...)``, where the chain of each is, and how often each was visited."""

    points: Tensor
    labels: Tensor
    hyper: Tensor
    visited: Tensor

    def replace(self, places: Tensor, fresh: "_Group") -> None:
        self.points[places], self.labels[places], self.hyper[places] = fresh.points, fresh.labels, fresh.hyper
        self.visited[places] = 0


def _size_below(num_points: int) -> int:
    """Return the largest size of data sets in the pool that is not above a number of points."""
    if num_points <= _SMALLEST:
        return num_points
    size = _SMALLEST
    while (following := max(size + 1, round(size * _GROWTH))) <= num_points:
        size = following
    return size


class PosteriorTables:
    r"""A law of models: simulations of many, and data sets of other laws with partitions drawn by chains.

    .. math::
        (m, x) \sim r, \qquad c \sim p_m(c \mid x), \qquad
        L(\phi) = E_{r(m, x)} E_{p_m(c \mid x)}[-\log q_\phi(c \mid x, m)]

    What :class:`~pyroclust.infer.PosteriorPool` is to one model, for models that change with every batch. A
    chain on each data set begins at a draw of the exact filter; nothing is kept from one batch to the next.

    Cost of a data set: ``burn_in + partitions * sweeps`` draws of the default kernel.

    Args:
        prior: law of models whose simulations have partitions of their posterior.
        laws: other laws of models, whose data sets have none, each with its share.
        share: of the prior's law; shares are divided by their sum.
        partitions: draws of a chain for each data set.
        sweeps: draws of the default kernel between two of these.
        burn_in: draws of the kernel before the first.

    Raises:
        ValueError: if a number is out of range, or there is no share above 0.

    Example:
        >>> from pyro import poutine
        >>> from pyroclust.models import AnyTable, NoisyTables
        >>> tables = AnyTable(most_columns=4)
        >>> law = PosteriorTables(tables, {NoisyTables(tables): 1.0}, share=0.0, partitions=2)
        >>> drawn = law.draw_model()
        >>> trace = poutine.trace(poutine.uncondition(drawn)).get_trace(torch.empty(6, 8, *drawn.event_shape))
        >>> trace.nodes["assignments"]["value"].shape
        torch.Size([6, 8])

    References:
        Naesseth, Lindsten and Blei (2020), Markovian score climbing. https://arxiv.org/abs/2003.10374
    """

    def __init__(
        self,
        prior: LawOfModels,
        laws: Mapping[Any, float],
        *,
        share: float = 0.5,
        partitions: int = 4,
        sweeps: int = 5,
        burn_in: int = 100,
    ) -> None:
        self.prior, self.laws = prior, tuple(laws)
        self._shares = _shares("share", share, laws.values())
        self.partitions, self.sweeps = check_count("partitions", partitions), check_count("sweeps", sweeps)
        self.burn_in = check_count("burn_in", burn_in)

    def draw_model(self) -> Any:
        """Draw a law of data sets and partitions, with the model that these are of."""
        place = int(self._shares.multinomial(1))
        if place == 0:
            return self.prior.draw_model()
        return _WithPartitions(self.laws[place - 1].draw_model(), self)

    def __repr__(self) -> str:
        return f"PosteriorTables({', '.join(map(repr, (self.prior, *self.laws)))})"


class _WithPartitions(SimulatedModel):
    """Data sets of a law, each several times, with partitions of a chain."""

    def __init__(self, law: Any, settings: PosteriorTables) -> None:
        self.law, self.model, self.name, self._settings = law, law.model, law.name, settings
        self.event_shape = tuple(law.event_shape)

    def __call__(self, data: Tensor) -> Tensor:
        each = min(self._settings.partitions, len(data))
        points: Tensor = sampled(self.law, data[: max(1, len(data) // each)])["data"]["value"]
        chains = PosteriorChains(self.model, sweeps=self._settings.sweeps)
        labels = torch.cat([self._drawn(chains, dataset, each) for dataset in points])
        points = points.repeat_interleave(each, 0)
        with pyro.plate("datasets", len(points)):
            pyro.sample("assignments", Delta(labels, event_dim=1))
            return pyro.sample("data", Delta(points, event_dim=2), obs=points)

    def _drawn(self, chains: PosteriorChains, points: Tensor, number: int) -> Tensor:
        labels, hyper = chains.start(points), chains.draw_hyperparameters()
        burn_in = -(-self._settings.burn_in // self._settings.sweeps)
        return chains.advance(points, labels, hyper=hyper, draws=burn_in + number)[-number:]
