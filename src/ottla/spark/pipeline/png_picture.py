"""A drawing as a PNG, painted by Pillow, which is optional: of the extra ``spark``."""

from functools import cache
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Final

from ottla.spark.pipeline.drawing import BACKGROUND, FONT_SIZE, LARGE_SIZE, Anchor, Box, Drawing

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont, ImageFont

_SCALE: Final = 2
"""Pixels of the picture for one unit of the drawing: for screens of today."""
_ANCHORS: Final[dict[Anchor, str]] = {"start": "ls", "middle": "ms", "end": "rs"}
"""Pillow's names: left, middle or right of the baseline."""


def can_paint() -> bool:
    """Whether Pillow is there."""
    return find_spec("PIL") is not None


def png_of(drawing: Drawing) -> bytes:
    """The picture as a file's contents; ImportError without Pillow."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (drawing.width * _SCALE, drawing.height * _SCALE), BACKGROUND)
    canvas = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        left, top = shape.x * _SCALE, shape.y * _SCALE
        if isinstance(shape, Box):
            right, bottom = left + shape.width * _SCALE, top + shape.height * _SCALE
            corners = [round(left), round(top), max(round(left), round(right) - 1), max(round(top), round(bottom) - 1)]
            canvas.rectangle(corners, fill=shape.color)
        else:
            font = _font(LARGE_SIZE if shape.large else FONT_SIZE)
            canvas.text((left, top), shape.text, fill=shape.color, font=font, anchor=_ANCHORS[shape.anchor])
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


@cache
def _font(size: int) -> "FreeTypeFont | ImageFont":
    """The font that Pillow brings, so that no machine has to have one."""
    from PIL import ImageFont

    return ImageFont.load_default(size * _SCALE)
