"""``ottla`` itself: the help, mistyped commands, versions, failures, Ctrl-C, closed pipes, and what a start costs."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ottla import __version__
from ottla.cli import errors
from ottla.cli.main import COMMANDS, GROUPS, main
from ottla.common.compiled import is_compiled
from ottla.common.errors import ApiError, InvalidConfigError
from tests.cli.terminal import command, heed_ctrl_c, run_in_terminal, run_piped
from tests.node import Node

HEAVY = ("rich", "numpy", "pyarrow", "ssl", "numba", "asyncio", "ottla.protocol.messages", "ottla.server")


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


@pytest.mark.parametrize("arguments", [["--version"], ["topics", "--version"], ["cat", "-V"]])
def test_the_version(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) == 0
    python = ".".join(map(str, sys.version_info[:3]))
    form = f"compiled, Python {python}" if is_compiled() else f"plain Python {python}"
    assert capsys.readouterr().out == f"ottla {__version__} ({form})\n"


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
    ("line", "text"),
    [
        (["topics", "--list", "--zookeeper", "localhost:2181"], "it is --bootstrap-server HOST:PORT"),
        (["console-producer", "--topic", "t", "--broker-list", "localhost:9092"], "it is --bootstrap-server since"),
        (["console-consumer", "--bootstrap-server", "x:1", "--whitelist", "a.*"], "it is --include since"),
        (["topics", "--alter", "--topic", "t", "--delete-config", "x"], "`ottla configs --alter --delete-config`"),
    ],
)
def test_options_of_old(capfd: pytest.CaptureFixture[str], line: list[str], text: str) -> None:
    assert main(line) == 1
    said = capfd.readouterr().err
    assert "unrecognized arguments: --" in said
    assert text in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("failure", "code", "line"),
    [
        (errors.CommandError("It broke.", hint="mend it"), 1, "ottla x: It broke; mend it\n"),
        (errors.CommandError("It\nbroke"), 1, "ottla x: It broke\n"),
        (errors.CommandError("It broke", code=3), 3, "ottla x: It broke\n"),
        (errors.UsageError("What?"), 1, "ottla x: What?; `ottla x --help` tells more\n"),
        (InvalidConfigError("bad value"), 1, "ottla x: bad value\n"),
        (FileNotFoundError(2, "No such file", "a.txt"), 1, "ottla x: a.txt: No such file\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_failures_are_one_line(capfd: pytest.CaptureFixture[str], failure: BaseException, code: int, line: str) -> None:
    def fail() -> int:
        raise failure

    assert errors.run("x", fail) == code
    assert capfd.readouterr().err == line


def test_an_error_without_a_hint() -> None:
    assert errors.hint_of(ApiError(42)) == ""  # type: ignore[arg-type]


def _buffered() -> dict[str, str]:
    """An environment in which Python buffers its output, so that some is left to be written at the end."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def test_a_reader_that_leaves_is_no_failure() -> None:
    process = subprocess.Popen(command("help"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_buffered())
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
        assert "--offset-json-file" in script.stdout
    assert "_shtab_ottla_delete_records___offset_json_file_COMPGEN=_shtab_compgen_files" in script_of("bash")


def script_of(shell: str) -> str:
    """The completion script of a shell."""
    return run_piped("completion", shell).stdout


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


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A server that lets clients in and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_waiting_is_shown_at_a_terminal_and_ctrl_c_is_quiet(silent_server: str) -> None:
    screen = run_in_terminal(
        "topics", "--list", "--bootstrap-server", silent_server, typed=[(f"Waiting for {silent_server}", b"\x03")]
    )
    assert screen.code == 130
    assert "Traceback" not in screen.text
    assert "ottla" not in screen.text


def test_ctrl_c_in_a_script_is_quiet(silent_server: str) -> None:
    process = subprocess.Popen(
        command("topics", "--list", "--bootstrap-server", silent_server),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_ctrl_c,
    )
    while not _is_connected(silent_server):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 130


def _is_connected(address: str) -> bool:
    """Whether somebody has connected to the port: the kernel lists its connections."""
    port = f":{int(address.partition(':')[2]):04X} "
    return any(
        line.split()[3] == "01" and port in f"{line.split()[2]} "
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
    )


def test_nobody_waits_for_the_end_of_a_list(kafka: Node) -> None:
    """As ``ottla broker-api-versions | head -1`` does: the reader takes a line and leaves."""
    process = subprocess.Popen(
        command("broker-api-versions", "--bootstrap-server", kafka.bootstrap),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_buffered(),
    )
    assert process.stdout is not None
    assert b"id: 1" in process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(30), said) == (0, b"")


def test_a_file_may_have_keys_of_other_clients(kafka: Node, written: Callable[[str, str], str]) -> None:
    path = written("client.properties", "client.id=somebody\nauto.offset.reset=earliest\n")
    done = run_piped("cluster", "cluster-id", "-c", path, "-b", kafka.bootstrap)
    assert done.code == 0
    assert done.stderr == "WARN These configurations were supplied but are not used: auto.offset.reset\n"
    path = written("bad.properties", "request.timeout.ms=soon\n")
    failed = run_piped("cluster", "cluster-id", "-c", path, "-b", kafka.bootstrap)
    assert failed.code == 1
    assert "request.timeout.ms" in failed.stderr
    assert failed.stderr.count("\n") == 1
