"""Real points, all or some of them labelled, as generative models: draws from tables."""

import copy
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
import pyro
import torch
from numpy.typing import ArrayLike
from pyro.distributions import Delta
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.numbers import check_count, check_number
from pyroclust.distributions import PartitionPrior
from pyroclust.distributions.hyperparameters import check_known
from pyroclust.distributions.points import Points, as_points, check_finite, check_shape
from pyroclust.distributions.protocols import LawWithoutDensity, SimulatedModel, checked_shape
from pyroclust.nn.deep_parts import Deformation
from pyroclust.partitions import canonical, num_clusters
from pyroclust.partitions.raw_labels import as_class_labels

_ROUNDS = 1000


@dataclass(frozen=True)
class LabelledRows:
    """Tables as one padded array of classes, T tables of at most M rows and C classes."""

    classes: Tensor
    sizes: Tensor
    class_sizes: Tensor

    @classmethod
    def of(cls, labels: Sequence[Tensor]) -> "LabelledRows":
        """Pad tables, each with classes numbered 0, 1, ..."""
        num_classes = max(int(one.max()) for one in labels) + 1
        rows = torch.nn.utils.rnn.pad_sequence(list(labels), batch_first=True, padding_value=num_classes)
        counts = torch.stack([one.bincount(minlength=num_classes) for one in labels])
        return cls(rows, torch.tensor([len(one) for one in labels]), counts)


