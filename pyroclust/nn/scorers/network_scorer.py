"""The contract of scorers that are networks: a module, its arguments, and how conditions enter."""

from typing import ClassVar, Self

from torch import Tensor, nn

from pyroclust.distributions.families.component import ConjugateComponent
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.distributions.sequential.scorer import EncodingT, Scorer
from pyroclust.nn.conditions import ConditionInputs

__all__ = ["NetworkScorer"]


class NetworkScorer(nn.Module, Scorer[EncodingT]):
    """A network that scores candidates: what :class:`~pyroclust.guides.NeuralClusteringProcess` is made of.

    A new one is a subclass in a file of its own, which writes the methods of
    :class:`~pyroclust.distributions.sequential.scorer.Scorer`, keeps the arguments of its constructor as
    attributes of their names, and has ``@register(NetworkScorer)`` above it. One that can be told
    hyperparameters of the model overrides :meth:`take_conditions`.

    Attributes:
        conditions: how hyperparameters enter, None for none.
        filter: log-weights of the exact filter of a conjugate model, None for none.
        fits_any_model: whether :meth:`of` gives the same weights for other models.
    """

    conditions: ConditionInputs | None = None
    filter: FilterScorer | None = None
    fits_any_model: ClassVar[bool] = False

    def of(self, prior: PartitionPrior, component: ConjugateComponent) -> Self:
        """Return the scorer of another model: a view with the same weights.

        Args:
            prior: partition prior of that model.
            component: its family.

        Raises:
            ValueError: if the scorer is made for one model, as here, or does not fit the other.
        """
        raise ValueError(
            f"scorer is a {type(self).__name__}, which is made for one model, expected a ColumnScorer: carry "
            "it over to a model of the same shape with retarget"
        )

    def positions(self, data: Tensor) -> Tensor:
        """Return points as vectors between which a visiting order measures distances: as they are here.

        Shape:
            data: ``(B, N, ...)``; output: ``(B, N, ...)``.
        """
        return data

    def take_conditions(self, inputs: ConditionInputs | None, *, num_columns: int) -> None:
        """Take note of the conditions of the guide that the scorer becomes a part of.

        Args:
            inputs: how they enter; None for none.
            num_columns: columns of the data.

        Raises:
            ValueError: if the scorer was built for others, or takes none, as here.
        """
        if inputs is not None:
            raise ValueError(
                f"conditions are {', '.join(inputs.names)}, expected none: the {type(self).__name__} takes "
                "none"
            )
