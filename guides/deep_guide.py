"""What guides of deep models share: every point chooses its cluster by itself."""

import math
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.distributions.component_labels import ComponentLabels
from pyroclust.distributions.points import Points
from pyroclust.guides.base import AmortizedGuide
from pyroclust.nn import DenseEncoder
from pyroclust.nn.encoders.encoder import Encoder
from pyroclust.nn.modules import evaluating

# Logarithms of standard deviations stay finite.
_SMALLEST_SCALE = 1e-4


class DeepGuide(AmortizedGuide):
    """A guide from a point to the shares of its clusters, trained with its model on one collection of data.

    Subclasses write ``_features``, ``_shares`` and :meth:`loss_terms`. Posteriors take the trained networks
    as known; they, features and shares are those of evaluation mode, whatever mode the guide is in.

    Attributes:
        encoder: the first module of the features.
    """

    encoder: Any
    model: Any

    def points(self, data: Points) -> Tensor:
        points = super().points(data)
        self.model.observation.check(points)
        return points

    def features(self, data: Points) -> Tensor:
        """Return the features of points, ``(*batch, N, E)``."""
        with evaluating(self):
            return self._features(self.points(data))

    def log_shares(self, data: Points) -> Tensor:
        """Return log q of every cluster for every point, ``(*batch, N, K)``."""
        with evaluating(self):
            return self._shares(self._features(self.points(data)))

    @abstractmethod
    def _features(self, data: Tensor) -> Tensor:
        """Return the features of points that fit, ``(*batch, N, E)``."""

    @abstractmethod
    def _shares(self, features: Tensor) -> Tensor:
        """Return log q of every cluster given features, ``(*batch, N, K)``."""

    @abstractmethod
    def loss_terms(self, data: Tensor, known: Tensor) -> dict[str, Tensor]:
        """Return the terms of what a training minimises, by name.

        Shape:
            data: ``(*batch, N, *event_shape)``; known: ``(*batch, N)`` int64, negative where a label is
            unknown; output: ``(*batch)`` each.
        """

    def losses(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return what a training minimises, the sum of :meth:`loss_terms`, ``(*batch)``."""
        return torch.stack(list(self.loss_terms(data, assignments).values())).sum(0)

    def posterior(self, data: Points) -> ComponentLabels:
        """Return the law of the partition: points choose their clusters independently, the networks known."""
        return ComponentLabels(self.log_shares(data).double().log_softmax(-1))

    def _encode(self, data: Tensor) -> Tensor:
        """Run the encoder on data sets of any batch shape, ``(*batch, N, E)``."""
        place = data.dim() - self.event_dim
        flat = data.reshape(-1, *data.shape[place:])
        found: Tensor = self.encoder(flat)
        return found.view(*data.shape[: place + 1], found.shape[-1])


def scale_of(raw: Tensor, *, first: float) -> Tensor:
    """Return standard deviations that are ``first`` where a network says 0, and never quite 0."""
    return F.softplus(raw + math.log(math.expm1(first))) + _SMALLEST_SCALE


def encoder_for(model: Any, encoder: Encoder | None) -> Any:
    """Return the encoder of a guide: dense layers that fit the model by default."""
    found: Any = DenseEncoder(model.event_shape) if encoder is None else encoder
    if not isinstance(getattr(found, "dim", None), int) or not isinstance(found, nn.Module):
        raise ValueError(
            f"encoder is a {type(found).__name__}, expected a module with an attribute dim, the length of "
            "its vectors, as DenseEncoder or ImageEncoder"
        )
    return found
