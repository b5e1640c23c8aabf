"""What is asked of a comparison besides its data and its guide."""

from dataclasses import dataclass

__all__ = ["NOISE_SCALE", "CompareSettings"]

NOISE_SCALE = 0.1
"""Of forests, in standard deviations of the similarities: the least of those that were published."""


@dataclass(frozen=True)
class CompareSettings:
    """Numbers of draws and chains, and what is made of them.

    Attributes:
        num_draws: draws of the guide.
        num_chains: chains of MCMC.
        mcmc_draws: draws each chain keeps.
        kernel: name of their kernel; ``None`` for the default of the model.
        warmup: sweeps that each chain drops first; ``None`` to go on until they have converged.
        calibrate: whether to calibrate the guide near the data.
        refine: whether to refine the guide's draws.
        tolerance: limit on co-assignment differences, ``None`` for the library's.
        seed: same seed, same draws.
    """

    num_draws: int
    num_chains: int
    mcmc_draws: int
    kernel: str | None
    warmup: int | None
    calibrate: bool
    refine: bool
    tolerance: float | None
    seed: int
