"""How many threads compiled loops may use."""

from numba import config

__all__ = ["num_threads"]


def num_threads() -> int:
    """Return the number of cores that this process may use, or ``NUMBA_NUM_THREADS`` where it is set.

    ``numba.get_num_threads`` would say the same, but starts numba's own threads, and with them sets how many
    threads OpenMP uses in the whole process: torch would from then on use every core, whatever
    ``torch.set_num_threads`` was told.

    Example:
        >>> num_threads() >= 1
        True
    """
    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
