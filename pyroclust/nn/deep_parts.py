"""Parts of deep models: decoders, choices that a loss goes through, classes by seeds, deformed views."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

import pyro
import pyro.distributions as dist
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.distributions.spanning_forests import constrained_forests
from pyroclust.nn.encoders import checked_widths, dense_layers
from pyroclust.partitions.constraints import Constraints


class Decoder(Protocol):
    """A module from latent numbers to points, ``(R, dim) -> (R, *event_shape)``.

    Attributes:
        dim: how many latent numbers it takes.
    """

    dim: int

    def __call__(self, latents: Tensor) -> Tensor: ...


@register(Decoder)
class DenseDecoder(nn.Module):
    """Dense layers, each with batch normalisation and ReLU, and a linear one to the shape of a point.

    Args:
        dim: how many latent numbers it takes.
        event_shape: shape of a point.
        widths: of the layers in between.

    Shape:
        latents: ``(R, dim)``; output: ``(R, *event_shape)``.

    Example:
        >>> import torch
        >>> DenseDecoder(5, (8, 8), widths=(32,))(torch.randn(4, 5)).shape
        torch.Size([4, 8, 8])
    """

    def __init__(self, dim: int, event_shape: Sequence[int], *, widths: Sequence[int] = (512, 512)) -> None:
        super().__init__()
        self.dim, self.widths = check_count("dim", dim), checked_widths(widths)
        self.event_shape = tuple(check_count("event_shape", one) for one in event_shape)
        self.layers = dense_layers(self.dim, self.widths)
        self.last = nn.Linear(self.widths[-1], math.prod(self.event_shape))

    def forward(self, latents: Tensor) -> Tensor:
        outputs: Tensor = self.last(self.layers(latents))
        return outputs.unflatten(-1, self.event_shape)


@register(Decoder)
class ImageDecoder(nn.Module):
    """Two dense layers, then transposed convolutions that double the sides, cut to the size of an image.

    Every layer but the last has batch normalisation and ReLU. Cost O(H W C^2) a row.

    Args:
        dim: how many latent numbers it takes.
        height: H, at least 4.
        width: W, at least 4.
        channels: C, before the last doubling.
        hidden: width of the first dense layer.

    Shape:
        latents: ``(R, dim)``; output: ``(R, H, W)``.

    Raises:
        ValueError: if a side is below 4 pixels, or another argument is no count.

    Example:
        >>> import torch
        >>> ImageDecoder(5, 28, 28)(torch.randn(4, 5)).shape
        torch.Size([4, 28, 28])
    """

    def __init__(self, dim: int, height: int, width: int, *, channels: int = 16, hidden: int = 256) -> None:
        super().__init__()
        self.dim, self.hidden = check_count("dim", dim), check_count("hidden", hidden)
        self.height, self.width = check_count("height", height), check_count("width", width)
        self.channels = check_count("channels", channels)
        if min(self.height, self.width) < 4:
            raise ValueError(f"height and width are {height} and {width}, expected at least 4 pixels each")
        doublings = max(1, math.ceil(math.log2(max(self.height, self.width) / 4)))
        deep = channels * 2 ** (doublings - 1)
        layers: list[nn.Module] = [dense_layers(dim, (hidden, deep * 16)), nn.Unflatten(-1, (deep, 4, 4))]
        for _ in range(doublings - 1):
            layers += [
                nn.ConvTranspose2d(deep, deep // 2, 4, stride=2, padding=1),
                nn.BatchNorm2d(deep // 2),
                nn.ReLU(),
            ]
            deep //= 2
        layers.append(nn.ConvTranspose2d(deep, 1, 4, stride=2, padding=1))
        self.layers = nn.Sequential(*layers)

    def forward(self, latents: Tensor) -> Tensor:
        large: Tensor = self.layers(latents).squeeze(1)
        top, left = (large.shape[-2] - self.height) // 2, (large.shape[-1] - self.width) // 2
        return large[..., top : top + self.height, left : left + self.width]


class Relaxation(ABC):
    r"""How :math:`E_{q(c)}[f(c)]` is estimated so that q gets gradients, c being one of K clusters.

    A new one is one class with ``@register(Relaxation)``.

    Attributes:
        is_exact: whether the expectation is exact, f given; c is then enumerated in Pyro programs.
    """

    is_exact: bool

    @abstractmethod
    def expect(self, log_shares: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the expectation of a function of codes, or an estimate that has gradients, ``(*batch)``.

        Args:
            log_shares: log q, ``(*batch, K)``.
            value: from codes ``(*any, *batch, K)``, points of the simplex, to numbers ``(*any, *batch)``.
        """

    @abstractmethod
    def sample(self, name: str, log_shares: Tensor) -> Tensor:
        """Sample a site of codes in a Pyro guide, ``(*batch, K)``."""


