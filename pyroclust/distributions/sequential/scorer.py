"""What a sequential partition distribution asks of the thing that scores candidates."""

from typing import Protocol, TypeVar

from torch import Tensor

__all__ = ["Encoding", "Scorer"]


class Encoding(Protocol):
    """What is computed once per data set and order.

    Attributes:
        moments: per-point vectors that clusters sum up, ``(B, N, F)`` float64.
    """

    moments: Tensor


EncodingT = TypeVar("EncodingT", bound=Encoding)


class Scorer(Protocol[EncodingT]):
    """Scores the candidates of one decision: join an existing cluster, or open a new one.

    A cluster is known by its *state*, a vector made anew whenever it gains a point; all clusters together
    by the *pooled* sum of one contribution a state; the decision at hand by its *query*. Sampling and teacher
    forcing call the same five methods with other batch shapes, and the log-probabilities therefore agree.

    Shape:
        R rows (partitions), T steps, Q decisions, M candidates; S, G, C are the scorer's own widths.
    """

    def encode(self, data: Tensor) -> EncodingT:
        """Encode data sets whose points are in visiting order, ``(B, N, ...)``."""
        ...

    def absorb(
        self, encoding: EncodingT, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Make the states of clusters that have just gained the point of ``steps``.

        Shape:
            dataset: ``(R,)``; steps: ``(T,)``; counts: ``(R, T)``; moments: ``(R, T, F)``; output: ``(R, T,
                S)``.
        """
        ...

    def contribution(self, states: Tensor) -> Tensor:
        """Return what each state adds to the pooled sum, ``(..., S) -> (..., G)``."""
        ...

    def query(
        self, encoding: EncodingT, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Describe decisions: ``(Q,), (Q,), (Q, G), (Q,) -> (Q, C)``."""
        ...

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Return the logits of joining existing clusters, ``(M, C), (M, S) -> (M,)``."""
        ...

    def open(self, query: Tensor) -> Tensor:
        """Return the logits of opening a new cluster, ``(Q, C) -> (Q,)``."""
        ...
