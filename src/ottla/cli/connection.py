"""Which cluster a command talks to: ``--bootstrap-server``, ``--bootstrap-controller``, ``--command-config``."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from ottla.cli.errors import CommandError
from ottla.cli.progress import progress

if TYPE_CHECKING:
    from ottla.clients.admin import Admin

T = TypeVar("T")

BOOTSTRAP_SERVERS: Final = "bootstrap.servers"
BOOTSTRAP_CONTROLLERS: Final = "bootstrap.controllers"
_PATIENCE_S: Final = 1.0


def add_connection(parser: argparse.ArgumentParser, *, controllers: bool = False, required: bool = False) -> None:
    """Add the options that name the cluster; ``controllers`` lets the controllers be asked instead of brokers."""
    servers = parser.add_mutually_exclusive_group(required=required)
    servers.add_argument("--bootstrap-server", metavar="HOST:PORT,…", help="brokers to connect to")
    if controllers:
        servers.add_argument(
            "--bootstrap-controller", metavar="HOST:PORT,…", help="controllers to connect to, instead of brokers"
        )
    parser.add_argument("--command-config", metavar="FILE", help="a properties file for the client: security, timeouts")


def client_properties(options: argparse.Namespace, defaults: Mapping[str, str] | None = None) -> dict[str, str]:
    """The client's configuration: ``defaults``, over them the file, over that the servers that the line names."""
    properties = dict(defaults or {})
    if options.command_config is not None:
        properties |= read_properties(options.command_config)
    for key, other in ((BOOTSTRAP_SERVERS, BOOTSTRAP_CONTROLLERS), (BOOTSTRAP_CONTROLLERS, BOOTSTRAP_SERVERS)):
        value = getattr(options, key.removesuffix("s").replace(".", "_"), None)
        if value is not None:
            properties[key] = value
            properties.pop(other, None)
    return properties


def read_properties(path: str) -> dict[str, str]:
    """The properties of a file, in Java's encoding."""
    from ottla.config.properties import parse

    try:
        with open(path, encoding="latin-1") as stream:
            return parse(stream.read())
    except ValueError as error:
        raise CommandError(f"{path} is no properties file: {error}") from None


def with_admin(properties: Mapping[str, str], work: Callable[["Admin"], Awaitable[T]]) -> T:
    """Connect, do the work, disconnect, return what the work returns."""
    from ottla.cli.client_notices import show_notices
    from ottla.cli.stop_signals import run
    from ottla.clients.admin import Admin
    from ottla.config.admin_keys import ADMIN_CONFIG

    known = {key: value for key, value in properties.items() if key in ADMIN_CONFIG}
    if len(known) < len(properties):  # as Apache's clients: a file may serve several clients
        unused = ", ".join(sorted(properties.keys() - known.keys()))
        sys.stderr.write(f"WARN These configurations were supplied but are not used: {unused}\n")

    async def ask() -> T:
        admin = Admin(known)
        try:
            await patiently(admin.start(), f"Waiting for {properties.get(BOOTSTRAP_SERVERS, 'the controllers')}")
            return await work(admin)
        finally:
            await admin.close()

    show_notices()
    return run(ask())


async def patiently(connecting: Coroutine[object, object, object], what: str) -> None:
    """Await a connection, and say so on a terminal if that takes long: a cluster may be down, or about to start."""
    import asyncio

    task = asyncio.ensure_future(connecting)
    try:
        done, _ = await asyncio.wait({task}, timeout=_PATIENCE_S)
        if not done:
            with progress(what):
                await task
    finally:
        if not task.done():  # somebody pressed Ctrl-C
            task.cancel()
            await asyncio.wait({task})
    task.result()
