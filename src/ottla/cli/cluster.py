"""``ottla cluster``: print the cluster's id and endpoints, unregister a broker, as kafka-cluster.sh.

With --json: cluster-id prints {"cluster_id"}, unregister {"unregistered": id}, list-endpoints [{"id", "host", "port",
"rack", "state" (brokers only: "fenced" or "unfenced"), "endpoint_type"}].
"""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import add_json, command_parser
from ottla.cli.connection import client_properties, with_admin
from ottla.cli.errors import CommandError, UsageError
from ottla.cli.output import Output, Table

if TYPE_CHECKING:
    from ottla.clients.admin import Admin

_DEPRECATED_CONFIG: Final = (
    "Option --config has been deprecated and will be removed in a future version. Use --command-config instead."
)


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("cluster", __doc__, json=False)
    commands = made.add_subparsers(dest="command", required=True)
    cluster_id = commands.add_parser("cluster-id", help="print the cluster's id")
    unregister = commands.add_parser("unregister", help="forget a broker that is gone for good")
    list_endpoints = commands.add_parser("list-endpoints", help="list the brokers or the controllers")
    for each in (cluster_id, unregister, list_endpoints):
        servers = each.add_mutually_exclusive_group(required=True)
        servers.add_argument("--bootstrap-server", "-b", metavar="HOST:PORT,…", help="brokers to connect to")
        servers.add_argument("--bootstrap-controller", "-C", metavar="HOST:PORT,…", help="controllers to connect to")
        each.add_argument("--config", metavar="FILE", help="the old name of --command-config")
        each.add_argument("--command-config", "-c", metavar="FILE", help="a properties file for the client")
        add_json(each)
    unregister.add_argument("--id", "-i", type=int, required=True, help="the broker's id")
    list_endpoints.add_argument(
        "--include-fenced-brokers", action="store_true", help="list brokers that are fenced, too"
    )
    return made


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    options = parser().parse_args(arguments)
    output = Output.of(options)
    if options.config is not None:
        if options.command_config is not None:
            raise UsageError("--config and --command-config cannot be specified together.")
        output.note(_DEPRECATED_CONFIG)
        options.command_config = options.config
    with_admin(client_properties(options), lambda admin: _WORK[options.command](admin, options, output))
    return 0


async def _cluster_id(admin: "Admin", _options: argparse.Namespace, output: Output) -> None:
    cluster_id = (await admin.describe_cluster()).cluster_id
    output.show({"cluster_id": cluster_id}, [f"Cluster ID: {cluster_id}"])


async def _unregister(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    from ottla.clients.errors import UnsupportedVersionError

    try:
        await admin.unregister_broker(options.id)
    except UnsupportedVersionError:
        if output.as_json:
            raise
        output.note("The target cluster does not support the broker unregistration API.")  # and 0, as Apache's tool
        return
    output.show({"unregistered": options.id}, [f"Broker {options.id} is no longer registered."])


async def _list_endpoints(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    from ottla.clients.errors import UnsupportedVersionError

    controllers = options.bootstrap_controller is not None
    if options.include_fenced_brokers and controllers:
        raise CommandError("The option --include-fenced-brokers is only supported with --bootstrap-server option")
    try:
        described = await admin.describe_cluster(include_fenced_brokers=options.include_fenced_brokers)
    except UnsupportedVersionError as error:
        if output.as_json:
            raise
        output.note(str(error))
        return
    columns = ("ID", "HOST", "PORT", "RACK", *(() if controllers else ("STATE",)), "ENDPOINT_TYPE")
    rows = []
    for node in sorted(described.nodes, key=lambda each: each.id):
        state = () if controllers else ("fenced" if node.is_fenced else "unfenced",)
        rows.append((node.id, node.host, node.port, node.rack, *state, "controller" if controllers else "broker"))
    output.show(
        [dict(zip(map(str.lower, columns), row, strict=True)) for row in rows],
        endpoint_lines(columns, rows),
        [Table(columns, rows)],
    )


def endpoint_lines(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Apache's lines: columns of ten, those of hosts and racks as wide as the widest, ``null`` for no rack."""
    host = max((len(str(row[1])) for row in rows), default=100)
    rack = max((len(str(row[3])) for row in rows if row[3]), default=10)
    state = ["%-10s"] if "STATE" in columns else []
    line = " ".join(["%-10s", f"%-{host}s", "%-10s", f"%-{rack}s", *state, "%-15s"])
    return [line % tuple(columns), *(line % tuple("null" if cell is None else cell for cell in row) for row in rows)]


_WORK: Final = {"cluster-id": _cluster_id, "unregister": _unregister, "list-endpoints": _list_endpoints}
