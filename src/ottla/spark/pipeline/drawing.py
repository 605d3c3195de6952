"""A picture as a list of rectangles and texts, in the units of a screen; SVG and PNG are made of the same. Pure."""

from dataclasses import dataclass, field
from html import escape
from typing import Final, Literal, NamedTuple

Anchor = Literal["start", "middle", "end"]
BACKGROUND: Final = "#ffffff"
FONT_SIZE: Final = 12
LARGE_SIZE: Final = 18


class Box(NamedTuple):
    """A filled rectangle; ``title`` is shown when somebody points at it."""

    x: float
    y: float
    width: float
    height: float
    color: str
    title: str = ""


class Text(NamedTuple):
    """A line of text with its baseline at ``y``."""

    x: float
    y: float
    text: str
    color: str = "#334155"
    anchor: Anchor = "start"
    large: bool = False


@dataclass(slots=True)
class Drawing:
    """Things in the order in which they are painted."""

    width: int
    height: int
    shapes: list[Box | Text] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, color: str, title: str = "") -> None:  # noqa: PLR0917
        """Paint a rectangle."""
        if width > 0 and height > 0:
            self.shapes.append(Box(x, y, width, height, color, title))

    def text(
        self, x: float, y: float, text: str, *, color: str = "#334155", anchor: Anchor = "start", large: bool = False
    ) -> None:
        """Write a line."""
        self.shapes.append(Text(x, y, text, color, anchor, large))

    def svg(self) -> str:
        """As an SVG element."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" font-family="system-ui, sans-serif" font-size="{FONT_SIZE}">',
            f'<rect width="{self.width}" height="{self.height}" fill="{BACKGROUND}"/>',
        ]
        for shape in self.shapes:
            if isinstance(shape, Box):
                title = f"<title>{escape(shape.title)}</title>" if shape.title else ""
                parts.append(
                    f'<rect x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}" '
                    f'fill="{shape.color}">{title}</rect>'
                )
            else:
                size = f' font-size="{LARGE_SIZE}" font-weight="600"' if shape.large else ""
                place = f'x="{shape.x:.1f}" y="{shape.y:.1f}" text-anchor="{shape.anchor}"'
                parts.append(f'<text {place} fill="{shape.color}"{size}>{escape(shape.text)}</text>')
        return "\n".join([*parts, "</svg>"])
