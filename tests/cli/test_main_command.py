"""``ottla`` itself: the help, mistyped commands, versions, failures, Ctrl-C, closed pipes, and what a start costs."""

import signal
import subprocess
import sys

import pytest

from ottla import __version__
from ottla.cli import errors
from ottla.cli.main import COMMANDS, GROUPS, main
from ottla.common.errors import ApiError, InvalidConfigError
from tests.cli.terminal import command, run_in_terminal, run_piped

HEAVY = ("rich", "numpy", "pyarrow", "ssl", "numba", "asyncio", "ottla.protocol", "ottla.server")


def test_the_help_names_every_command_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["help"], ["--help"], ["-h"]):
        assert main(arguments) == 0
        printed = capsys.readouterr().out
        for group, commands in GROUPS.items():
            assert f"\n{group}:\n" in printed
            assert all(any(line.split()[:1] == [name] for line in printed.splitlines()) for name in commands)


def test_without_a_command_the_usage_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("usage: ottla COMMAND")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("topic", "topics"), ("kafka-topics.sh", "topics"), ("serve", "server"), ("consumer-group", "consumer-groups")],
)
def test_a_mistyped_command_is_guessed(capsys: pytest.CaptureFixture[str], typed: str, meant: str) -> None:
    assert main([typed]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"did you mean {meant}" in said


def test_a_command_that_is_like_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["xyzzy"]) == 2
    assert capsys.readouterr().err == "ottla: there is no command 'xyzzy'; ottla help shows all commands\n"


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ottla {__version__}\n"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "help"])
def test_every_command_has_a_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main([name, "--help"]) == 0
    by_option = capsys.readouterr().out
    assert by_option.startswith(f"usage: ottla {name}")
    assert main(["help", name]) == 0
    assert capsys.readouterr().out == by_option


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("help", "completion", "server", "storage")])
def test_help_loads_nothing_heavy(name: str) -> None:
    program = (
        "import sys\n"
        "from ottla.cli.main import main\n"
        f"assert main([{name!r}, '--help']) == 0\n"
        f"print([each for each in {HEAVY!r} if each in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("help", "server")])
def test_an_option_that_there_is_not(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main([name, "--no-such-option"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"ottla {name}: ")
    assert captured.err.endswith(f"; `ottla {name} --help` tells more\n")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("failure", "code", "line"),
    [
        (errors.CommandError("It broke.", hint="mend it"), 1, "ottla x: It broke; mend it\n"),
        (errors.CommandError("It\nbroke"), 1, "ottla x: It broke\n"),
        (errors.CommandError("It broke", code=3), 3, "ottla x: It broke\n"),
        (errors.UsageError("What?"), 1, "ottla x: What?; `ottla x --help` tells more\n"),
        (InvalidConfigError("bad value"), 1, "ottla x: bad value\n"),
        (FileNotFoundError(2, "No such file", "a.txt"), 1, "ottla x: [Errno 2] No such file: 'a.txt'\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_failures_are_one_line(capfd: pytest.CaptureFixture[str], failure: BaseException, code: int, line: str) -> None:
    def fail() -> int:
        raise failure

    assert errors.run("x", fail) == code
    assert capfd.readouterr().err == line


def test_an_error_without_words_is_named() -> None:
    assert errors.message_of(InvalidConfigError()) == "InvalidConfig"
    assert errors.hint_of(ApiError(42)) == ""  # type: ignore[arg-type]


def test_a_reader_that_leaves_is_no_failure() -> None:
    process = subprocess.Popen(command("help"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()  # before anything is written, as `| true` does
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(30), said) == (0, b"")


def test_completion_knows_every_command_and_its_options() -> None:
    for shell in ("bash", "zsh"):
        script = run_piped("completion", shell)
        assert script.code == 0, script.stderr
        assert all(name in script.stdout for name in COMMANDS)
        assert "--log-level" in script.stdout


def test_bash_completes_a_command() -> None:
    script = run_piped("completion", "bash").stdout
    asking = (
        f"{script}\nCOMP_WORDS=(ottla serv); COMP_CWORD=1; COMP_LINE='ottla serv'; COMP_POINT=10\n"
        'eval "$(complete -p ottla | sed -n "s/.*-F \\([^ ]*\\) .*/\\1 ottla serv ottla/p")"\necho "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", asking], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.split() == ["server"]


def test_the_help_in_a_terminal() -> None:
    screen = run_in_terminal("help")
    assert screen.code == 0
    assert "usage: ottla COMMAND" in screen.text


def test_ctrl_c_at_a_terminal_is_quiet(tmp_path: object) -> None:
    program = (
        "import sys, time\n"
        "from ottla.cli import errors\n"
        "def work():\n"
        "    print('working', flush=True)\n"
        "    time.sleep(60)\n"
        "    return 0\n"
        "sys.exit(errors.run('x', work))"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"working\n"
    process.send_signal(signal.SIGINT)
    assert (process.wait(30), process.stderr.read()) == (130, b"")
    process.stdout.close()
    process.stderr.close()
