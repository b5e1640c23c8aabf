"""Where chains are, what they leave behind, and the log joint density of both."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.checks import log_joint_of
from pyroclust.partitions import Draws

__all__ = [
    "ChainStates",
    "Trace",
    "conditional_log_joint",
    "log_hyperprior",
    "log_joint",
    "log_prior_of_states",
]


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


def conditional_log_joint(
    model: CollapsedModel, data: Tensor, assignments: Tensor, hyperparameters: dict[str, Tensor]
) -> Tensor:
    """Return log p(assignments, data | hyperparameters) in nats, ``(..., C, N) -> (..., C)``.

    This is what a move of the partition alone leaves unchanged up to a constant: the hyperparameters that the
    chains carry are given, others are integrated out.
    """
    known = model.given(hyperparameters) if hyperparameters else model
    return log_joint_of(known, data, assignments)


def log_joint(
    model: CollapsedModel, data: Tensor, assignments: Tensor, hyperparameters: dict[str, Tensor]
) -> Tensor:
    """Return log p(assignments, data, hyperparameters) in nats, ``(..., C)``, a Gamma concentration apart.

    Components that are not conjugate have no such formula: there it is nan.
    """
    if not model.is_conjugate:
        return torch.full(assignments.shape[:-1], torch.nan, dtype=torch.float64)
    marginal = model.prior.integrated_names
    given = {name: values for name, values in hyperparameters.items() if name not in marginal}
    return conditional_log_joint(model, data, assignments, given) + log_hyperprior(model, hyperparameters)


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

    def thinned(self, every: int) -> "Trace":
        """Return every so many-th draw, the last one among them where the number of draws is a multiple."""
        kept = slice(every - 1, None, every)
        return Trace(
            self.assignments[:, kept].clone(),
            {name: values[:, kept].clone() for name, values in self.hyperparameters.items()},
            self.log_joint[:, kept].clone(),
        )

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

    @staticmethod
    def of_rows(rows: list[ChainStates]) -> "Trace":
        """Take where chains are as draws of one chain, for each of several."""
        names = rows[0].hyperparameters
        return Trace(
            torch.stack([one.assignments for one in rows]),
            {name: torch.stack([one.hyperparameters[name] for one in rows]) for name in names},
            torch.stack([one.log_joint for one in rows]),
        )

    @staticmethod
    def stack(states: list[ChainStates]) -> "Trace":
        """Put states after one another."""
        names = states[0].hyperparameters
        return Trace(
            torch.stack([one.assignments for one in states], 1),
            {name: torch.stack([one.hyperparameters[name] for one in states], 1) for name in names},
            torch.stack([one.log_joint for one in states], 1),
        )

    @staticmethod
    def concatenate(traces: list["Trace"]) -> "Trace":
        """Join traces of the same chains."""
        names = traces[0].hyperparameters
        return Trace(
            torch.cat([one.assignments for one in traces], 1),
            {name: torch.cat([one.hyperparameters[name] for one in traces], 1) for name in names},
            torch.cat([one.log_joint for one in traces], 1),
        )
