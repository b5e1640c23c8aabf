"""Where chains start and are, what they leave behind, and its log joint density."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.checks import log_joint_of
from pyroclust.partitions import Draws, canonical, check_label_vectors


class Starts(Protocol):
    """Chooses the first partition of every chain."""

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray: ...


@dataclass(frozen=True)
class OneCluster:
    """Start every chain with all points in one cluster.

    Example:
        >>> OneCluster()(3, 2, generator=np.random.default_rng(0)).tolist()
        [[0, 0, 0], [0, 0, 0]]
    """

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        return np.zeros((num_chains, num_points), dtype=np.int64)


@dataclass(frozen=True)
class Singletons:
    """Start every chain with each point in its own cluster; the first sweep costs O(N^2).

    Example:
        >>> Singletons()(3, 1, generator=np.random.default_rng(0)).tolist()
        [[0, 1, 2]]
    """

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        return np.tile(np.arange(num_points), (num_chains, 1))


@dataclass(frozen=True)
class Overdispersed:
    """Start chains far apart: points thrown at random into 1 to N clusters, the number log-uniform.

    Several chains of one run get one stratum of the log-uniform law each, from few clusters to many.

    Example:
        >>> Overdispersed()(5, 2, generator=np.random.default_rng(0)).shape
        (2, 5)
    """

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        level = (np.arange(num_chains) + generator.random(num_chains)) / num_chains
        clusters = np.minimum(np.exp(level * np.log(num_points + 1.0)).astype(np.int64), num_points)
        return (generator.random((num_chains, num_points)) * clusters[:, None]).astype(np.int64)


class FromDraws:
    """Start each chain at its own row of given partitions, for instance draws of a guide.

    Rows are chosen at random without replacement; with as many rows as chains every row is used once.

    Args:
        draws: labels, ``(S, N)`` integers, a tensor or an array.

    Raises:
        ValueError: if the draws have another shape, or are not integers.

    Example:
        >>> FromDraws(np.array([[0, 0, 1]]))(3, 1, generator=np.random.default_rng(0)).tolist()
        [[0, 0, 1]]
    """

    def __init__(self, draws: Tensor | np.ndarray) -> None:
        if isinstance(draws, np.ndarray) and draws.dtype.kind not in "iu":
            raise ValueError(f"draws has dtype {draws.dtype}, expected integers")
        labels = torch.from_numpy(draws) if isinstance(draws, np.ndarray) else draws
        check_label_vectors("draws", labels)
        if labels.dim() != 2:
            raise ValueError(f"draws has shape {tuple(labels.shape)}, expected (draws, points)")
        self.draws = canonical(labels)

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        if self.draws.shape[0] < num_chains or self.draws.shape[1] != num_points:
            raise ValueError(
                f"draws has shape {tuple(self.draws.shape)}, "
                f"expected at least {num_chains} rows of {num_points} points"
            )
        rows = generator.permutation(len(self.draws))[:num_chains]
        return self.draws.cpu().numpy()[rows]


@dataclass(frozen=True)
class _SamePartition:
    assignments: Tensor

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        if self.assignments.shape != (num_points,):
            raise ValueError(f"init has shape {tuple(self.assignments.shape)}, expected ({num_points},)")
        return np.tile(canonical(self.assignments).cpu().numpy(), (num_chains, 1))


def _is_called_as_starts(init: Any) -> bool:
    try:
        signature(init).bind(2, 1, generator=None)
    except TypeError:
        return False
    except ValueError:  # Some built-in functions have no signature.
        return callable(init)
    return True


def as_starts(init: Starts | Tensor) -> Starts:
    """Turn label vectors into starts: ``(N,)`` for every chain, ``(S, N)`` as :class:`FromDraws`."""
    if not isinstance(init, Tensor):
        if isinstance(init, type) or not _is_called_as_starts(init):
            raise ValueError(
                f"init is of type {type(init).__name__}, expected a tensor of labels or starts such as "
                "OneCluster(): call torch.as_tensor on labels first"
            )
        return init
    return _SamePartition(init) if init.dim() == 1 else FromDraws(init)


def log_hyperprior(model: CollapsedModel, hyperparameters: dict[str, Tensor]) -> Tensor | float:
    """Return the log density of the hyperparameters in nats, those that are integrated out apart."""
    marginal = model.prior.integrated_names
    terms = [
        prior.log_prob(hyperparameters[name].to(prior.mean.dtype)).double()
        for name, prior in model.hyperpriors.items()
        if name not in marginal
    ]
    return sum(terms[1:], terms[0]) if terms else 0.0


def log_prior_of_states(
    model: CollapsedModel, assignments: Tensor, hyperparameters: dict[str, Tensor]
) -> Tensor:
    """Return log p(assignments, hyperparameters) in nats, a Gamma concentration apart, ``(..., C)``."""
    names = hyperparameters.keys() & model.prior.hyperpriors.keys() - model.prior.integrated_names
    prior = model.given({name: hyperparameters[name] for name in names}).prior
    return prior.log_prob(assignments) + log_hyperprior(model, hyperparameters)


def log_joint(
    model: CollapsedModel, data: Tensor, assignments: Tensor, hyperparameters: dict[str, Tensor]
) -> Tensor:
    """Return log p(assignments, data, hyperparameters) in nats, ``(..., C)``, a Gamma concentration apart.

    Components that are not conjugate have no such formula: there it is nan.
    """
    if not model.is_conjugate:
        return torch.full(assignments.shape[:-1], torch.nan, dtype=torch.float64)
    marginal = model.prior.integrated_names
    values = {name: value for name, value in hyperparameters.items() if name not in marginal}
    fixed = model.given(values) if values else model
    return log_joint_of(fixed, data, assignments) + log_hyperprior(model, hyperparameters)


def _columns(parts: Sequence[Any], join: Callable[[list[Tensor]], Tensor]) -> tuple[Any, ...]:
    names = parts[0].hyperparameters
    return (
        join([one.assignments for one in parts]),
        {name: join([one.hyperparameters[name] for one in parts]) for name in names},
        join([one.log_joint for one in parts]),
    )


@dataclass(frozen=True)
class ChainStates:
    """Where C chains are: all that one kernel hands to the next.

    Attributes:
        assignments: canonical labels, ``(C, N)`` int64.
        hyperparameters: values of those that the kernels sample, ``(C,)`` float64 each.
        log_joint: log p(assignments, data, hyperparameters) in nats, ``(C,)`` float64.
    """

    assignments: Tensor
    hyperparameters: dict[str, Tensor] = field(default_factory=dict)
    log_joint: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.float64))

    def of_chains(self, chains: Tensor | slice) -> Self:
        """Return where some of the chains are."""
        hyper = {name: values[chains] for name, values in self.hyperparameters.items()}
        return type(self)(self.assignments[chains], hyper, self.log_joint[chains])

    @classmethod
    def concatenate(cls, states: Sequence[Self]) -> Self:
        """Join states of different chains."""
        return cls(*_columns(states, torch.cat))


@dataclass(frozen=True)
class Trace:
    """Consecutive draws of C chains.

    Attributes:
        assignments: canonical labels, ``(C, draws, N)`` int64.
        hyperparameters: ``(C, draws)`` float64 each.
        log_joint: ``(C, draws)`` float64, in nats.
    """

    assignments: Tensor
    hyperparameters: dict[str, Tensor]
    log_joint: Tensor

    def last(self) -> ChainStates:
        """Return where the chains are after the last draw."""
        hyper = {name: values[:, -1] for name, values in self.hyperparameters.items()}
        return ChainStates(self.assignments[:, -1], hyper, self.log_joint[:, -1])

    def draws(
        self, name: str, *, seconds: float, seconds_compile: float = 0.0, interrupted: bool = False
    ) -> Draws:
        """Return them as arrays, without a log joint where the kernel has none."""
        has_joint = not bool(self.log_joint.isnan().all())
        stopped = f"The run of {name} was interrupted: the draws may be fewer than were asked for."
        return Draws(
            name=name,
            assignments=self.assignments.numpy(),
            log_joint=self.log_joint.numpy() if has_joint else None,
            parameters={one: values.numpy() for one, values in self.hyperparameters.items()},
            seconds=seconds,
            seconds_compile=seconds_compile,
            interrupted=interrupted,
            notes=(stopped,) if interrupted else (),
        )

    @classmethod
    def of_rows(cls, rows: Sequence[ChainStates]) -> Self:
        """Take where chains are as draws of one chain, for each of several."""
        return cls(*_columns(rows, torch.stack))

    @classmethod
    def stack(cls, states: Sequence[ChainStates]) -> Self:
        """Put states after one another."""
        return cls(*_columns(states, partial(torch.stack, dim=1)))

    @classmethod
    def concatenate(cls, traces: "Sequence[Trace]") -> Self:
        """Join consecutive traces of the same chains."""
        return cls(*_columns(traces, partial(torch.cat, dim=1)))
