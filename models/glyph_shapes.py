"""Shapes of the characters of the DejaVu fonts, which matplotlib brings along, as fields of distances."""

import functools
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

__all__ = ["NUM_SIDES", "GlyphShapes", "glyph_shapes"]

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

    Attributes:
        characters: what they are, one text of length C.
        fields: ``(C, F, S, S)``, one field for each of F fonts; that of the first where one lacks it.
        reach: half the width of the fields.
        glyphs: character of each class, ``(K,)``; a shape that looks like another, turned or mirrored or
            not, is no class of its own.
        sides: how each class is laid, ``(K,)``, below :data:`NUM_SIDES`.
    """

    characters: str
    fields: Tensor
    reach: float
    glyphs: Tensor
    sides: Tensor

    def __repr__(self) -> str:
        """Count characters and classes."""
        return f"GlyphShapes({len(self.characters)} characters, {len(self.glyphs)} classes)"


@functools.cache
def glyph_shapes() -> GlyphShapes:
    """Draw the characters of the DejaVu fonts; made once a process, in about three seconds.

    Example:
        >>> shapes = glyph_shapes()
        >>> len(shapes.characters) > 1000, len(shapes.glyphs) > 5000
        (True, True)
        >>> any(character.isnumeric() for character in shapes.characters)
        False
    """
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


def _classes(
    inks: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return characters unlike all before them, and their sides that are unlike one another.

    Shapes are alike if their inks have a correlation above a limit. A character whose upright form looks
    like an earlier one on any side is left out.
    """
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
