"""Images of deformed characters: thousands of classes to learn from what makes images alike."""

import functools
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyro
import scipy
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from torch import Size, Tensor
from torch.distributions import constraints
from torch.nn import functional as F

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.distributions import ChineseRestaurantPrior, PartitionPrior
from pyroclust.distributions.hyperparameters import check_known
from pyroclust.distributions.points import check_shape
from pyroclust.distributions.protocols import LawWithoutDensity, Model, SimulatedFromArguments
from pyroclust.partitions import num_clusters

NUM_SIDES = 8
"""Ways to lay a shape on its side: four quarter turns, of it and of its mirror image."""

_FONTS = ("DejaVuSans", "DejaVuSerif", "DejaVuSansMono")
# Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Georgian, phonetic letters, signs. Digits are left out.
_RANGES = (
    (0x0021, 0x024F),
    (0x0250, 0x02AF),
    (0x0370, 0x058F),
    (0x05D0, 0x06FF),
    (0x10A0, 0x10FF),
    (0x1D00, 0x1D7F),
    (0x2010, 0x205E),
    (0x20A0, 0x20BF),
    (0x2100, 0x214F),
    (0x2190, 0x22FF),
    (0x2600, 0x26FF),
    (0x2C60, 0x2C7F),
    (0xA640, 0xA69F),
    (0xA722, 0xA7FF),
)
# Accented letters are made of others; digits of any script, and numbers made of them, are what is tested on.
_LEFT_OUT = ("M", "N", "Z", "C")
_PIXELS, _BOX, _SHRINK = 64, 52, 2
_ALIKE = 0.93


@dataclass(frozen=True)
class GlyphShapes:
    """Signed distances to the outlines of characters, and which of them are classes of their own.

    Distances are negative on the ink. A shape's longer side is 1, its box has its centre at 0, and the field
    covers ``(-reach, reach)`` both ways.
    """

    characters: str
    fields: Tensor
    reach: float
    glyphs: Tensor
    sides: Tensor

    def __repr__(self) -> str:
        return f"GlyphShapes({len(self.characters)} characters, {len(self.glyphs)} classes)"


@functools.cache
def glyph_shapes() -> GlyphShapes:
    """Draw the characters of the DejaVu fonts; made once a process, in about three seconds."""
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    folder = Path(get_data_path()) / "fonts" / "ttf"
    paths = [folder / f"{name}.ttf" for name in _FONTS]
    known = [FT2Font(str(path)).get_charmap() for path in paths]
    fonts = [ImageFont.truetype(str(path), 96) for path in paths]
    characters = [
        chr(code)
        for first, last in _RANGES
        for code in range(first, last + 1)
        if code in known[0] and _is_shape(chr(code))
    ]
    drawings = ((one, _drawn(one, fonts[0])) for one in characters)
    seen = {one: drawing for one, drawing in drawings if drawing is not None}
    places, glyphs, sides = _classes(np.stack([_ink(one) for one in seen.values()]))
    names = list(seen)
    kept = [names[place] for place in places]
    fields = []
    for one in kept:
        others = (
            _drawn(one, font) if ord(one) in codes else None
            for font, codes in zip(fonts[1:], known[1:], strict=True)
        )
        variants = [seen[one], *(seen[one] if other is None else other for other in others)]
        fields.append([_distances(variant) for variant in variants])
    return GlyphShapes(
        "".join(kept),
        torch.from_numpy(np.array(fields)),
        _PIXELS / _BOX / 2,
        torch.from_numpy(glyphs),
        torch.from_numpy(sides),
    )


def _is_shape(character: str) -> bool:
    """Say whether a character is neither a number nor made of others."""
    kind = unicodedata.category(character)
    return (
        not kind.startswith(_LEFT_OUT)
        and not character.isnumeric()
        and not unicodedata.decomposition(character)
    )


