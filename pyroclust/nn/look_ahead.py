"""Looking ahead: Gaussian-kernel counts and mean shifts of the points still to come, around a place."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import types
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.pointers import Address, ViewType, address_of, caller
from pyroclust.nn.compiled.filter import in_threads, threads_for
from pyroclust.nn.compiled.lanes import raise_floats

# Points at once: their offsets and weights take 3 kB in two dimensions.
_BLOCK = 256
# Fewer kernels than this are not worth a thread.
_KERNELS_A_THREAD = 1 << 17
_ROW, _TABLE = ViewType(types.float32, 1), ViewType(types.float32, 2)


class Look(NamedTuple):
    """Points, kernels and scratch space, float32 unless another is said."""

    add: int  # address of the function that adds up kernels
    points: np.ndarray  # (D, M)
    precision: np.ndarray  # (H,), of the kernels
    columns: np.ndarray  # (2, C) int64, those of the second moments
    offset: np.ndarray  # (D, 256)
    squared: np.ndarray  # (256,)
    weight: np.ndarray  # (256,)
    powers: np.ndarray  # (256,) int32
    as_floats: np.ndarray  # the same memory as float32

    @classmethod
    def of(cls, points: np.ndarray, precision: np.ndarray, columns: np.ndarray) -> "Look":
        """Make scratch space for points, ``(M, D)``."""
        powers = np.zeros(_BLOCK, np.int32)
        squared, weight = np.zeros((2, _BLOCK), np.float32)
        offset = np.zeros((points.shape[1], _BLOCK), np.float32)
        turned = np.ascontiguousarray(points.T)
        found = cls(0, turned, precision, columns, offset, squared, weight, powers, powers.view(np.float32))
        kinds = (Address(found).type, types.int64, types.int64, _ROW, _TABLE, _TABLE)
        return found._replace(add=address_of(_add_kernels, *kinds))


_call_add = caller(types.void(types.voidptr, types.int64, types.int64, _ROW, _TABLE, _TABLE))


@inner
def add_kernels(look: Any, first: int, end: int, place: Any, whiten: Any, sums: Any) -> None:
    """Add what kernels around a place count of points from ``first`` to ``end``, to ``(H, 1 + D + C)``."""
    _call_add(look.add, (look, first, end, place, whiten, sums))


@inner
def _add_sums(look: Any, count: int, sums: Any) -> None:
    weight, dim = look.weight, len(look.offset)
    total = np.float32(0.0)
    for j in range(count):
        total += weight[j]
    sums[0] += total
    for d in range(dim):
        offset = look.offset[d]
        total = np.float32(0.0)
        for j in range(count):
            total += weight[j] * offset[j]
        sums[1 + d] += total
    for k in range(look.columns.shape[1]):
        left, right = look.offset[look.columns[0, k]], look.offset[look.columns[1, k]]
        total = np.float32(0.0)
        for j in range(count):
            total += weight[j] * (left[j] * right[j])
        sums[1 + dim + k] += total


@inner
def _add_kernels(look: Any, first: int, end: int, place: Any, whiten: Any, sums: Any) -> None:
    dim = len(look.points)
    squared, weight = look.squared, look.weight
    for start in range(first, end, _BLOCK):
        here = min(_BLOCK, end - start)
        # Whole vectors: what is left over of the last has no weight.
        count = (here + 15) // 16 * 16
        for j in range(count):
            squared[j] = 0.0
        for d in range(dim):
            offset = look.offset[d]
            for j in range(count):
                offset[j] = 0.0
            for e in range(dim):
                factor, middle, points = whiten[d, e], place[e], look.points[e]
                for j in range(here):
                    offset[j] += factor * (points[start + j] - middle)
            for j in range(here):
                squared[j] += offset[j] * offset[j]
        for h in range(len(look.precision)):
            half = np.float32(-0.5) * look.precision[h]
            for j in range(count):
                weight[j] = max(half * squared[j], np.float32(_LOWEST))
            raise_floats(weight, look.powers, look.as_floats, count)
            for j in range(here, count):
                weight[j] = 0.0
            _add_sums(look, count, sums[h])


class _Places(NamedTuple):
    places: np.ndarray
    whiten: np.ndarray
    sums: np.ndarray


@compiled(allocates=False)
def _sum_kernels(look: Any, asked: Any, begin: int, end: int) -> None:
    for row in range(begin, end):
        add_kernels(look, 0, look.points.shape[1], asked.places[row], asked.whiten[row], asked.sums[row])


def kernel_sums(
    points: np.ndarray, places: np.ndarray, whiten: np.ndarray, *, precision: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    r"""Return what kernels of several bandwidths count around places, in threads, ``(R, H, 1 + D + C)``.

    .. math:: \sum_j w_{hj} \, (1, \; y_j, \; y_j^{(a)} y_j^{(b)}), \qquad y_j = W (x_j - q), \qquad
        w_{hj} = \exp(-p_h |y_j|^2 / 2)

    The points x ``(M, D)`` are the same for all places q ``(R, D)``, each with a matrix W ``(R, D, D)``;
    kernels have the precisions p ``(H,)``, and columns a and b ``(2, C)``. About 1 ns a kernel in two
    dimensions.
    """
    number, dim = points.shape
    sums = np.zeros((len(places), len(precision), 1 + dim + columns.shape[1]), np.float32)
    asked = Address(_Places(np.ascontiguousarray(places), np.ascontiguousarray(whiten), sums))
    threads = threads_for(len(places) * number * len(precision), _KERNELS_A_THREAD, max(1, len(places)))
    looks = [Address(Look.of(points, precision, columns)) for _ in range(threads)]
    in_threads(lambda look, begin, end: _sum_kernels(look, asked, begin, end), looks, len(places))
    return sums


_LOWEST = -80.0


def gaussian_kernel(squared: Tensor) -> Tensor:
    """Return exp(-squared / 2), never below 1.8e-35: below, processors take ten to fifty times longer."""
    return (-0.5 * squared).clamp(min=_LOWEST).exp()


_PAIRS_AT_ONCE = 1 << 20
_REFERENCES = 1024


class KernelSummary(nn.Module):
    r"""Gaussian-kernel counts and mean shifts of points around a place, at several learned bandwidths.

    .. math:: s_h = \sum_j \exp(-|y_j|^2 / 2h^2), \qquad m_h = \frac{\sum_j e^{-|y_j|^2/2h^2} \, y_j}{1 + s_h}

    for points at the offsets :math:`y_j`. Features: log1p(s_h), m_h / h. Cost O(T H D) a place.
    """

    def __init__(self, dim: int, bandwidths: Sequence[float]) -> None:
        super().__init__()
        self.dim = dim
        self.log_bandwidths = nn.Parameter(torch.tensor(tuple(bandwidths)).log())

    @property
    def num_features(self) -> int:
        """Number of features a place."""
        return len(self.log_bandwidths) * (1 + self.dim)

    def forward(self, offsets: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        bandwidths = self.log_bandwidths.exp()
        squared = offsets.square().sum(-1, keepdim=True)
        weight = gaussian_kernel(squared / bandwidths.square()) * mask.unsqueeze(-1)
        count = weight.sum(1)
        shift = (weight.mT @ offsets) / (1 + count).unsqueeze(-1)
        scaled = shift / bandwidths.unsqueeze(-1)
        return torch.cat([count.log1p(), scaled.flatten(1)], -1), shift[:, min(1, len(bandwidths) - 1)]

    def around_points(self, positions: Tensor) -> Tensor:
        """Return the features of every point of a data set among the others, ``(B, N, H (1 + D))``."""
        num_points = positions.shape[1]
        stride = -(-num_points // _REFERENCES)
        references = positions[:, ::stride]
        bandwidths = self.log_bandwidths.exp()
        block = max(1, _PAIRS_AT_ONCE // (len(positions) * references.shape[1]))
        multiplicity = num_points / references.shape[1]
        if block >= num_points:
            return _among(positions, references, bandwidths, multiplicity)
        # Gradients would keep every pair: blocks are computed again in the backward pass instead.
        parts = [
            checkpoint(_among, part, references, bandwidths, multiplicity, use_reentrant=False)
            for part in positions.split(block, 1)
        ]
        return torch.cat(parts, 1)


def _among(places: Tensor, references: Tensor, bandwidths: Tensor, multiplicity: float) -> Tensor:
    squared = torch.cdist(places, references, compute_mode="donot_use_mm_for_euclid_dist").square()
    weight = gaussian_kernel(squared.unsqueeze(1) / bandwidths.square().view(-1, 1, 1))
    count = weight.sum(-1, keepdim=True) * multiplicity
    centre = (weight @ references.unsqueeze(1)) * multiplicity
    shift = (centre - count * places.unsqueeze(1)) / count.clamp(min=1) / bandwidths.view(-1, 1, 1)
    features = torch.cat([count.log1p(), shift], -1)
    return features.transpose(1, 2).flatten(2)


_LOOKS_AT_ONCE = 1 << 22


class KernelLookAhead(nn.Module):
    r"""Gaussian-kernel counts and mean shifts of the points still to come.

    .. math:: s_h = \sum_{j > n} \exp(-|y_j|^2 / 2h^2), \qquad
        m_h = \frac{1}{h} \frac{\sum_{j>n} e^{-|y_j|^2/2h^2} \, y_j}{1 + s_h}, \qquad y_j = W (x_j - q)

    for learned bandwidths h, in units of the frame W. Features: log1p(s_h), m_h, and the second moments of y
    / h on request. Beyond 1,024 points every k-th stands for k.
    """

    def __init__(self, dim: int, bandwidths: tuple[float, ...], *, second_moments: bool = False) -> None:
        super().__init__()
        self.dim, self.second_moments = dim, second_moments
        self._row, self._column = torch.triu_indices(dim, dim).tolist()
        self.log_bandwidths = nn.Parameter(torch.tensor(bandwidths).log())

    @property
    def num_features(self) -> int:
        """Number of features a place."""
        per_bandwidth = 1 + self.dim + (len(self._row) if self.second_moments else 0)
        return len(self.log_bandwidths) * per_bandwidth

    def forward(self, positions: Tensor, places: Tensor, whiten: Tensor, steps: Tensor) -> Tensor:
        if not self.num_features:
            return places.new_zeros(*places.shape[:-1], 0)
        stride = self.stride(positions.shape[1])
        ahead = int(steps[0]) + 1
        first = -(-ahead // stride)
        references = positions[:, first * stride :: stride]
        # Number of references at or before each step, among those that are left.
        seen = steps // stride + 1 - first
        if len(steps) == 1 and len(references) == 1 and _compiles(places, references, self.log_bandwidths):
            return self._compiled(references[0], places, whiten, stride)
        block = max(1, _LOOKS_AT_ONCE // max(1, places.shape[0] * references.shape[1]))
        if block >= len(steps):
            return self._block(references, places, whiten, seen, stride)
        frames = whiten.expand(*places.shape, self.dim).split(block, 1)
        parts = zip(places.split(block, 1), frames, seen.split(block), strict=True)
        return torch.cat([self._block(references, p, w, s, stride) for p, w, s in parts], 1)

    def stride(self, num_points: int) -> int:
        """Return k, where every k-th of so many points stands for k."""
        return -(-num_points // _REFERENCES)

    @property
    def columns(self) -> np.ndarray:
        """Columns of the second moments, ``(2, C)``."""
        return np.array((self._row, self._column) if self.second_moments else ((), ()), dtype=np.int64)

    def _block(self, references: Tensor, places: Tensor, whiten: Tensor, seen: Tensor, stride: int) -> Tensor:
        difference = references.unsqueeze(1) - places.unsqueeze(2)
        offset = difference @ whiten.mT
        squared = offset.square().sum(-1)
        precision = (-2 * self.log_bandwidths).exp()
        weight = gaussian_kernel(precision.view(-1, 1) * squared.unsqueeze(2))
        if len(seen) > 1:
            past = torch.arange(references.shape[1], device=seen.device) < seen.unsqueeze(-1)
            weight = weight.masked_fill(past.unsqueeze(1), 0.0)
        if stride > 1:
            weight = weight * stride
        products = None
        if self.second_moments:
            products = weight @ (offset[..., self._row] * offset[..., self._column])
        return self._features(weight.sum(-1), weight @ offset, products)

    def _compiled(self, references: Tensor, places: Tensor, whiten: Tensor, stride: int) -> Tensor:
        frames = whiten.expand(*places.shape, self.dim)[:, 0]
        found = kernel_sums(
            references.numpy(),
            places[:, 0].numpy(),
            frames.numpy(),
            precision=(-2 * self.log_bandwidths).exp().numpy(),
            columns=self.columns,
        )
        count, shift, products = (
            torch.from_numpy(found).unsqueeze(1).mul_(stride).split([1, self.dim, self.columns.shape[1]], -1)
        )
        return self._features(count.squeeze(-1), shift, products if self.second_moments else None)

    def _features(self, count: Tensor, shift: Tensor, products: Tensor | None) -> Tensor:
        """Bring sums over kernels, ``(R, T, H)`` and ``(R, T, H, ...)``, to the scale of the network."""
        precision = (-2 * self.log_bandwidths).exp()
        share = 1 / (1 + count).unsqueeze(-1)
        parts = [count.log1p(), (shift * share * precision.sqrt().unsqueeze(-1)).flatten(-2)]
        if products is not None:
            parts.append((products * share * precision.unsqueeze(-1)).flatten(-2))
        return torch.cat(parts, -1)


def _compiles(places: Tensor, references: Tensor, bandwidths: Tensor) -> bool:
    """Say whether no gradients are asked for, on a processor and in float32."""
    if torch.is_grad_enabled() or places.device.type != "cpu":
        return False
    return all(one.dtype == torch.float32 for one in (places, references, bandwidths))
