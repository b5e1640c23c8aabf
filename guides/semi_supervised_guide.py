"""The guide of deep clustering with a few labels: features, classes, and what counts as a point's class."""

import math
from collections.abc import Callable
from typing import Any

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor, nn

from pyroclust.core.numbers import check_number
from pyroclust.core.registry import register
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Model
from pyroclust.guides.base import AmortizedGuide
from pyroclust.guides.deep_mixture_guide import DeepGuide, encoder_for
from pyroclust.nn import GumbelSoftmax, Views
from pyroclust.nn.deep_parts import NearestSeed, SeedRule
from pyroclust.nn.encoders import Encoder


@register(AmortizedGuide)
class SemiSupervisedGuide(DeepGuide):
    r"""The guide of :class:`~pyroclust.models.SemiSupervisedClustering`, trained where some have labels.

    .. math::
        L = L_R + L_C + w_A L_A + L_F, \qquad
        L_R = \frac{1}{N D} \sum_{id} (x_{id} - \tilde x_{id})^2, \qquad
        L_C = \frac{1}{N \log K} \sum_{ik} q_{ik} \log (K q_{ik})

    .. math::
        L_A = \frac{1}{2N} \sum_i \big[\tanh(-\log q_{i a_i}) + \tanh(\log \max_{k \ne a_i} q_{ik}) + 1\big]

    .. math::
        L_F = \alpha \, \text{mean}_{\text{labelled}} D_i + (1 - \alpha) \, \text{mean}_{\text{others}} D_i,
        \qquad D_i = \frac{1}{\sqrt 2 |S_{a_i}|} \sum_{j \in S_{a_i}} \lVert f_i - f_j \rVert

    with features f and shares :math:`q(c \mid f)` of relaxed codes, code k being class k. A point without
    label has the class :math:`a_i` that ``seed_rule`` says; :math:`S_k` are the labelled points of class k in
    the batch, of which there have to be some, as in those of :class:`~pyroclust.models.PartiallyLabelled`.

    :func:`pyroclust.infer.fit` minimises N L and logs each term. In stock Pyro it is, up to a constant,
    ``SVI(model.reconstruction, guide, optim, Trace_ELBO())`` with steps ``svi.step(data, known)``.

    Args:
        model: a :class:`~pyroclust.models.SemiSupervisedClustering`.
        encoder: before the layer of the features; dense layers by default.
        relaxation: temperature of the codes; 1 by default.
        seed_rule: which class a point without label counts as; that of its nearest labelled point by default.
        assignment_weight: :math:`w_A`.
        labelled_share: :math:`\alpha`.
        views: terms of deformed copies, :class:`~pyroclust.nn.Views`; none by default, as published.

    Raises:
        ValueError: if the model is none for a few labels, or a number is out of range.

    Example:
        >>> from pyroclust.models import SemiSupervisedClustering
        >>> guide = SemiSupervisedGuide(SemiSupervisedClustering((2,), num_classes=2))
        >>> guide.log_shares(torch.randn(100, 2)).exp().shape
        torch.Size([100, 2])

    References:
        Arias Figueroa and Ramirez Rivera (2017), Learning to cluster with auxiliary tasks.
        https://doi.org/10.1109/SIBGRAPI.2017.29
    """

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        encoder: Encoder | None = None,
        relaxation: GumbelSoftmax | None = None,
        seed_rule: SeedRule | None = None,
        assignment_weight: float = 10.0,
        labelled_share: float = 0.6,
        views: Views | None = None,
    ) -> None:
        super().__init__(model)
        if not hasattr(self.model, "feature_dim"):
            raise ValueError(
                f"model is '{self.model.name}', expected a pyroclust.models.SemiSupervisedClustering"
            )
        self.encoder = encoder_for(self.model, encoder)
        self.relaxation = GumbelSoftmax() if relaxation is None else relaxation
        self.seed_rule = NearestSeed() if seed_rule is None else seed_rule
        self.assignment_weight = check_number("assignment_weight", assignment_weight, at_least=0)
        self.labelled_share = check_number("labelled_share", labelled_share, at_least=0, at_most=1)
        self.views = views
        self.feature_layer = nn.Linear(self.encoder.dim, self.model.feature_dim)
        self.code_head = nn.Linear(self.model.feature_dim, self.model.num_classes)

    def loss_terms(self, data: Tensor, known: Tensor) -> dict[str, Tensor]:
        model = self.model
        data = self.points(data)
        features = self._features(data)
        log_shares = self._shares(features)
        expected = self.relaxation.expect(log_shares, lambda code: model.log_likelihood(data, features, code))
        scale, size = model.observation.scale, math.prod(self.model.event_shape)
        # Without the constant of the normal density: the mean squared error.
        constant = -size * (math.log(scale) + 0.5 * math.log(2 * math.pi))
        return {
            "reconstruction": (constant - expected).sum(-1),
            **self._terms(data, features, log_shares, known),
        }

    def forward(self, data: Points, known: Tensor | None = None) -> Tensor:
        """Sample the sites ``"style"``, the features, and ``"code"``; the other terms are factors.

        Raises:
            ValueError: if there are no labels.
        """
        points = self.points(data)
        if known is None:
            raise ValueError("known is None, expected labels: call svi.step(data, known)")
        features = self._features(points)
        log_shares = self._shares(features)
        terms = self._terms(points, features, log_shares, known)
        with pyro.plate_stack("datasets", log_shares.shape[:-2], rightmost_dim=-2):
            for name, one in terms.items():
                pyro.factor(f"{name}_term", one.unsqueeze(-1), has_rsample=True)
            with pyro.plate("points", log_shares.shape[-2], dim=-1):
                pyro.sample("style", Delta(features, event_dim=1).mask(False))
                return self.relaxation.sample("code", log_shares)

    def _terms(self, data: Tensor, features: Tensor, log_shares: Tensor, known: Tensor) -> dict[str, Tensor]:
        """Return all terms but the reconstruction, ``(*batch)`` each."""
        model = self.model
        points, classes = log_shares.shape[-2:]
        if known.shape != log_shares.shape[:-1] or not bool((known >= 0).any(-1).all()):
            raise ValueError(
                f"known has shape {tuple(known.shape)} and {int((known >= 0).sum())} labels, expected "
                f"{tuple(log_shares.shape[:-1])} and some in every data set: raise the share of labels"
            )
        if int(known.max()) >= classes:
            raise ValueError(f"known has the label {int(known.max())}, expected labels 0 to {classes - 1}")
        code = (log_shares.exp() * (log_shares - model.log_weights)).sum((-1, -2)) / math.log(classes)
        assigned = self.seed_rule.classes(features, known)
        chosen = log_shares.gather(-1, assigned.unsqueeze(-1)).squeeze(-1)
        others = log_shares.scatter(-1, assigned.unsqueeze(-1), -torch.inf).amax(-1)
        assignment = 0.5 * (torch.tanh(-chosen) + torch.tanh(others) + 1)
        return {
            "code": code,
            "assignment": self.assignment_weight * assignment.sum(-1),
            "feature": points * self._feature_term(features, assigned, known >= 0),
            **self._of_views(data, log_shares),
        }

    def _feature_term(self, features: Tensor, assigned: Tensor, labelled: Tensor) -> Tensor:
        """Return the mean distance to the labelled points of a point's class, ``(*batch)``."""
        far = torch.cdist(features, features) / math.sqrt(2)
        same = (assigned.unsqueeze(-1) == assigned.unsqueeze(-2)) & labelled.unsqueeze(-2)
        distance = (far * same).sum(-1) / same.sum(-1).clamp(min=1)
        means = [(distance * kind).sum(-1) / kind.sum(-1).clamp(min=1) for kind in (labelled, ~labelled)]
        return self.labelled_share * means[0] + (1 - self.labelled_share) * means[1]

    def _features(self, data: Tensor) -> Tensor:
        found: Tensor = self.feature_layer(self._encode(data))
        return found