def _drawn(character: str, font: ImageFont.FreeTypeFont) -> NDArray[np.float32] | None:
    """Draw a character so that its longer side fills the box; None if nothing is to be seen."""
    picture = Image.new("L", (256, 256))
    ImageDraw.Draw(picture).text((64, 64), character, fill=255, font=font)
    box = picture.getbbox()
    if box is None:
        return None
    cut = picture.crop(box)
    scale = _BOX / max(cut.size)
    size = [max(1, round(scale * one)) for one in cut.size]
    small = cut.resize((size[0], size[1]), Image.Resampling.BOX if scale < 1 else Image.Resampling.BICUBIC)
    whole = Image.new("L", (_PIXELS, _PIXELS))
    whole.paste(small, ((_PIXELS - size[0]) // 2, (_PIXELS - size[1]) // 2))
    return (np.asarray(whole) / 255).astype(np.float32)


def _ink(drawn: NDArray[np.float32]) -> NDArray[np.float32]:
    """Blur a drawing to 16 x 16, in which shapes are compared."""
    return drawn.reshape(16, 4, 16, 4).mean((1, 3))


def _distances(drawn: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return signed distances to the outline, in units of the box."""
    ink = drawn > 0.5
    signed = scipy.ndimage.distance_transform_edt(~ink) - scipy.ndimage.distance_transform_edt(ink)
    width = _PIXELS // _SHRINK
    coarse = signed.reshape(width, _SHRINK, width, _SHRINK).mean((1, 3))
    return (coarse / _BOX).astype(np.float32)


def _classes(inks: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return characters unlike all before them, and their sides that are unlike one another."""
    laid = np.stack([_laid(inks, side) for side in range(NUM_SIDES)], 1)
    flat = laid.reshape(len(inks), NUM_SIDES, -1)
    flat = flat - flat.mean(-1, keepdims=True)
    flat = flat / np.linalg.norm(flat, axis=-1, keepdims=True).clip(1e-6)
    upright = flat[:, 0]
    # Largest correlation of each upright form with any side of each other: (C, C).
    alike = np.stack([upright @ flat[:, side].T for side in range(NUM_SIDES)]).max(0) > _ALIKE
    kept: list[int] = []
    for place, row in enumerate(alike):
        if not row[kept].any():
            kept.append(place)
    own = flat[kept]
    same = np.einsum("csp,ctp->cst", own, own) > _ALIKE
    distinct = ~np.tril(same, -1).any(-1)
    glyphs, sides = distinct.nonzero()
    return np.array(kept), glyphs, sides


def _laid(pictures: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Turn pictures by quarter turns, after a reflection for sides 4 to 7."""
    mirrored = pictures[:, :, ::-1] if side >= 4 else pictures
    return np.rot90(mirrored, side % 4, axes=(1, 2))


_CHUNK = 2048
_COARSE = 4
# In units of the box: half the change of a stroke's width, and how soft its edge is.
_THINNER, _THICKER = 0.015, 0.06
_SHARPEST, _SOFTEST = 0.01, 0.03
_PALEST, _NOISE = 0.85, 0.04


class GlyphImages(LawWithoutDensity):
    r"""Images of characters, each thickened, turned, sheared, scaled, bent and noisy on its own; no density.

    An image of class k shows the ink at distance d of the character's outline,

    .. math::
        x(p) = a \, \sigma\Big(\frac{t - d_k(A p + u(p) + s)}{w}\Big) + \epsilon(p)

    with a random affine map A, a smooth random field u, a shift s, a change t of the strokes' width, a
    softness w and a contrast a. The outline is that of one of three fonts, the first one half of the time.
    Pixels are means over 3 x 3 samples where the images are smaller than 16 pixels. Cost O(H W) an image.
    """

    support = constraints.independent(constraints.unit_interval, 3)

    def __init__(
        self, shapes: GlyphShapes, classes: Tensor, *, side: int, margin: float, strength: float
    ) -> None:
        self.shapes, self.classes, self.side = shapes, classes, side
        self.margin, self.strength = margin, strength
        super().__init__(classes.shape[:-1], Size((classes.shape[-1], side, side)), validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "GlyphImages":
        classes = self.classes.expand(*batch_shape, self.classes.shape[-1])
        return GlyphImages(self.shapes, classes, side=self.side, margin=self.margin, strength=self.strength)

    def _draw(self, shape: Size) -> Tensor:
        flat = self.classes.expand(shape[:-2]).reshape(-1)
        return torch.cat([self._images(part) for part in flat.split(_CHUNK)]).view(shape)

    def _images(self, classes: Tensor) -> Tensor:
        """Draw one image of each class, ``(M,) -> (M, H, W)``."""
        number, shapes = len(classes), self.shapes
        device = classes.device
        glyph, laid = shapes.glyphs.to(device)[classes], shapes.sides.to(device)[classes]
        font = torch.randint(shapes.fields.shape[1], (number,), device=device)
        font = font.where(torch.rand(number, device=device) < 0.75, 0)
        fields = shapes.fields.to(device)[glyph, font].unsqueeze(1)
        finer = 3 if self.side < 16 else 1
        where = self._places(laid, finer * self.side)
        distance = F.grid_sample(fields, where / shapes.reach, padding_mode="border", align_corners=False)
        thickness = self.strength * _uniform(number, -_THINNER, _THICKER, device)
        softness = _uniform(number, _SHARPEST, _SOFTEST, device)
        ink = ((thickness - distance) / softness).sigmoid()
        if finer > 1:
            ink = F.avg_pool2d(ink, finer)
        contrast = (1 - self.strength * _uniform(number, 0.0, 1 - _PALEST, device)).clamp(min=0)
        noise = self.strength * _uniform(number, 0.0, _NOISE, device)
        noise = noise * torch.randn(ink.shape, device=device)
        return (contrast * ink + noise).clamp(0, 1).squeeze(1)

    def _places(self, laid: Tensor, side: int) -> Tensor:
        """Return where in its shape each pixel of each image looks, ``(M, side, side, 2)``."""
        number, device, strength = len(laid), laid.device, self.strength
        step = (torch.arange(side, device=device) + 0.5) / side - 0.5
        # Half of what the margins leave is half the box.
        step = step / (1 - 2 * self.margin)
        grid = torch.stack(torch.meshgrid(step, step, indexing="xy"), -1)
        angle = 0.2 * strength * torch.randn(number, device=device)
        shear = 0.2 * strength * torch.randn(number, device=device)
        wide, high = (0.12 * strength * torch.randn(2, number, device=device)).exp()
        cos, sin = angle.cos(), angle.sin()
        turn = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
        zero = torch.zeros_like(shear)
        stretch = torch.stack([torch.stack([wide, shear], -1), torch.stack([zero, high], -1)], -2)
        coarse = 0.07 * strength * torch.randn(number, 2, _COARSE, _COARSE, device=device)
        bent = F.interpolate(coarse, size=(side, side), mode="bicubic", align_corners=True)
        shift = 0.03 * strength * torch.randn(number, 1, 1, 2, device=device)
        places = torch.einsum("mij,hwj->mhwi", turn @ stretch, grid) + bent.permute(0, 2, 3, 1) + shift
        return torch.einsum("mij,mhwj->mhwi", _quarter_turns(device)[laid], places)


def _uniform(number: int, low: float, high: float, device: torch.device) -> Tensor:
    """Draw one number an image."""
    return low + (high - low) * torch.rand(number, 1, 1, 1, device=device)


@register(Model, name="deformed_glyphs")
class DeformedGlyphs(SimulatedFromArguments):
    r"""Sets of images of deformed characters, with thousands of classes: a model to simulate from.

    .. math::
        c \sim \text{prior}, \qquad k_1, k_2, \ldots \text{ distinct classes}, \qquad
        x_i \sim \text{GlyphImages}(k_{c_i})

    The classes are the characters of matplotlib's DejaVu fonts (Latin, Greek, Cyrillic, Armenian, Hebrew,
    Arabic, Georgian, signs), turned by quarters and mirrored. Shapes that look like an earlier one are left
    out, and so are all digits, so that a guide can be tested on handwritten digits. Cost some .03 ms an image
    of 8 x 8 and .06 ms an image of 28 x 28 on one core; the shapes are drawn once a process, in a few
    seconds.

    Args:
        side: H and W of the images.
        prior: law of the partitions, its hyperparameters known; a Chinese restaurant process of concentration
            0.7 by default.
        margin: part of an image that is left free on each side.
        strength: of the deformations, 1 for what handwriting is like, 0 for none.

    Attributes:
        noun: what one point is called.
        typical_scale: root mean square distance, per pixel, of an image to the mean of its class, about.

    Shape:
        data: ``(*batch, N, H, W)``, pixels in 0..1; assignments: ``(*batch, N)`` int64.

    Raises:
        ValueError: if an argument is out of range, or the prior is random.

    Example:
        >>> from pyroclust.infer import simulate
        >>> images, labels = simulate(DeformedGlyphs(8), torch.empty(3, 20, 8, 8))
        >>> images.shape, labels.shape
        (torch.Size([3, 20, 8, 8]), torch.Size([3, 20]))

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """

    name = "deformed_glyphs"
    noun = "image"
    typical_scale = 0.25

    def __init__(
        self,
        side: int = 28,
        *,
        prior: PartitionPrior | None = None,
        margin: float = 0.14,
        strength: float = 1.0,
    ) -> None:
        self.side = check_count("side", side, at_least=4, at_most=256)
        self.margin = check_number("margin", margin, at_least=0, at_most=0.4)
        self.strength = check_number("strength", strength, at_least=0, at_most=3)
        self.prior = ChineseRestaurantPrior(0.7) if prior is None else prior
        check_known("prior", self.prior)
        self.partition_prior, self.event_shape = self.prior, (self.side, self.side)

    def __call__(self, data: Tensor) -> Tensor:
        check_shape(data, self.event_shape)
        shapes = glyph_shapes()
        batch = data.shape[: -self.event_dim]
        with pyro.plate_stack("datasets", batch):
            labels = pyro.sample("assignments", self.prior.partition(data.shape[-self.event_dim]))
            classes = _classes_of(labels, num_classes=len(shapes.glyphs)).to(data.device)
            law = GlyphImages(shapes, classes, side=self.side, margin=self.margin, strength=self.strength)
            return pyro.sample("data", law, obs=data)


def _classes_of(labels: Tensor, *, num_classes: int) -> Tensor:
    """Give the clusters of every data set distinct classes, ``(*batch, N) -> (*batch, N)``."""
    clusters = int(num_clusters(labels).max())
    if clusters > num_classes:
        raise ValueError(
            f"data has {clusters} clusters, expected at most {num_classes}, the number of classes of glyphs: "
            "take fewer points or a prior with fewer clusters"
        )
    flat = labels.reshape(-1, labels.shape[-1]).cpu()
    chosen = torch.ones(len(flat), num_classes).multinomial(clusters)
    return chosen.gather(-1, flat).view(labels.shape)


def _quarter_turns(device: torch.device) -> Tensor:
    """Return the eight symmetries of the square as matrices, ``(8, 2, 2)``."""
    quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    turns = [torch.linalg.matrix_power(quarter, power) for power in range(4)]
    mirror = torch.diag(torch.tensor([-1.0, 1.0]))
    return torch.stack([*turns, *(mirror @ one for one in turns)])[:NUM_SIDES].to(device)
