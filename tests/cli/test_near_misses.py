"""A mistyped option, choice or sub-command is told with what may be meant, of all commands by one parser."""

import argparse
from collections.abc import Iterator
from importlib import import_module

import pytest

from ottla.cli.arguments import CommandParser
from ottla.cli.errors import UsageError
from ottla.cli.main import COMMANDS, main


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (["topics", "--create", "--topic", "t", "--partitons", "3"], "--partitions"),
        (["topics", "create"], "--create"),
        (["topics", "--list", "--bootstrap_server", "x:1"], "--bootstrap-server"),
        (["console-consumer", "--topic", "t", "--from-begining"], "--from-beginning"),
        (["producer-perf-test", "--topic", "t", "--num-recrods=5"], "--num-records"),
        (["pipeline", "lnad"], "land"),
        (["pipeline", "land", "--topik", "t"], "--topic"),
        (["features", "descrbe"], "describe"),
        (["completion", "bsh"], "bash"),
        (["server", "--overide", "a=b"], "--override"),
    ],
)
def test_what_may_be_meant(capfd: pytest.CaptureFixture[str], line: list[str], meant: str) -> None:
    assert main(line) == 1
    said = capfd.readouterr().err
    assert said.startswith(f"ottla {line[0]}: ")
    assert said.endswith(f"; did you mean {meant}?\n")
    assert said.count("\n") == 1


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _parsers(each)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "help"])
def test_every_option_of_every_command(name: str) -> None:
    for parser in _parsers(import_module(f"ottla.cli.{name.replace('-', '_')}").parser()):
        assert isinstance(parser, CommandParser), "its errors are one line, and say what may be meant"
        for option in [each for each in parser._option_string_actions if len(each) > 6]:
            mistyped = f"{option[:4]}{option[5]}{option[4]}{option[6:]}"
            if mistyped == option:
                continue
            with pytest.raises(UsageError) as told:
                parser.parse_args([mistyped])
            assert "unrecognized" not in str(told.value) or "did you mean --" in told.value.hint


def test_the_sub_command_decides_what_is_near() -> None:
    parser = import_module("ottla.cli.pipeline").parser()
    with pytest.raises(UsageError) as told:
        parser.parse_args(["land", "--pictur", "x"])  # of profile
    assert told.value.hint == ""
