"""What a classical clustering method found."""

from dataclasses import dataclass

import numpy as np

__all__ = ["BaselineResult"]


@dataclass(frozen=True)
class BaselineResult:
    """One partition from a method that is not Bayesian about partitions.

    Attributes:
        name: what tables call the method.
        assignments: canonical labels, ``(N,)`` int64.
        num_clusters: how many clusters it has.
        seconds: wall time.
        about: how the partition, and its number of clusters, was chosen, in a sentence.
        notes: what went wrong or was cut short, such as a fit that did not converge.
    """

    name: str
    assignments: np.ndarray
    num_clusters: int
    seconds: float
    about: str
    notes: tuple[str, ...] = ()

    @property
    def draws(self) -> np.ndarray:
        """The partition as the one draw of one chain, ``(1, 1, N)``, for every function of draws.

        Example:
            >>> BaselineResult("by hand", np.array([0, 0, 1]), 2, 0.0, "Chosen by hand.").draws.shape
            (1, 1, 3)
        """
        return self.assignments[None, None, :]
