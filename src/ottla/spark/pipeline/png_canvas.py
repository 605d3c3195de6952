"""A drawing as a PNG, with nothing but numpy and zlib."""

import struct
import zlib
from typing import Any, Final

import numpy as np

from ottla.spark.pipeline.drawing import BACKGROUND, Box, Drawing, Text
from ottla.spark.pipeline.pixel_font import COLUMNS, ROWS, glyph

_SCALE: Final = 2
"""Pixels of the picture for one unit of the drawing."""
_BASELINE: Final = 7
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def png_of(drawing: Drawing) -> bytes:
    """The picture, twice as large as the drawing's units, for screens of today."""
    canvas = np.empty((drawing.height * _SCALE, drawing.width * _SCALE, 3), np.uint8)
    canvas[:] = _color(BACKGROUND)
    for shape in drawing.shapes:
        if isinstance(shape, Box):
            left, top = round(shape.x * _SCALE), round(shape.y * _SCALE)
            right = max(round((shape.x + shape.width) * _SCALE), left + 1)
            bottom = max(round((shape.y + shape.height) * _SCALE), top + 1)
            canvas[max(top, 0) : bottom, max(left, 0) : right] = _color(shape.color)
        else:
            _write(canvas, shape)
    return _encoded(canvas)


def _write(canvas: Any, text: Text) -> None:
    dot = _SCALE * (2 if text.large else 1)
    dot = dot - 1 if text.large else dot
    advance = (COLUMNS + 1) * dot
    x = round(text.x * _SCALE)
    if text.anchor != "start":
        x -= advance * len(text.text) // (1 if text.anchor == "end" else 2)
    y = round(text.y * _SCALE) - _BASELINE * dot
    color = _color(text.color)
    for letter in text.text:
        for row, bits in enumerate(glyph(letter)[:ROWS]):
            for column in range(COLUMNS):
                if bits >> (COLUMNS - 1 - column) & 1:
                    top, left = y + row * dot, x + column * dot
                    if top >= 0 and left >= 0:
                        canvas[top : top + dot, left : left + dot] = color
        x += advance


def _color(text: str) -> tuple[int, int, int]:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _encoded(canvas: Any) -> bytes:
    height, width, _ = canvas.shape
    rows = np.zeros((height, width * 3 + 1), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = canvas.reshape(height, width * 3)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
