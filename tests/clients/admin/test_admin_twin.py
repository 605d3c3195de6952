"""The synchronous admin client has the asyncio client's methods, all of them and with the same parameters."""

import asyncio
import inspect
import subprocess
import sys

import pytest

import ottla.clients.admin as package
from ottla.clients.admin.admin import Admin as AsyncAdmin
from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.sync.admin import Admin

METHODS = sorted(
    name for name, each in inspect.getmembers(AsyncAdmin, inspect.iscoroutinefunction) if not name.startswith("_")
)


def test_there_is_something_to_compare() -> None:
    assert len(METHODS) >= 50
    assert {"create_topics", "describe_acls", "start", "close"} <= set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_the_same_without_await(name: str) -> None:
    theirs, ours = getattr(AsyncAdmin, name), getattr(Admin, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert inspect.getdoc(ours)
    assert not inspect.iscoroutinefunction(ours)


def test_the_twin_has_nothing_else() -> None:
    public = {name for name, each in inspect.getmembers(Admin, callable) if not name.startswith("_")}
    assert public == set(METHODS)


def test_every_method_has_a_timeout_and_a_docstring() -> None:
    for name in METHODS:
        if name in ("start", "close"):
            continue
        method = getattr(AsyncAdmin, name)
        timeout = inspect.signature(method).parameters["timeout_ms"]
        assert (timeout.kind, timeout.default) == (inspect.Parameter.KEYWORD_ONLY, None), name
        assert inspect.getdoc(method), name


def test_no_two_parts_have_a_method_in_common() -> None:
    parts = [each for each in AsyncAdmin.__mro__ if issubclass(each, AdminPart) and each not in (AsyncAdmin, AdminPart)]
    names = [name for part in parts for name in vars(part) if not name.startswith("__")]
    assert len(names) == len(set(names))


def test_every_exported_name_is_there() -> None:
    assert {name for name in package.__all__ if getattr(package, name, None) is None} == set()
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        package.Nothing  # noqa: B018


def test_dataclasses_need_no_network() -> None:
    code = "import sys, ottla.clients.admin as a; a.NewTopic; sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_client_may_be_made_without_a_loop() -> None:
    admin = AsyncAdmin(bootstrap_servers="127.0.0.1:1")
    assert admin.config.common.client_id.startswith("adminclient-")
    asyncio.run(admin.close())
