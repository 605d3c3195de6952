"""Every snippet that needs Spark runs as it stands: the Python of a page as one program, the commands as typed."""

import shlex
from pathlib import Path

import pytest

from ottla.cli.pipeline import parser
from tests.docs.page_reader import PageReader
from tests.docs.pages import Block, blocks, pages

BLOCKS = [block for page in pages() for block in blocks(page) if block.is_pasted and block.needs_spark]


def lines(block: Block) -> list[list[str]]:
    """The ``ottla pipeline`` commands of a block, without these two words."""
    commands = block.text.replace("\\\n", " ").splitlines() if block.language == "sh" else []
    return [shlex.split(each, comments=True)[2:] for each in commands if each.startswith("ottla pipeline ")]


@pytest.mark.xdist_group("spark")
def test_what_python_is_told_on_the_pages_of_spark(tmp_path: Path) -> None:
    with PageReader(tmp_path) as reader:
        reader.paste_in_one_session([block for block in BLOCKS if not lines(block)])


@pytest.mark.parametrize("block", [block for block in BLOCKS if lines(block)], ids=lambda block: block.place)
def test_commands_have_the_options_that_pages_give_them(block: Block) -> None:
    for line in lines(block):
        parser().parse_args(line)


@pytest.mark.spark_full
@pytest.mark.xdist_group("spark")
def test_all_that_needs_spark(tmp_path: Path) -> None:
    with PageReader(tmp_path) as reader:
        reader.paste_in_one_session(BLOCKS)
