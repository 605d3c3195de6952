"""The advice on installing an extra is a command that pip takes, wherever Ottla came from."""

import shlex
import subprocess
import sys

import pytest

from ottla.common import extras
from ottla.common.extras import how_to_install, pip_arguments, pip_builds


@pytest.mark.parametrize(
    ("origin", "arguments"),
    [
        (None, "'ottla[spark]'"),
        ({"url": "file:///home/me/ottla", "dir_info": {"editable": True}}, "-e '/home/me/ottla[spark]'"),
        ({"url": "file:///home/my%20self/ottla", "dir_info": {"editable": True}}, "-e '/home/my self/ottla[spark]'"),
        ({"url": "file:///home/me/ottla", "dir_info": {}}, "'ottla[spark] @ file:///home/me/ottla'"),
        ({"url": "file:///tmp/ottla-1-py3-none-any.whl"}, "'ottla[spark] @ file:///tmp/ottla-1-py3-none-any.whl'"),
        (
            {"url": "https://host/ottla.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "'ottla[spark] @ git+https://host/ottla.git@abc'",
        ),
    ],
)
def test_where_ottla_came_from(origin: dict[str, object] | None, arguments: str) -> None:
    assert pip_arguments("spark", origin) == arguments


@pytest.mark.parametrize(
    ("origin", "builds"),
    [
        (None, False),
        ({"url": "file:///home/me/ottla", "dir_info": {}}, True),
        ({"url": "file:///tmp/ottla-1.tar.gz", "archive_info": {}}, True),
        ({"url": "file:///tmp/ottla-1-cp311-cp311-linux_x86_64.whl", "archive_info": {}}, False),
    ],
)
def test_only_sources_are_built(origin: dict[str, object] | None, builds: bool) -> None:
    assert pip_builds(origin) == builds


def test_a_compiled_ottla_stays_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """This checkout is what Ottla was installed from, so pip builds it once more."""
    plain = how_to_install("fast")
    monkeypatch.setattr(extras, "is_compiled", lambda: True)
    assert how_to_install("fast") == f"HATCH_BUILD_HOOKS_ENABLE=1 {plain}"


def test_pip_takes_the_command() -> None:
    """From the checkout that the tests run in; pip itself says what it would do, without an index."""
    command = shlex.split(how_to_install("fast"))
    assert command[0] == sys.executable
    offline = ["--dry-run", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run([*command, *offline], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
