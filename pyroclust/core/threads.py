"""How many threads compiled loops may use, and torch; in which precision torch works."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

_VARIABLE, _NO_CODE = "NUMBA_NUM_THREADS", "NUMBA_DISABLE_JIT"


def check_threads() -> None:
    """Refuse an environment in which numba cannot be imported, or compiles nothing."""
    if os.environ.get(_NO_CODE, "0") not in ("", "0"):
        raise ValueError(
            f"the environment variable {_NO_CODE} is set, and chains are compiled code: unset it"
        )
    text = os.environ.get(_VARIABLE, "")
    try:
        is_too_few = int(text) < 1
    except ValueError:
        # Numba warns, naming the variable, and uses every core.
        return
    if is_too_few:
        raise ValueError(
            f"the environment variable {_VARIABLE} is {int(text)}, expected 1 or more; correct or unset it"
        )


def num_threads() -> int:
    """Return the number of cores that this process may use, or ``NUMBA_NUM_THREADS`` where it is set."""
    check_threads()
    # numba.get_num_threads starts numba's own threads, and with them sets those of OpenMP, and so of torch.
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def map_in_threads(
    pool: ThreadPoolExecutor, function: Callable[[Any], Any], items: Sequence[Any]
) -> list[Any]:
    """Map a function over items, in as many tasks as threads: one takes 50 microseconds."""
    size = max(1, -(-len(items) // num_threads()))
    parts = [items[first : first + size] for first in range(0, len(items), size)]
    return [one for part in pool.map(lambda few: [function(item) for item in few], parts) for one in part]


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch work in one thread within the block: small matrices take up to 50 times as long in more."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def single_precision() -> Iterator[None]:
    """Let single precision be what torch makes within the block, whatever the caller has set."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
