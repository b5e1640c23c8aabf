"""Deep clustering with a few labels: points that a network makes of features and a class."""

import math
from collections.abc import Sequence

from pyroclust.core.registry import register
from pyroclust.distributions import NormalObservation
from pyroclust.distributions.programs import checked_shape
from pyroclust.distributions.protocols import Model
from pyroclust.models.deep.deep_mixture import DeepMixture
from pyroclust.nn.deep.decoders import Decoder

__all__ = ["SemiSupervisedClustering"]


@register(Model, name="semi_supervised_clustering")
class SemiSupervisedClustering(DeepMixture):
    r"""Points that a decoder makes of features and one of K classes, of which some points have a label.

    .. math::
        c_i \sim \text{Categorical}(1/K), \qquad f_i \sim N(0, I), \qquad
        x_i \sim N\big(o_\theta(f_i, e_{c_i}), \tfrac{D}{2} I\big)

    A :class:`~pyroclust.models.DeepMixture` whose styles are many features. The variance makes the loss of a
    point its mean squared error per number, on the scale of the other terms of
    :class:`~pyroclust.guides.SemiSupervisedGuide`; simulated points are too noisy to look like data. The law
    of the features is not trained, and is there for simulations alone.

    Args:
        event_shape: shape of one point, of D numbers.
        num_classes: K, as many as there are labels.
        feature_dim: how many features there are.
        decoder: a module ``(R, feature_dim + K) -> (R, *event_shape)``; dense layers by default.

    Raises:
        ValueError: as :class:`~pyroclust.models.DeepMixture`.

    Example:
        >>> SemiSupervisedClustering((8, 8), num_classes=10)
        SemiSupervisedClustering(semi_supervised_clustering, points of 8 x 8 numbers, simulation only)

    References:
        Arias Figueroa and Ramirez Rivera (2017), Learning to cluster with auxiliary tasks: a semi-supervised
        approach. SIBGRAPI. https://doi.org/10.1109/SIBGRAPI.2017.29
    """

    def __init__(
        self,
        event_shape: Sequence[int],
        *,
        num_classes: int,
        feature_dim: int = 150,
        decoder: Decoder | None = None,
    ) -> None:
        shape = checked_shape("event_shape", event_shape)
        super().__init__(
            shape,
            num_clusters=num_classes,
            style_dim=feature_dim,
            decoder=decoder,
            observation=NormalObservation(math.sqrt(math.prod(shape) / 2)),
        )
        self.name = "semi_supervised_clustering"
        self.num_classes, self.feature_dim = self.num_clusters, self.style_dim
