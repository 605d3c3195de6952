"""What is published: an sdist that can be checked, an index page without dead ends, wheels for what we promise."""

import re
import subprocess
import sys
import tarfile
import tomllib
from email.parser import Parser
from pathlib import Path
from typing import Any, Final

import pytest

from ottla import __version__

ROOT: Final = Path(__file__).parents[1]
PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())
STAYS_OUT: Final = {".ci"}
"""What the sdist leaves out of the checkout, on purpose."""


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of an sdist that is built here, by their path in it."""
    directory = tmp_path_factory.mktemp("sdist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", directory], cwd=ROOT, check=True)
    (archive,) = directory.iterdir()
    with tarfile.open(archive) as opened:
        files = {each.name.partition("/")[2]: opened.extractfile(each) for each in opened if each.isfile()}
        return {name: content.read() for name, content in files.items() if content is not None}


def test_the_sdist_holds_the_checkout(sdist: dict[str, bytes]) -> None:
    """A new directory or file at the top is either packed or named above."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout, whose files git could name")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {name for name in listed.splitlines() if (ROOT / name).is_file()}
    wanted = {name for name in tracked if name.split("/")[0] not in STAYS_OUT}
    assert sorted(wanted - set(sdist)) == []
    assert {name.split("/")[0] for name in sdist} - {name.split("/")[0] for name in wanted} == {"PKG-INFO"}


def test_the_page_on_the_index_links_to_the_tag_of_the_version(sdist: dict[str, bytes]) -> None:
    published = Parser().parsestr(sdist["PKG-INFO"].decode())
    urls = dict(each.split(", ") for each in published.get_all("Project-URL", []))
    assert published["Author"] == "The Ottla authors"
    assert published["Description-Content-Type"] == "text/markdown"
    targets = re.findall(r"\]\(([^)]+)\)", str(published.get_payload()))
    assert f"{urls['Repository']}/blob/v{__version__}/docs/releasing.md" in targets
    assert [each for each in targets if "://" not in each and not each.startswith("#")] == []


def test_wheels_are_built_for_every_python_that_is_promised() -> None:
    built = PYPROJECT["tool"]["cibuildwheel"]["build"].split()
    promised = [each.split()[-1] for each in PYPROJECT["project"]["classifiers"] if " Python :: 3." in each]
    assert built == [f"cp{python.replace('.', '')}-*" for python in promised]


def test_every_wheel_is_compiled_and_says_so() -> None:
    wheels = PYPROJECT["tool"]["cibuildwheel"]
    assert wheels["environment"]["HATCH_BUILD_HOOKS_ENABLE"] == "1"
    script = re.fullmatch(r"python -P \{project\}/(\S+) compiled", wheels["test-command"])
    assert script and (ROOT / script[1]).exists()
