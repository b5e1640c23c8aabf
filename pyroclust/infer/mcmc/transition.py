"""A kernel bound to a data set and a number of chains."""

from abc import ABC, abstractmethod

from pyroclust.infer.mcmc.states import ChainStates, Trace

__all__ = ["Transition"]


class Transition(ABC):
    """Moves C chains at once.

    It may keep caches, but what it returns depends on the states given to it alone, unless its kernel says
    that it keeps parameters.
    """

    @abstractmethod
    def step(self, states: ChainStates) -> ChainStates:
        """Advance every chain by one draw."""

    def advance(self, states: ChainStates, num_draws: int) -> Trace:
        """Advance every chain by several draws and return them all."""
        visited = []
        for _ in range(num_draws):
            states = self.step(states)
            visited.append(states)
        return Trace.stack(visited)

    def prepare(self, states: ChainStates) -> None:  # noqa: B027  (most have nothing to compile)
        """Compile what needs compiling, without advancing."""
