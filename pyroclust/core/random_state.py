"""Random numbers of one's own: seeded inside a block, and the caller's state as it was after it."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyro
import torch

from pyroclust.core.numbers import check_seed

# Torch's random state and Pyro's handlers belong to the process: what uses either holds this lock, so that
# calls in several threads give what they give alone.
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
def exclusive_random_state() -> Iterator[None]:
    """Keep other threads out of torch's random state and of Pyro's handlers while the block runs."""
    with _lock:
        yield


@contextmanager
def preserved_random_state() -> Iterator[None]:
    """Let torch draw random numbers inside the block without moving the caller's random state."""
    with exclusive_random_state(), torch.random.fork_rng(devices=[]):
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch by a number inside the block, and restore the caller's random state after it."""
    seed = check_seed(seed)
    with preserved_random_state():
        if torch.cuda.is_available():
            torch.manual_seed(seed)
        else:
            # For devices that are not there torch.manual_seed writes down who called: a millisecond.
            torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def pyro_seeded(*key: int) -> Iterator[None]:
    """Seed Pyro, Python and numpy by a tuple of numbers inside the block, and restore their state."""
    checked = [check_seed(one) for one in key]
    with exclusive_random_state():
        state = pyro.util.get_rng_state()
        pyro.set_rng_seed(int(np.random.SeedSequence(checked).generate_state(1)[0]))
        try:
            yield
        finally:
            pyro.util.set_rng_state(state)


def seed_from_torch() -> int:
    """Draw a seed from torch's generator, so that ``pyro.set_rng_seed`` decides where none is given."""
    return int(torch.randint(2**63 - 1, ()))
