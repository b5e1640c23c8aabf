"""A guide that embeds points and connects near ones: posteriors are perturbed spanning forests."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.distributions import PartitionPrior, PerturbedSpanningForest, standardised_similarity
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Model
from pyroclust.guides.base import AmortizedGuide
from pyroclust.nn import ImageEncoder, VectorEncoder
from pyroclust.nn.encoders import Encoder

# Of noise, for each data set of a training by ``fit``.
_DRAWS = 100


@register(AmortizedGuide)
class SpanningForestGuide(AmortizedGuide):
    r"""A guide whose clusters are the trees of the heaviest forest among embedded points, under noise.

    .. math::
        D_{uv} = -\lVert e_\phi(x_u) - e_\phi(x_v) \rVert^2, \qquad S = (D - \text{mean}) / \text{sd}, \qquad
        c = \text{components of the heaviest forest at } S + \epsilon Z

    with mean and sd of all pairs of a data set. Posteriors are
    :class:`~pyroclust.distributions.PerturbedSpanningForest`: draws, co-assignments and their gradients, no
    log-probabilities, and no Bayesian posterior of a model: how sure it is follows from the noise. It is
    trained on points of which some have labels, by :class:`~pyroclust.infer.PartialFenchelYoungLoss`, and
    learns an embedding in which classes without labels come apart too; or on simulations of a model. Forests
    are found on the CPU, O(N^2) a draw.

    Args:
        model: a :class:`~pyroclust.models.PartiallyLabelled`, or any generative model.
        embedding: a module ``(B, N, *event_shape) -> (B, N, E)``; :class:`~pyroclust.nn.VectorEncoder` or
            :class:`~pyroclust.nn.ImageEncoder` by default.
        num_clusters: how many clusters data sets have, those of fewer points as many as points; or a prior
            over partitions, for the law of their number; that of the model by default.
        noise_scale: :math:`\epsilon`, which may be set after training: the largest noise among many points is
            larger, and joins more of them by chance.

    Raises:
        ValueError: if the number of clusters is not given and the model has no prior, an argument is out of
            range, or there is no default embedding for points of that shape.

    Example:
        >>> from pyroclust.models import PartiallyLabelled
        >>> labels = torch.arange(90) % 4 - 1  # -1: unknown
        >>> guide = SpanningForestGuide(PartiallyLabelled(torch.randn(90, 2), labels), num_clusters=3)
        >>> guide.posterior(torch.randn(5, 20, 2)).co_assignment(num_draws=100).shape
        torch.Size([5, 20, 20])

    References:
        Stewart et al. (2023), Differentiable clustering with perturbed spanning forests.
        https://arxiv.org/abs/2305.16358
    """

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        embedding: Encoder | None = None,
        num_clusters: int | PartitionPrior | None = None,
        noise_scale: float = 1.0,
    ) -> None:
        super().__init__(model)
        given = self.model.partition_prior if num_clusters is None else num_clusters
        if given is None:
            raise ValueError(
                f"num_clusters is None, expected a number or a prior: model '{self.model.name}' has no prior "
                "of its partitions"
            )
        known = isinstance(given, PartitionPrior)
        self.num_clusters: Any = given if known else check_count("num_clusters", given)
        self._own_number = num_clusters is not None
        self.noise_scale = check_number("noise_scale", noise_scale, at_least=0)
        self.embedding: Any = _embedding_for(self.model) if embedding is None else embedding

    @property
    def why_no_constraints(self) -> str:
        return ""

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor but the model.

        Raises:
            ValueError: if the guide is under constraints, which belong to one data set.
        """
        if self.constraints is not None:
            raise ValueError(
                "guide is under constraints, which belong to one data set, expected one without: save "
                "guide.under(None)"
            )
        return {
            "embedding": self.embedding,
            "num_clusters": self.num_clusters if self._own_number else None,
            "noise_scale": self.noise_scale,
        }

    def embed(self, data: Points) -> Tensor:
        """Return the vectors of points, ``(*batch, N, E)``.

        Raises:
            ValueError: if the data do not fit, or the embedding returns something else.
        """
        points = self.points(data)
        shape = points.shape[: points.dim() - self.event_dim + 1]
        vectors = self.embedding(points.reshape(-1, *points.shape[-self.event_dim :]))
        if not isinstance(vectors, Tensor) or vectors.shape[:-1].numel() != shape.numel():
            found = tuple(vectors.shape) if isinstance(vectors, Tensor) else type(vectors).__name__
            raise ValueError(
                f"embedding returned {found}, expected vectors (B, N, E) for {tuple(shape)} points: it is "
                "called with data sets (B, N, ...)"
            )
        return vectors.reshape(*shape, vectors.shape[-1])

    def similarity(self, data: Points) -> Tensor:
        """Return standardised negative squared distances of the embedding, ``(*batch, N, N)``, on the CPU."""
        vectors = self.embed(data)
        return standardised_similarity(vectors if vectors.dtype == torch.float64 else vectors.float()).cpu()

    def posterior(self, data: Points) -> PerturbedSpanningForest:
        """Embed data sets once and return the law of the components of their forests.

        Under constraints fewer clusters are asked for where these leave fewer groups of points.
        """
        similarity = self.similarity(data)
        number, constraints = self.num_clusters, self.links
        if not isinstance(number, PartitionPrior):
            number = min(number, similarity.shape[-1])
            if constraints is not None:
                constraints = constraints.over(similarity.shape[-1])
                number = min(number, constraints.num_groups)
        return PerturbedSpanningForest(
            similarity, number, noise_scale=self.noise_scale, constraints=constraints
        )

    def losses(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return what a training minimises, ``(*batch)``; labels are negative where they are unknown."""
        return self.posterior(data).partial_losses(assignments, num_draws=_DRAWS)


def _embedding_for(model: Any) -> Any:
    shape = tuple(model.event_shape)
    if len(shape) == 1 and shape[0] > 0:
        return VectorEncoder(*shape, scale=model.typical_scale)
    if len(shape) == 2:
        return ImageEncoder(*shape, dim=16)
    raise ValueError(
        f"embedding is None, expected a module for points of shape {shape}: there is a default for vectors "
        "and for images"
    )
