"""Running compiled chains side by side in threads."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np

from pyroclust.infer.mcmc.chain import Chain
from pyroclust.infer.mcmc.sweep import run_sweeps

__all__ = ["Draws", "advance", "run_chains"]

Draws = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Assignments ``(draws, N)``, log joint ``(draws,)``, concentration ``(draws,)``, or ``(0,)`` where fixed."""

# A block of draws visits about this many points, some tenths of a second: how soon Ctrl-C is obeyed.
_VISITS_A_BLOCK = 1_000_000


def advance(chain: Chain, num_draws: int, *, thin: int) -> Draws:
    """Advance a chain by ``num_draws`` draws of ``thin`` sweeps; ``thin = 0`` records where it is."""
    assignments = np.empty((num_draws, len(chain.state.slot_of)), dtype=np.int64)
    log_joint = np.empty(num_draws)
    concentration = np.empty(num_draws if chain.prior.gamma_shape > 0 else 0)
    run_sweeps(*chain, thin, assignments, log_joint, concentration)
    return assignments, log_joint, concentration


def _run_chain(chain: Chain, warmup: int, num_draws: int, *, thin: int, stop: Event) -> Draws:
    size = max(1, _VISITS_A_BLOCK // (thin * len(chain.state.slot_of)))
    for begin in range(0, warmup, size):
        if not stop.is_set():
            advance(chain, min(size, warmup - begin), thin=thin)
    blocks = [advance(chain, 0, thin=thin)]
    for begin in range(0, num_draws, size):
        if not stop.is_set():
            blocks.append(advance(chain, min(size, num_draws - begin), thin=thin))
    assignments, log_joint, concentration = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return assignments, log_joint, concentration


def run_chains(chains: list[Chain], *, warmup: int, num_draws: int, thin: int) -> Draws:
    """Run all chains, one thread each, and stack their draws: ``(chains, draws, ...)``.

    An interrupt stops the threads at the end of their block of draws and is raised again.
    """
    stop = Event()
    with ThreadPoolExecutor(max_workers=len(chains)) as pool:
        futures = [
            pool.submit(_run_chain, chain, warmup, num_draws, thin=thin, stop=stop) for chain in chains
        ]
        try:
            columns = zip(*(future.result() for future in futures), strict=True)
        except BaseException:
            stop.set()
            raise
    assignments, log_joint, concentration = (np.stack(column) for column in columns)
    return assignments, log_joint, concentration
