"""Random numbers of one's own: seeded inside a block, and the caller's state as it was after it.

Torch's random state and Pyro's stack of handlers belong to the whole process: what uses either holds one
lock, so that calls in several threads give what they give alone.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyro
import torch

from pyroclust.core.counts import check_seed

__all__ = ["alone", "kept_random_state", "own_random_numbers", "seed_from_torch", "seeded"]

_lock = threading.RLock()


def _after_fork() -> None:
    global _lock
    # Another thread may have held the lock when this process was forked, and will never let it go here.
    _lock = threading.RLock()
    # OpenMP believes that its threads are still there, and would wait for them for ever.
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def alone() -> Iterator[None]:
    """Keep other threads out of torch's random state and of Pyro's handlers while the block runs.

    Blocks may lie inside one another, and functions be wrapped, ``@alone()``.

    Example:
        >>> with alone(), alone():
        ...     _ = torch.rand(1)
    """
    with _lock:
        yield


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Let torch draw random numbers inside the block without moving the caller's random state.

    Example:
        >>> before = torch.get_rng_state()
        >>> with kept_random_state():
        ...     _ = torch.rand(1)
        >>> torch.equal(before, torch.get_rng_state())
        True
    """
    with alone(), torch.random.fork_rng(devices=[]):
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch by a number inside the block, and restore the caller's random state after it.

    Example:
        >>> with seeded(3):
        ...     first = torch.rand(1)
        >>> with seeded(3):
        ...     bool(first == torch.rand(1))
        True
    """
    seed = check_seed(seed)
    with kept_random_state():
        torch.manual_seed(seed)
        yield


@contextmanager
def own_random_numbers(*key: int) -> Iterator[None]:
    """Seed Pyro by a tuple of numbers inside the block, and restore the caller's random state after it.

    Streams of different keys are independent. Python's and numpy's global generators are seeded as well.

    Example:
        >>> before = torch.get_rng_state()
        >>> with own_random_numbers(1, 20):
        ...     first = torch.rand(1)
        >>> with own_random_numbers(1, 20):
        ...     again = torch.rand(1)
        >>> bool(first == again), torch.equal(before, torch.get_rng_state())
        (True, True)
    """
    checked = [check_seed(one) for one in key]
    with alone():
        state = pyro.util.get_rng_state()
        pyro.set_rng_seed(int(np.random.SeedSequence(checked).generate_state(1)[0]))
        try:
            yield
        finally:
            pyro.util.set_rng_state(state)


def seed_from_torch() -> int:
    """Draw a seed from torch's generator, so that ``pyro.set_rng_seed`` decides where none is given.

    Example:
        >>> 0 <= seed_from_torch() < 2**63
        True
    """
    return int(torch.randint(2**63 - 1, ()))
