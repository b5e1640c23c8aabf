"""Data sets like those that a guide was trained on, to see whether the data are of their kind."""

from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics import Familiarity, familiarity

__all__ = ["TrainingWorld"]


@dataclass(frozen=True)
class TrainingWorld:
    """Simulations of a guide's model, of the size of the data.

    Attributes:
        simulations: ``(S, M, D)``, M being the number of the data's points, or 300 if those are more.
        training_points: fewest and most points in training; ``None`` where unknown.
        log_evidence: importance-sampling estimate of log p(data) in nats; ``None`` where there is none.
        simulated_log_evidence: the same of each simulation, with as many draws, ``(S,)``, or ``None``.
    """

    simulations: np.ndarray
    training_points: tuple[int, int] | None = None
    log_evidence: float | None = None
    simulated_log_evidence: np.ndarray | None = None

    def familiarity(self, data: np.ndarray, *, seed: int) -> Familiarity:
        """Say where a data set lies among the simulations.

        Args:
            data: points, ``(N, D)``.
            seed: of the points that are looked at where there are many.

        Example:
            >>> rng = np.random.default_rng(0)
            >>> world = TrainingWorld(rng.standard_normal((199, 40, 2)), training_points=(5, 100))
            >>> world.familiarity(rng.standard_normal((40, 2)), seed=0).warning is None
            True
        """
        return familiarity(
            data,
            self.simulations,
            seed=seed,
            training_points=self.training_points,
            log_evidence=self.log_evidence,
            simulated_log_evidence=self.simulated_log_evidence,
        )
