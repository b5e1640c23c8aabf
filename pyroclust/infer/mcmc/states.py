"""Where chains are, and what they leave behind."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

__all__ = ["ChainStates", "Trace"]


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
