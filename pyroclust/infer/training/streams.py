"""Random numbers that depend on the step alone, so that a training can go on where it stopped."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyro
import torch

__all__ = ["random_stream"]


@contextmanager
def random_stream(*key: int) -> Iterator[None]:
    """Draw from a stream of its own for every key; outside, nothing has happened.

    Every step of a training, and every batch of a step, has the key (seed, step, batch): there is no state
    to store, and two processes with different keys simulate different data.

    Args:
        key: whole numbers of at least 0.

    Example:
        >>> with random_stream(0, 7):
        ...     first = torch.rand(())
        >>> with random_stream(0, 7):
        ...     bool(first == torch.rand(()))
        True
    """
    seed = int(np.random.SeedSequence(key).generate_state(1)[0])
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        pyro.set_rng_seed(seed)
        yield
    finally:
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        random.setstate(states[2])
