"""The documents stay true: what they name exists, what they link to is there, and the README's example runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_ROOMS = tuple(path.parent.name for path in ROOT.glob("src/ottla/*/__init__.py"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", document.read_text())
    missing = [t for t in targets if "://" not in t and not (document.parent / t).exists()]
    assert missing == []


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


def test_the_readme_examples_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for example in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        exec(compile(example.replace("/var/lib/ottla", str(tmp_path)), "README.md", "exec"), {})
        printed.append(capsys.readouterr().out)
    assert printed == ["b'two apples'\n", "0 b'42' b'two apples'\n", "", "0 b'key' b'value'\n"]  # Spark's only declares