class _LabelledDraws(LawWithoutDensity):
    """Rows of one table, drawn for every data set; simulation only.

    Values are ``row + M table``: places in the tables laid end to end with their padding.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, rows: LabelledRows, num_points: int) -> None:
        self.rows, self.num_points = rows, num_points
        super().__init__(Size(), Size((num_points,)), validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = copy.copy(self)
        LawWithoutDensity.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        return new

    def _draw(self, shape: Size) -> Tensor:
        return self._places(Size(shape[:-1]).numel()).view(shape)

    @abstractmethod
    def _places(self, num_datasets: int) -> Tensor: ...


class PointsAtRandom(_LabelledDraws):
    r"""A table, uniformly among those with N rows or more, then N of its rows without replacement."""

    def __init__(self, rows: LabelledRows, num_points: int) -> None:
        if int(rows.sizes.max()) < num_points:
            raise ValueError(
                f"num_points is {num_points}, expected at most {int(rows.sizes.max())}, the size of the "
                "largest table: ask for fewer points or add tables"
            )
        super().__init__(rows, num_points)

    def _places(self, num_datasets: int) -> Tensor:
        large = (self.rows.sizes >= self.num_points).nonzero()[:, 0]
        table = large[torch.randint(len(large), (num_datasets,))]
        width = self.rows.classes.shape[1]
        key = torch.rand(num_datasets, width, dtype=torch.float64)
        key = torch.where(torch.arange(width) < self.rows.sizes[table, None], key, torch.inf)
        return key.argsort(-1)[:, : self.num_points] + width * table.unsqueeze(-1)


class ClassesByPrior(_LabelledDraws):
    r"""A partition from a prior, a table, a class for every cluster, then points of these classes.

    .. math:: p(c) \propto \text{prior}(c) \, P(\text{all clusters of } c \text{ find room})

    Where a table has fewer classes than there are clusters, or a class fewer rows than its cluster,
    partition, table and classes are drawn again, together. Cost O(M log M) a data set and round.
    """

    def __init__(self, rows: LabelledRows, num_points: int, *, prior: PartitionPrior) -> None:
        self.prior = prior
        super().__init__(rows, num_points)

    def _places(self, num_datasets: int) -> Tensor:
        """Draw until every data set has room."""
        found = torch.zeros(num_datasets, self.num_points, dtype=torch.int64)
        left = torch.arange(num_datasets)
        for _ in range(_ROUNDS):
            places, fits = self._attempt(len(left))
            found[left[fits]] = places[fits]
            left = left[~fits]
            if not len(left):
                return found
        raise ValueError(
            f"prior gives partitions of {self.num_points} points that fit no table (at most "
            f"{self.rows.class_sizes.shape[1]} classes of at most {int(self.rows.class_sizes.max())} rows), "
            "expected room for most: ask for fewer points, fewer clusters, or add tables"
        )

    def _attempt(self, num_datasets: int) -> tuple[Tensor, Tensor]:
        """Draw everything once; say for which data sets it fits."""
        labels = self.prior.partition(self.num_points).expand(Size((num_datasets,))).sample()
        table = torch.randint(len(self.rows.sizes), (num_datasets,))
        sizes, width = self.rows.class_sizes[table], self.rows.classes.shape[1]
        key = torch.rand(sizes.shape, dtype=torch.float64)
        shuffled = torch.where(sizes > 0, key, torch.inf).argsort(-1)
        clusters = int(num_clusters(labels).max())
        counts = torch.nn.functional.one_hot(labels, clusters).sum(1)
        room = torch.nn.functional.pad(sizes.gather(-1, shuffled), (0, max(0, clusters - sizes.shape[1])))
        fits = (counts <= room[:, :clusters]).all(-1)
        # Rows of a class lie together, in random order; the r-th point of a cluster takes the r-th of them.
        rows = self.rows.classes[table]
        order = (rows + torch.rand(rows.shape, dtype=torch.float64)).argsort(-1)
        first = sizes.cumsum(-1) - sizes
        chosen = shuffled.gather(-1, labels.clamp(max=sizes.shape[1] - 1))
        place = (first.gather(-1, chosen) + _rank(labels)).clamp(max=width - 1)
        return order.gather(-1, place) + width * table.unsqueeze(-1), fits


def _rank(labels: Tensor) -> Tensor:
    """Count the points of the same cluster before each point, ``(B, N)``, by one sort."""
    ranked, order = labels.sort(dim=-1, stable=True)
    position = torch.arange(labels.shape[-1]).expand_as(labels)
    starts = torch.ones_like(ranked, dtype=torch.bool)
    starts[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    first = torch.where(starts, position, 0).cummax(-1).values
    return torch.empty_like(labels).scatter_(-1, order, position - first)


# Points are kept in single precision, and their squares are summed in double.
_LARGEST = 1e38


class LabelledTables(SimulatedModel):
    r"""Data sets drawn from labelled tables: a model to simulate from, for training guides on real data.

    Without a prior, a table is chosen uniformly among those with at least N points, and N of its points
    without replacement; their classes are the partition:

    .. math:: t \sim U, \qquad i_1, \ldots, i_N \sim t, \qquad c = \text{canonical}(y_{i_1}, \ldots, y_{i_N})

    With a prior, as the Neural Clustering Process papers draw from labelled images, the partition comes
    first, every cluster gets a class of its own, and its points come from that class without replacement;
    what does not fit is drawn again. Sites: ``"members"`` (which rows), ``"assignments"`` and ``"data"``.
    There is no ``log_joint``: judge a guide by its log-probability of the classes of held-out tables. Cost
    O(M log M) a data set, tables of M rows.

    Args:
        tables: pairs of points ``(n, D)`` and class labels ``(n,)``, numbers or text, all with the same D.
        prior: law of the partitions, its hyperparameters known; None for the proportions of the tables.
        standardise: whether to bring every column of every table to mean 0 and variance 1; guides should see
            standardised data later.
        name: what reports call the model.

    Attributes:
        typical_scale: root mean square distance, per column, of a point to the mean of its class.

    Raises:
        ValueError: if there is no table, one is not a finite ``(n, D)`` with one label a row and more than
            one row, reaches beyond 1e38, or is constant in a column that is to be standardised, or the prior
            is random.

    Example:
        >>> from pyroclust.infer import simulate
        >>> from sklearn.datasets import load_iris
        >>> rows, classes = simulate(LabelledTables([load_iris(return_X_y=True)]), torch.empty(3, 20, 4))
        >>> rows.shape, classes.shape
        (torch.Size([3, 20, 4]), torch.Size([3, 20]))

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """

    def __init__(
        self,
        tables: Sequence[tuple[Points, ArrayLike]],
        *,
        prior: PartitionPrior | None = None,
        standardise: bool = True,
        name: str = "labelled_tables",
    ) -> None:
        check_pairs("tables", tables, "points and labels")
        if prior is not None:
            check_known("prior", prior)
        pairs = [_checked(position, *table) for position, table in enumerate(tables)]
        dims = sorted({points.shape[1] for points, _ in pairs})
        if len(dims) > 1:
            raise ValueError(
                f"tables have {', '.join(map(str, dims))} columns, expected the same number in all: "
                "choose common columns"
            )
        if standardise:
            pairs = [(_standardised(position, x), y) for position, (x, y) in enumerate(pairs)]
        self.prior, self.name = prior, name
        self._rows = LabelledRows.of([labels for _, labels in pairs])
        padded = torch.nn.utils.rnn.pad_sequence([points for points, _ in pairs], batch_first=True)
        self._points = padded.flatten(0, 1).to(torch.get_default_dtype())
        # Number of columns.
        self.dim, self.typical_scale = dims[0], _within_class_scale(pairs)
        self.event_shape = (self.dim,)

    def __call__(self, data: Tensor) -> Tensor:
        check_shape(data, self.event_shape)
        points = data.dim() - self.event_dim
        with pyro.plate_stack("datasets", data.shape[:points]):
            members = pyro.sample("members", self._law(data.shape[points]))
            labels = canonical(self._rows.classes.flatten()[members]).to(data.device)
            pyro.sample("assignments", Delta(labels, event_dim=1))
            rows = self._points[members].to(data.device).unflatten(-1, self.event_shape)
            return pyro.sample("data", Delta(rows, event_dim=self.event_dim), obs=data)

    def _law(self, num_points: int) -> Any:
        if self.prior is None:
            return PointsAtRandom(self._rows, num_points)
        return ClassesByPrior(self._rows, num_points, prior=self.prior)


def check_pairs(name: str, pairs: object, what: str) -> None:
    """Refuse what is no list of pairs."""
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(one, list | tuple) and len(one) == 2 for one in pairs
    ):
        raise ValueError(f"{name} is of type {type(pairs).__name__}, expected a list of pairs of {what}")
    if not pairs:
        raise ValueError(f"{name} is empty, expected at least one pair of {what}")


def _checked(position: int, points: Points, labels: ArrayLike) -> tuple[Tensor, Tensor]:
    try:
        names = as_class_labels("labels", labels)
        data = as_points(points, like=torch.empty(0, dtype=torch.float64)).detach().cpu().double()
        check_finite(data)
    except ValueError as error:
        raise ValueError(f"table {position}: {error}") from None
    if data.dim() != 2 or len(data) < 2 or not data.shape[1] or names.shape != data.shape[:1]:
        raise ValueError(
            f"table {position} has points of shape {tuple(data.shape)} and labels of shape {names.shape}, "
            "expected (n, D) and (n,) with n of at least 2 and D of at least 1"
        )
    if (largest := float(data.abs().max())) > _LARGEST:
        raise ValueError(
            f"table {position} reaches {largest:.3g}, expected numbers of at most {_LARGEST:g}: rescale it"
        )
    try:
        return data, torch.from_numpy(np.unique(names, return_inverse=True)[1].ravel())
    except TypeError:
        raise ValueError(
            f"table {position} has labels of several types, expected numbers alone or text alone"
        ) from None


def _standardised(position: int, points: Tensor) -> Tensor:
    centre, spread = points.mean(0), points.std(0, correction=0)
    constant = (spread <= 1e-12 * centre.abs()).nonzero()[:, 0].tolist()
    if constant:
        raise ValueError(
            f"table {position} is constant in column {constant[0]}, expected columns that vary: "
            "leave it out, or pass standardise=False"
        )
    return (points - centre) / spread


def _within_class_scale(pairs: Sequence[tuple[Tensor, Tensor]]) -> float:
    """Return the root mean square of what is left of all points when the means of classes are taken off."""
    squares = [(points - _class_means(points, labels)).square().mean(-1) for points, labels in pairs]
    return max(torch.cat(squares).mean().sqrt().item(), 1e-3)


def _class_means(points: Tensor, labels: Tensor) -> Tensor:
    member = torch.nn.functional.one_hot(labels).to(points)
    return member @ (member.T @ points / member.sum(0).unsqueeze(-1))


class AbsentTables(SimulatedModel):
    """The model of a guide that was trained on labelled tables, after loading: its size, no tables."""

    name = "labelled_tables"

    def __init__(
        self, dim: int, *, typical_scale: float, event_shape: Sequence[int] | Tensor | None = None
    ) -> None:
        self.typical_scale = check_number("typical_scale", typical_scale, above=0)
        dim = check_count("dim", dim)
        self.event_shape = (dim,) if event_shape is None else checked_shape("event_shape", event_shape)
        if math.prod(self.event_shape) != dim:
            raise ValueError(f"event_shape is {self.event_shape}, expected a shape of {dim} numbers, the dim")

    def __call__(self, data: Tensor) -> NoReturn:
        raise ValueError(
            "model stands for labelled tables, which a saved guide does not keep, expected the tables: "
            "build LabelledTables from them"
        )


class PartiallyLabelled(SimulatedModel):
    r"""Batches of points, some of whose labels are known: what forests and deep guides are trained on.

    .. math::
        i_1, \ldots, i_m \sim \text{rows with a label}, \qquad i_{m+1}, \ldots, i_N \sim \text{rows without},
        \qquad x_j = X_{i_j}, \quad y_j = Y_{i_j}

    without replacement and in random order, m being the share of N that has labels; where one kind of row
    does not suffice, there are more of the other. Sites: ``"members"`` (which rows), ``"known"`` (their
    labels, negative where there is none) and ``"data"``, and no ``"assignments"``: guides are trained by
    :class:`~pyroclust.infer.PartialFenchelYoungLoss` or a loss of their own. Cost O(n log n) a batch.

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
        self.typical_scale, self.event_shape = self._scale(), tuple(data.shape[1:])

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
            known = ~known
        classes = self.labels[known].unique(return_inverse=True)[1]
        return _within_class_scale([(self.points[known].flatten(1).double(), classes)])