@register(Relaxation)
class GumbelSoftmax(Relaxation):
    r"""One relaxed sample a point: :math:`c = \text{softmax}((\log q + g) / \tau)`, g Gumbel noise.

    The site has no density, so that stock ``Trace_ELBO`` has gradients through samples alone.

    Args:
        temperature: :math:`\tau`; the lower it is, the nearer samples are to the corners, and the noisier are
            the gradients.
        straight_through: use the nearest corner, with the gradient of the relaxed sample.

    Example:
        >>> codes = GumbelSoftmax(0.5, straight_through=True).sample("code", torch.zeros(3, 2))
        >>> codes.sum(-1)
        tensor([1., 1., 1.])

    References:
        Jang, Gu and Poole (2017), Categorical reparameterization with Gumbel-softmax.
        https://arxiv.org/abs/1611.01144
    """

    is_exact = False

    def __init__(self, temperature: float = 1.0, *, straight_through: bool = False) -> None:
        self.temperature = check_number("temperature", temperature, above=0)
        self.straight_through = straight_through

    def expect(self, log_shares: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
        return value(self._law(log_shares).rsample())

    def sample(self, name: str, log_shares: Tensor) -> Tensor:
        codes: Tensor = pyro.sample(name, self._law(log_shares).mask(False))
        return codes

    def _law(self, log_shares: Tensor) -> dist.TorchDistribution:
        kinds = (dist.RelaxedOneHotCategorical, dist.RelaxedOneHotCategoricalStraightThrough)
        temperature = log_shares.new_tensor(self.temperature)
        return kinds[self.straight_through](temperature, logits=log_shares)


@register(Relaxation)
class ExactSum(Relaxation):
    r"""No relaxation: the sum over clusters, :math:`\sum_k q_k f(e_k)`.

    Cost O(K) evaluations of f, K times that of a sample; the gradients have no noise of the choice. In a Pyro
    guide the site is enumerated, by ``TraceEnum_ELBO``.

    Example:
        >>> shares = torch.tensor([0.2, 0.8]).log()
        >>> ExactSum().expect(shares, lambda codes: codes[..., 1])
        tensor(0.8000)
    """

    is_exact = True

    def expect(self, log_shares: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
        clusters = log_shares.shape[-1]
        corners = torch.eye(clusters, dtype=log_shares.dtype, device=log_shares.device)
        codes = corners.view(clusters, *(1,) * (log_shares.dim() - 1), clusters)
        found = value(codes.expand(clusters, *log_shares.shape))
        return (log_shares.exp().movedim(-1, 0) * found).sum(0)

    def sample(self, name: str, log_shares: Tensor) -> Tensor:
        law = dist.OneHotCategorical(logits=log_shares)
        codes: Tensor = pyro.sample(name, law, infer={"enumerate": "parallel"})
        return codes


class SeedRule(ABC):
    """A rule that gives every point of a data set a class, some having a label.

    A new one is one class with ``@register(SeedRule)``.
    """

    @abstractmethod
    def classes(self, features: Tensor, known: Tensor) -> Tensor:
        """Return a class for every point of data sets, ``(*batch, N)`` int64, its label where there is one.

        Shape:
            features: ``(*batch, N, E)``; known: labels ``(*batch, N)`` int64, negative where there is none.
        """


@register(SeedRule)
class NearestSeed(SeedRule):
    """The label of the nearest labelled point; cost O(N^2 E).

    Example:
        >>> line = torch.tensor([[0.0], [1.0], [2.0], [3.0], [3.9]])
        >>> NearestSeed().classes(line, torch.tensor([0, -1, -1, -1, 1]))
        tensor([0, 0, 1, 1, 1])
    """

    def classes(self, features: Tensor, known: Tensor) -> Tensor:
        far = torch.cdist(features.detach(), features.detach())
        nearest = far.masked_fill((known < 0).unsqueeze(-2), torch.inf).argmin(-1)
        return torch.where(known >= 0, known, known.gather(-1, nearest))


@register(SeedRule)
class SpreadingSeeds(SeedRule):
    """The label that spreads to a point first, from neighbour to neighbour.

    Again and again the point that is nearest to any point with a class takes the class of that one, which
    finds long and bent classes from a few labels; where classes touch, a label may spread into the wrong one.
    Cost O(N^2), on the CPU.

    Example:
        >>> line = torch.tensor([[0.0], [1.0], [2.0], [3.0], [4.1]])
        >>> SpreadingSeeds().classes(line, torch.tensor([0, -1, -1, -1, 1]))
        tensor([0, 0, 0, 0, 1])
    """

    def classes(self, features: Tensor, known: Tensor) -> Tensor:
        far = torch.cdist(features.detach(), features.detach()).cpu()
        labels = known.cpu().reshape(-1, known.shape[-1])
        found = [_spread(one, own) for one, own in zip(far.reshape(-1, *far.shape[-2:]), labels, strict=True)]
        return torch.stack(found).view(known.shape).to(known.device)


def _spread(far: Tensor, labels: Tensor) -> Tensor:
    """Return a class for every point of one data set, by compiled code."""
    seeds, points = labels >= 0, len(labels)
    kinds = labels[seeds].unique()
    found = constrained_forests(
        -far,
        far.new_zeros(1, points * (points - 1) // 2),
        far.new_zeros(1),
        kinds.new_tensor([len(kinds)]),
        Constraints.of(labels=labels),
    ).labels[0]
    class_of = kinds.new_zeros(int(found.max()) + 1)
    class_of[found[seeds]] = labels[seeds]
    return class_of[found]


class Deformation(Protocol):
    """Whatever makes of points others of the same clusters, ``(*batch, *event_shape)`` to the same."""

    def __call__(self, data: Tensor) -> Tensor: ...


@register(Deformation)
class ImageDeformation:
    """Shift, turn, lean and scale images at random, each number uniform between its bound and minus it.

    Pixels from beyond the border are 0, dark. Cost O(H W) an image.

    Args:
        shift: in pixels, along both axes.
        rotation: in degrees.
        shear: how far a row moves to the side for each row up.
        scale: by how much sides are longer or shorter, as a share of 1.

    Example:
        >>> ImageDeformation(shift=1, rotation=10)(torch.rand(3, 5, 8, 8)).shape
        torch.Size([3, 5, 8, 8])
    """

    def __init__(
        self, *, shift: float = 1.0, rotation: float = 10.0, shear: float = 0.1, scale: float = 0.1
    ) -> None:
        self.shift = check_number("shift", shift, at_least=0)
        self.rotation = check_number("rotation", rotation, at_least=0, at_most=180)
        self.shear = check_number("shear", shear, at_least=0)
        self.scale = check_number("scale", scale, at_least=0, below=1)

    def __call__(self, data: Tensor) -> Tensor:
        if data.dim() < 2:
            raise ValueError(f"data has shape {tuple(data.shape)}, expected images (..., H, W)")
        height, width = data.shape[-2:]
        images = data.reshape(-1, 1, height, width)
        bounds = (self.rotation * math.pi / 180, self.scale, self.shear)
        turn, grow, lean = (bound * _either_way(len(images), data) for bound in bounds)
        cos, sin = turn.cos() * (1 + grow), turn.sin() * (1 + grow)
        across, down = (2 * self.shift / side * _either_way(len(images), data) for side in (width, height))
        maps = torch.stack([cos, lean - sin, across, sin, cos, down], -1).view(-1, 2, 3)
        grid = F.affine_grid(maps, list(images.shape), align_corners=False)
        return F.grid_sample(images, grid, align_corners=False).view(data.shape)


@register(Deformation)
class NormalNoise:
    """Add normal noise to every number.

    Args:
        scale: standard deviation, in units of the data.

    Example:
        >>> NormalNoise(0.1)(torch.zeros(3, 2)).shape
        torch.Size([3, 2])
    """

    def __init__(self, scale: float) -> None:
        self.scale = check_number("scale", scale, at_least=0)

    def __call__(self, data: Tensor) -> Tensor:
        return data + self.scale * torch.randn_like(data)


def _either_way(number: int, like: Tensor) -> Tensor:
    """Draw numbers between -1 and 1."""
    return 2 * torch.rand(number, dtype=like.dtype, device=like.device) - 1


@register(None)
class Views:
    r"""Two terms of a loss: a point and its deformed copy are in one cluster, and all clusters are used.

    .. math::
        \text{views}_i = -\frac{w}{2} \sum_k \big(q_{ik} \log q'_{ik} + q'_{ik} \log q_{ik}\big), \qquad
        \text{balance} = b N \sum_k \bar q_k \log \frac{\bar q_k}{\pi_k}, \quad
        \bar q = \frac{1}{N} \sum_i q_i

    with q' the shares of the deformed copy. Both are additions of ours to the published losses of deep
    mixtures: the first alone is least when one cluster has all points.

    Args:
        deformation: what leaves a point's cluster as it is.
        weight: w, in nats a point and nat of disagreement; on the scale of the reconstruction, a tenth of it.
        balance: b, in nats a point and nat of unequal sizes.

    Example:
        >>> from pyroclust.nn import NormalNoise
        >>> views = Views(NormalNoise(0.1), weight=10.0, balance=20.0)
        >>> even = torch.full((5, 2), 0.5).log()
        >>> {name: one.item() for name, one in views.terms(even, even, even[0]).items()}
        {'views': 34.65..., 'balance': 0.0}

    References:
        Hu et al. (2017), Learning discrete representations via information maximizing self-augmented
        training. https://arxiv.org/abs/1702.08720
    """

    def __init__(self, deformation: Deformation, *, weight: float = 10.0, balance: float = 20.0) -> None:
        self.deformation = deformation
        self.weight = check_number("weight", weight, at_least=0)
        self.balance = check_number("balance", balance, at_least=0)

    def terms(self, log_shares: Tensor, of_view: Tensor, log_weights: Tensor) -> dict[str, Tensor]:
        """Return the terms of data sets, in nats, ``(*batch)`` each, ``views`` summed over points.

        Shape:
            log_shares, of_view: log q of points and of deformed points, ``(*batch, N, K)``; log_weights:
                ``(K,)``.
        """
        shares = log_shares.exp()
        cross = (shares * of_view + of_view.exp() * log_shares).sum((-1, -2))
        points = log_shares.shape[-2]
        mean = torch.logsumexp(log_shares, -2) - torch.tensor(points, dtype=log_shares.dtype).log()
        unequal = (mean.exp() * (mean - log_weights)).sum(-1)
        return {"views": -0.5 * self.weight * cross, "balance": self.balance * points * unequal}
