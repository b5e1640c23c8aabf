"""A kernel bound to data, and the loop over draws: blocks with a bar, which an interrupt ends early."""

import time
from abc import ABC, abstractmethod

from pyroclust.core.interrupts import interrupt_between_steps
from pyroclust.core.memory import check_memory
from pyroclust.core.progress import progress_bar
from pyroclust.infer.mcmc.states import ChainStates, Trace

__all__ = ["Transition", "check_draws", "run_blocks"]


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

    def skip(self, states: ChainStates, num_draws: int) -> ChainStates:
        """Advance every chain by several draws and return where they are then."""
        for _ in range(num_draws):
            states = self.step(states)
        return states

    def prepare(self, states: ChainStates) -> None:  # noqa: B027  (most have nothing to compile)
        """Compile what needs compiling, without advancing."""


# How soon Ctrl-C is obeyed and the bar moves.
_SECONDS_A_BLOCK = 0.3
_GROWTH = 8
_BYTES_A_LABEL = 8


def check_draws(num_chains: int, num_draws: int, num_points: int) -> None:
    """Refuse draws that do not fit into the memory that is left.

    Raises:
        ValueError: if the label vectors, and a copy of them, need more.
    """
    check_memory(
        2 * num_chains * num_draws * num_points * _BYTES_A_LABEL,
        f"num_draws is {num_draws}: {num_chains} chains of {num_points} points",
        remedy="keep fewer, with a larger thin",
    )


def run_blocks(
    transition: Transition,
    states: ChainStates,
    *,
    warmup: int,
    num_draws: int,
    every: int = 1,
    progress: bool,
) -> tuple[Trace, bool]:
    """Run warm-up and draws in blocks of some tenths of a second, between which Ctrl-C is obeyed.

    Args:
        transition: the kernel, bound to data.
        states: where the chains are.
        warmup: draws that are not kept.
        num_draws: draws that are kept.
        every: of so many draws the last is kept.
        progress: show a bar on standard error.

    Returns:
        The draws, and whether somebody asked to stop; then they are usually fewer.

    Raises:
        KeyboardInterrupt: if there was an interrupt before the first draw.
    """
    kept: list[Trace] = []
    done, size, total = 0, 1, warmup + num_draws * every
    with progress_bar("draws", total, shown=progress) as tell, interrupt_between_steps() as interrupt:
        while done < total and not interrupt.requested:
            left = warmup - done if done < warmup else total - done
            count = min(size, left) if done < warmup else min(max(1, size // every) * every, left)
            began = time.perf_counter()
            block = transition.advance(states, count)
            seconds = max(time.perf_counter() - began, 1e-6)
            size = max(1, min(_GROWTH * size, int(count * _SECONDS_A_BLOCK / seconds)))
            states = block.last()
            if done >= warmup:
                kept.append(block if every == 1 else block.thinned(every))
            done += count
            tell(done, "")
    if not kept:
        raise KeyboardInterrupt
    return Trace.concatenate(kept), interrupt.requested
