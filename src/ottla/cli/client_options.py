"""What commands that produce or consume have in common: how their client is configured, and how it is run."""

import argparse
import sys
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ottla.cli.arguments import given, require
from ottla.cli.connection import BOOTSTRAP_SERVERS, read_properties
from ottla.cli.errors import UsageError

if TYPE_CHECKING:
    from ottla.config.definition import ConfigTable

T = TypeVar("T")
Kind = Literal["producer", "consumer"]


def add_client(parser: argparse.ArgumentParser, kind: Kind) -> None:
    """Add the options that say where the cluster is and how the client is configured, with their old names."""
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT,…", help="brokers to connect to")
    parser.add_argument("--command-config", metavar="FILE", help=f"a properties file for the {kind}")
    parser.add_argument(f"--{kind}.config", dest="old_config", metavar="FILE", help="the old name of --command-config")
    parser.add_argument(
        "--command-property", action="append", metavar="KEY=VALUE", help=f"a property of the {kind}; goes before a file"
    )
    parser.add_argument(
        f"--{kind}-property",
        dest="old_property",
        action="append",
        metavar="KEY=VALUE",
        help="the old name of --command-property",
    )


def client_settings(options: argparse.Namespace, kind: Kind) -> dict[str, str]:
    """The properties that file and line give; the servers are to be in the line."""
    require(options, "bootstrap-server")
    check_servers(options.bootstrap_server)
    file = either(options, "command-config", f"{kind}.config", "old_config")
    pairs = either(options, "command-property", f"{kind}-property", "old_property")
    settings = read_properties(file) if file is not None else {}
    settings |= key_values(pairs or ())
    settings[BOOTSTRAP_SERVERS] = options.bootstrap_server
    return settings


def either(options: argparse.Namespace, name: str, old_name: str, old_dest: str) -> Any:
    """The value of an option that has an old name, too; using that is noted, using both is refused."""
    new, old = getattr(options, name.replace("-", "_")), getattr(options, old_dest)
    if new is not None and old is not None:
        raise UsageError(f"Options --{name} and --{old_name} cannot be specified together.")
    if old is not None:
        sys.stderr.write(
            f"Option --{old_name} is deprecated and will be removed in a future version. Use --{name} instead.\n"
        )
        return old
    return new


def key_values(pairs: Iterable[str]) -> dict[str, str]:
    """``key=value`` arguments; a missing value is empty, as Kafka's tools take it."""
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def merge(settings: dict[str, str], options: argparse.Namespace, options_of: Mapping[str, tuple[str, object]]) -> None:
    """Let options decide over settings; an option's default counts only where the setting is missing.

    ``options_of`` has, by the setting's key, the option (without dashes, its own default None) and the default.
    """
    for key, (name, default) in options_of.items():
        if given(options, name):
            settings[key] = str(getattr(options, name.replace("-", "_")))
        elif key not in settings and default is not None:
            settings[key] = str(default)


def check_servers(servers: str) -> None:
    """Refuse what is not HOST:PORT,…, in the words of Kafka's tools."""
    for server in servers.split(","):
        host, colon, port = server.strip().rpartition(":")
        if not (host and colon and port.isdigit()):
            raise UsageError("Please provide valid host:port like host1:9091,host2:9092")


def known_only(settings: Mapping[str, str], table: "ConfigTable") -> dict[str, str]:
    """The settings that the client has; others are noted, since a file may serve several clients."""
    known = {key: value for key, value in settings.items() if key in table}
    if len(known) < len(settings):
        unused = ", ".join(sorted(settings.keys() - known.keys()))
        sys.stderr.write(f"WARN These configurations were supplied but are not used: {unused}\n")
    return known


def run_client(work: Coroutine[Any, Any, T]) -> T:
    """Run what a command does with its client; a signal to stop cancels it."""
    from ottla.cli.client_notices import show_notices
    from ottla.cli.stop_signals import run

    show_notices()
    return run(work)
