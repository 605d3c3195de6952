"""Every snippet of every page runs as it stands: what users paste needs nothing that the page does not show."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.not_run import NOT_RUN
from tests.docs.page_reader import PageReader
from tests.docs.pages import LANGUAGES, ROOT, blocks, pages
from tests.oracle import Oracle

BLOCKS = [block for page in pages() for block in blocks(page)]
PASTED = [block for block in BLOCKS if block.is_pasted]
PLAIN = [block for block in PASTED if not block.needs_spark and not block.asks_apache]
"""What needs Spark is pasted in tests/spark/test_spark_snippets.py."""


@pytest.mark.parametrize("page", dict.fromkeys(block.page for block in PLAIN))
def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    with PageReader(tmp_path) as reader:
        for block in PLAIN:
            if block.page == page:
                reader.paste(block)


def test_what_asks_apache_does_what_it_says(oracle: Oracle, tmp_path: Path) -> None:
    for block in (each for each in PASTED if each.asks_apache):
        module: dict[str, Any] = {}
        exec(compile(block.text, block.place, "exec"), module)
        for name, test in module.items():
            if name.startswith("test_"):
                (tmp_path / name).mkdir()
                test(oracle, tmp_path / name)


def test_every_block_says_what_it_is() -> None:
    """By the word behind its fence; a block that is only indented would be passed over here."""
    unknown = [f"{block.place} ({block.language!r})" for block in BLOCKS if block.language not in LANGUAGES]
    assert unknown == []
    fenced = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
    indented = [page for page in pages() if re.search(r"\n\n {4}\S", fenced.sub("", (ROOT / page).read_text()))]
    assert indented == []


def test_what_is_not_run_is_there() -> None:
    assert [each for each in NOT_RUN if not any(block.begins_as(*each) for block in BLOCKS)] == []
