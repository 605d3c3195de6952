"""Every dependency is bounded to what was tested, the locked versions are within, and which Pythons are tested."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.pythons import PYPROJECT, oldest_and_newest, supported

PROJECT = tomllib.loads(PYPROJECT.read_text())["project"]
REQUIREMENTS = [
    Requirement(line)
    for line in (
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    )
]
LOCKED = dict(line.split("==") for line in PYPROJECT.with_name("requirements.lock").read_text().splitlines())


@pytest.mark.parametrize("requirement", [each for each in REQUIREMENTS if each.name != "ottla"], ids=str)
def test_a_dependency_is_bounded_and_locked_within(requirement: Requirement) -> None:
    bounds = {each.operator for each in requirement.specifier}
    assert {">=", "<"} <= bounds
    locked = {name.lower().replace("_", "-"): version for name, version in LOCKED.items()}
    assert requirement.specifier.contains(locked[requirement.name])


def test_the_oldest_python_that_is_named_is_the_oldest_that_installs() -> None:
    major, minor = supported(PYPROJECT.read_text())[0]
    assert PROJECT["requires-python"] == f">={major}.{minor}"


def test_of_the_pythons_of_a_machine_the_oldest_and_the_newest_are_tested() -> None:
    found = {
        Path("/usr/bin/python3.11"): (3, 11, 2),
        Path("/pyenv/3.11.7/python3.11"): (3, 11, 7),
        Path("/pyenv/3.13.0/python3.13"): (3, 13, 0),
        Path("/other/python3.13"): (3, 13, 0),
    }
    picked = oldest_and_newest(found)
    assert picked == {"oldest": Path("/usr/bin/python3.11"), "newest": Path("/pyenv/3.13.0/python3.13")}
