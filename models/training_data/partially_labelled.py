"""Real points of which some, or none, have a label, as a Pyro program that draws batches of them."""

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.counts import check_number
from pyroclust.distributions.points import Points, as_points, check_finite, check_shape
from pyroclust.distributions.programs import SimulatedModel
from pyroclust.models.training_data.labelled_tables import class_means
from pyroclust.nn.deep.views import Deformation


class PartiallyLabelled(SimulatedModel):
    r"""Batches of points, some of whose labels are known: what forests and deep guides are trained on.

    .. math::
        i_1, \ldots, i_m \sim \text{rows with a label}, \qquad i_{m+1}, \ldots, i_N \sim \text{rows without},
        \qquad x_j = X_{i_j}, \quad y_j = Y_{i_j}

    without replacement and in random order, m being the share of N that has labels. Where one kind of row
    does not suffice, there are more of the other. The sites are ``"members"`` (which rows), ``"known"``
    (their labels, negative where there is none) and ``"data"``. There is no site ``"assignments"``: the
    partition of points without labels is not known, so that guides are trained by
    :class:`~pyroclust.infer.PartialFenchelYoungLoss` or a loss of their own, and not by InclusiveKL. Only the
    shape of the argument counts under ``poutine.uncondition``. A saved guide keeps shape and scale, not the
    points. Cost O(n log n) a batch.

    Args:
        points: vectors ``(n, D)`` or images ``(n, H, W)``.
        labels: ``(n,)`` integers, negative where the label is unknown; none is known by default.
        share: of the points of a batch, those with a label.
        deformation: what changes every point that is drawn, as :class:`~pyroclust.nn.ImageDeformation`;
            points stay as they are by default.
        name: what reports call the model.

    Attributes:
        typical_scale: root mean square distance, per number, of a labelled point to the mean of its label;
            without labels that of all points to their mean.

    Shape:
        data: ``(*batch, N, *event_shape)``; known: ``(*batch, N)`` int64.

    Raises:
        ValueError: if the points are not finite, or there is not one label a point.

    Example:
        >>> from pyro import poutine
        >>> model = PartiallyLabelled(torch.randn(100, 2), torch.arange(100) % 5 - 1)
        >>> trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(3, 64, 2))
        >>> (trace.nodes["known"]["value"] >= 0).sum(-1)  # more than half: 20 points have no label
        tensor([44, 44, 44])

    References:
        Stewart et al. (2023), Differentiable clustering with perturbed spanning forests, section 5.
        https://arxiv.org/abs/2305.16358
    """

    def __init__(
        self,
        points: Points,
        labels: Points | None = None,
        *,
        share: float = 0.5,
        deformation: Deformation | None = None,
        name: str = "partially_labelled",
    ) -> None:
        data = as_points(points).detach().cpu()
        if data.dim() < 2 or not data.numel():
            raise ValueError(f"points has shape {tuple(data.shape)}, expected (n, D) or (n, H, W) and some")
        check_finite(data)
        none = torch.full((len(data),), -1)
        self.labels = none if labels is None else torch.as_tensor(labels).detach().cpu()
        if self.labels.shape != data.shape[:1] or self.labels.is_floating_point():
            raise ValueError(
                f"labels has shape {tuple(self.labels.shape)} and type {self.labels.dtype}, expected "
                f"({len(data)},) integers, one a point and negative where it is unknown"
            )
        self.points, self.labels = data.to(torch.get_default_dtype()), self.labels.long()
        self.deformation = deformation
        self.share, self.name = check_number("share", share, at_least=0, at_most=1), name
        self.typical_scale = self._scale()

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.points.shape[1:])

    def __call__(self, data: Tensor, known: Tensor | None = None) -> Tensor:
        check_shape(data, self.event_shape)
        place = data.dim() - self.event_dim
        with pyro.plate_stack("datasets", data.shape[:place]):
            rows = self._drawn(data.shape[:place].numel(), data.shape[place]).view(data.shape[: place + 1])
            members = pyro.sample("members", Delta(rows, event_dim=1))
            labels = self.labels[members].to(data.device)
            pyro.sample("known", Delta(labels, event_dim=1), obs=known)
            chosen = self.points[members].to(data.device)
            chosen = chosen if self.deformation is None else self.deformation(chosen)
            return pyro.sample("data", Delta(chosen, event_dim=self.event_dim), obs=data)

    def _drawn(self, batches: int, size: int) -> Tensor:
        """Draw rows of every batch, ``(B, N)``."""
        total = len(self.labels)
        if size > total:
            raise ValueError(
                f"data has batches of {size} points, expected at most {total}, all there are: ask for fewer"
            )
        with_label = self.labels >= 0
        there = int(with_label.sum())
        wanted = min(max(round(self.share * size), size - (total - there)), there)
        key = torch.rand(batches, total, dtype=torch.float64)
        # Labelled rows come first of one order, and last of the other.
        first = (key + 2.0 * ~with_label).argsort(-1)[:, :wanted]
        rest = (key + 2.0 * with_label).argsort(-1)[:, : size - wanted]
        rows = torch.cat([first, rest], -1)
        return rows.gather(-1, torch.rand(rows.shape).argsort(-1))

    def _scale(self) -> float:
        known = self.labels >= 0
        if not bool(known.any()):
            return max((self.points - self.points.mean(0)).double().square().mean().sqrt().item(), 1e-3)
        flat, classes = (
            self.points[known].flatten(1).double(),
            self.labels[known].unique(return_inverse=True)[1],
        )
        return max((flat - class_means(flat, classes)).square().mean().sqrt().item(), 1e-3)
