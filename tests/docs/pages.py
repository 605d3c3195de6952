"""The pages that a reader finds, and the blocks of code in them."""

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Final

from tests.docs.not_run import NOT_RUN

ROOT: Final = Path(__file__).parents[2]
LANGUAGES: Final = frozenset({"python", "sh", "properties", "yaml", "text"})
"""``text`` is a drawing, or what something prints; ``yaml`` has a node's environment. All but ``text`` is tried."""

_FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_FILE_NAME: Final = re.compile(r"# ([\w.-]+\.(?:py|properties))\n")


def pages() -> list[str]:
    """Every page, by its path from the root; a page before those that carry it further (``spark-exactly-once``)."""
    found = (str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
    return sorted(found, key=lambda page: page.removesuffix(".md"))


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands, as editors know it."""
        return f"{self.page}:{self.line}"

    @property
    def is_pasted(self) -> bool:
        """Whether a test does what it says; there is a reason for each that is not (``not_run.py``)."""
        return self.language != "text" and not any(self.begins_as(*each) for each in NOT_RUN)

    def begins_as(self, page: str, text: str) -> bool:
        """What exceptions know it by."""
        return self.page == page and self.text.startswith(text)

    @property
    def needs_spark(self) -> bool:
        """Whether Spark has to start for it; a JVM takes ten seconds."""
        return self.page.startswith("docs/spark") or "pipeline" in self.text or "spark" in self.text

    @property
    def asks_apache(self) -> bool:
        """Whether it is a test of this project that compares with Apache Kafka."""
        return "oracle: Oracle" in self.text

    @property
    def file_name(self) -> str | None:
        """The file that its first line names: the reader saves the block there."""
        named = _FILE_NAME.match(self.text)
        return named[1] if named else None


def blocks(page: str) -> list[Block]:
    """Its blocks in the order of the page."""
    text = (ROOT / page).read_text()
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found["language"].strip(), dedent(found["text"]))
        for found in _FENCE.finditer(text)
    ]
