"""The documents stay true: what they name exists, and what they link to is there. tests/docs runs their examples."""

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

from hatch_readme import with_absolute_links

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_APACHE_ALONE = 'KINDS = ("apache",)'
_ROOMS = tuple(path.parent.name for path in ROOT.glob("src/ottla/*/__init__.py"))
REPOSITORY: Final[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]


def _dead_links(text: str, directory: Path) -> list[str]:
    """The links to files of ours that are not there, be it beside the text or by their address in the repository."""
    targets = re.findall(r"\]\(([^)#\s]+)", text)
    beside = [(target, directory / target) for target in targets if "://" not in target]
    ours = re.findall(rf"({re.escape(REPOSITORY)}/(?:blob|tree)/[^/\s]+/([^)>#\s\"]+))", text)
    return [target for target, file in beside + [(each, ROOT / path) for each, path in ours] if not file.exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    assert _dead_links(document.read_text(), document.parent) == []


def test_links_of_the_index_page_lead_somewhere(tmp_path: Path) -> None:
    """A package index shows the README without the files beside it, so no relative link may be left."""
    page = with_absolute_links((ROOT / "README.md").read_text(), f"{REPOSITORY}/blob/v1")
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", page) == []
    assert page.count(f"{REPOSITORY}/blob/v1/docs/") > 10
    assert _dead_links(page, tmp_path) == []
    assert _dead_links(f"[gone]({REPOSITORY}/blob/v1/docs/gone.md)", tmp_path) == [f"{REPOSITORY}/blob/v1/docs/gone.md"]


def test_addresses_of_the_project_lead_somewhere() -> None:
    assert _dead_links((ROOT / "pyproject.toml").read_text(), ROOT) == []
    elsewhere = {
        str(file.relative_to(ROOT))
        for file in (*DOCUMENTS, *ROOT.glob("*.toml"), *ROOT.glob("*.py"))
        for owner in re.findall(r"https://github\.com/([\w.-]+)/ottla\b", file.read_text())
        if not REPOSITORY.endswith(f"/{owner}/ottla")
    }
    assert elsewhere == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_exist(document: Path) -> None:
    """A path in backquotes is one of ours: from the root, below src/ottla, or below tests."""
    named = re.findall(r"`((?:[\w.-]+/)+(?:[\w.-]+\.(?:py|java|md|txt))?)`", document.read_text())
    ours = [
        path
        for path in named
        if path.split("/")[0] in (*_ROOMS, "bench", "docs", "src", "tests", "sim", "interop", "chaos")
    ]
    missing = [path for path in ours if not any((ROOT / base / path).exists() for base in ("", "src/ottla", "tests"))]
    assert missing == []


def _shown_by() -> list[str]:
    """What the rows of the specification name as their tests."""
    rows = re.findall(r"^\|.*\| (.*) \|$", (ROOT / "docs" / "seeds.md").read_text(), re.MULTILINE)
    return [path for row in rows for path in re.findall(r"`([^`]+)`", row) if not path.startswith("make ")]


def test_every_row_of_the_specification_names_tests_that_exist() -> None:
    assert len(_shown_by()) > 100
    assert [path for path in _shown_by() if not any([*ROOT.glob(f"tests/{path}"), *ROOT.glob(path)])] == []


def test_no_row_of_the_specification_is_shown_on_apaches_broker_alone() -> None:
    """A directory says in its conftest on whose brokers its tests run."""
    apaches = [
        conftest.parent for conftest in ROOT.glob("tests/**/conftest.py") if _APACHE_ALONE in conftest.read_text()
    ]
    assert apaches
    claimed = {found for path in _shown_by() for found in ROOT.glob(f"tests/{path}")}
    assert [test for test in claimed if any(test == each or each in test.parents for each in apaches)] == []


def test_every_section_of_the_seeds_has_a_row() -> None:
    """Only where the seeds are at hand: they are not part of the package."""
    seeds = ROOT.parent / "shared" / "seeds"
    if not seeds.is_dir():
        return
    table = (ROOT / "docs" / "seeds.md").read_text()
    headings = re.findall(r"^## (.+)$", next(seeds.glob("000_*")).read_text(), re.MULTILINE)
    headings += re.findall(r"^### (.+)$", next(seeds.glob("003_*")).read_text(), re.MULTILINE)
    # Seed 004 marks its headings with nothing: a short line that ends without a stop, before an empty one.
    lines = next(seeds.glob("004_*")).read_text()
    headings += re.findall(r"(?<=\n\n)([A-Z][\w &/,:-]{11,60}[a-z])\n\n", lines)
    missing = [
        heading for heading in headings if heading.split(" (")[0] not in table and heading != "Related Documentation"
    ]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_targets_of_make_exist(document: Path) -> None:
    """``make chaos`` in backquotes or at the beginning of a line of code."""
    targets = set(re.findall(r"^([a-z][\w/-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", document.read_text(), re.MULTILINE))
    assert named - targets == set()


def test_the_tests_that_contributors_are_shown_exist() -> None:
    shown = re.findall(r"pytest.* (tests/[\w/]+)", (ROOT / "CONTRIBUTING.md").read_text())
    assert shown
    assert [path for path in shown if not (ROOT / path).exists()] == []
