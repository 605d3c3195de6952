"""``ottla metadata-quorum``: describe the controllers' quorum, add and remove controllers, as kafka-metadata-quorum.sh.

With --json: describe --status prints {"cluster_id", "leader_id", "leader_epoch", "high_watermark", "max_follower_lag",
"max_follower_lag_time_ms", "voters", "observers"}, the last two lists of {"id", "directory_id", "endpoints"}; describe
--replication prints [{"node_id", "directory_id", "log_end_offset", "lag", "last_fetch_timestamp",
"last_caught_up_timestamp", "status"}]; add-controller and remove-controller print {"controller_id", "directory_id",
"endpoints" (added only), "dry_run"}.
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.arguments import add_json, command_parser
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError
from ottla.cli.output import Output, Table, tabbed_lines

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, QuorumInfo, RaftVoterEndpoint, ReplicaState

_COLUMNS: Final = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)
_REPLICA_KEYS: Final = (
    "node_id",
    "directory_id",
    "log_end_offset",
    "lag",
    "last_fetch_timestamp",
    "last_caught_up_timestamp",
    "status",
)


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("metadata-quorum", __doc__)
    add_connection(made, controllers=True, required=True)
    commands = made.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe", help="describe the quorum")
    describe.add_argument("--status", action="store_true", help="the leader and the voters")
    describe.add_argument("--replication", action="store_true", help="how far each replica of the metadata is")
    describe.add_argument("--human-readable", action="store_true", help="times as so many ms ago")
    add = commands.add_parser("add-controller", help="add the controller of --command-config to the voters")
    remove = commands.add_parser("remove-controller", help="remove a controller from the voters")
    remove.add_argument("--controller-id", "-i", type=int, required=True, metavar="ID", help="its node id")
    remove.add_argument("--controller-directory-id", "-d", required=True, metavar="ID", help="its directory's id")
    for each in (add, remove):
        each.add_argument("--dry-run", action="store_true", help="only say what would happen")
    for each in (describe, add, remove):
        add_json(each)
    return made


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    options = parser().parse_args(arguments)
    output = Output.of(options)
    properties = client_properties(options)

    async def work(admin: "Admin") -> None:
        if options.command != "describe":
            from ottla.cli import quorum_changes

            await quorum_changes.change(admin, options, properties, output)
        elif options.replication:
            await _replication(admin, options.human_readable, output)
        else:
            await _status(admin, output)

    if options.command == "describe":
        _check_describe(options)
    elif options.command == "add-controller" and options.command_config is None:
        raise CommandError(
            "You must supply the configuration file of the controller you are adding when using add-controller.",
            hint="--command-config names it",
        )
    with_admin(_admin_properties(properties, options.command), work)
    return 0


def _admin_properties(properties: dict[str, str], command: str) -> dict[str, str]:
    """What the client is told: the file of add-controller is a controller's, with many keys that no client has."""
    if command != "add-controller":
        return properties
    from ottla.config.admin_keys import ADMIN_CONFIG

    return {key: value for key, value in properties.items() if key in ADMIN_CONFIG}


def _check_describe(options: argparse.Namespace) -> None:
    if options.status and options.replication:
        raise CommandError("Only one of --status or --replication should be specified with describe sub-command")
    if options.status and options.human_readable:
        raise CommandError("The option --human-readable is only supported along with --replication")
    if not options.status and not options.replication:
        raise CommandError("One of --status or --replication must be specified with describe sub-command")


async def _replication(admin: "Admin", human_readable: bool, output: Output) -> None:
    quorum = await admin.describe_metadata_quorum()
    rows = replication_rows(quorum)
    if human_readable:
        from time import time

        now_ms = int(time() * 1000)
        shown = [(*row[:4], _ago(row[4], now_ms), _ago(row[5], now_ms), row[6]) for row in rows]
    else:
        shown = [(*row[:4], *(-1 if each is None else each for each in row[4:6]), row[6]) for row in rows]
    output.show(
        [dict(zip(_REPLICA_KEYS, row, strict=True)) for row in rows],
        tabbed_lines(_COLUMNS, shown),
        [Table(_COLUMNS, shown)],
    )


def replication_rows(quorum: "QuorumInfo") -> list[tuple[Any, ...]]:
    """Each replica, the leader first, then voters, then observers; times are None where they are not known."""
    leader = _leader(quorum)
    kinds = [
        ("Leader", [leader]),
        ("Follower", [each for each in quorum.voters if each.replica_id != quorum.leader_id]),
        ("Observer", quorum.observers),
    ]
    return [
        (
            each.replica_id,
            str(each.directory_id),
            each.log_end_offset,
            leader.log_end_offset - each.log_end_offset,
            each.last_fetch_timestamp_ms,
            each.last_caught_up_timestamp_ms,
            status,
        )
        for status, replicas in kinds
        for each in replicas
    ]


def _ago(timestamp_ms: int | None, now_ms: int) -> str:
    if timestamp_ms is None:
        return "-1"
    if not 0 < timestamp_ms <= now_ms:
        raise CommandError(
            "Error while computing relative time, possible drift in system clock. "
            f"Current timestamp is {now_ms}, the replica's is {timestamp_ms}"
        )
    return f"{now_ms - timestamp_ms} ms ago"


async def _status(admin: "Admin", output: Output) -> None:
    cluster_id = (await admin.describe_cluster()).cluster_id
    document = {"cluster_id": cluster_id, **status_document(await admin.describe_metadata_quorum())}
    rows: list[tuple[str, object]] = [
        ("ClusterId", cluster_id),
        ("LeaderId", document["leader_id"]),
        ("LeaderEpoch", document["leader_epoch"]),
        ("HighWatermark", document["high_watermark"]),
        ("MaxFollowerLag", document["max_follower_lag"]),
        ("MaxFollowerLagTimeMs", document["max_follower_lag_time_ms"]),
        ("CurrentVoters", _nodes_text(document["voters"])),
        ("CurrentObservers", _nodes_text(document["observers"])),
    ]
    output.show(document, [f"{name + ':':<23} {value}" for name, value in rows], [Table(("", ""), rows)])


def status_document(quorum: "QuorumInfo") -> dict[str, Any]:
    """The quorum in short: its leader, how far the last of its voters is behind, and who belongs to it."""
    leader = _leader(quorum)
    last = min(quorum.voters, key=lambda voter: voter.log_end_offset)
    lag_time_ms = -1
    if last is leader:
        lag_time_ms = 0
    elif leader.last_caught_up_timestamp_ms is not None and last.last_caught_up_timestamp_ms is not None:
        lag_time_ms = leader.last_caught_up_timestamp_ms - last.last_caught_up_timestamp_ms
    return {
        "leader_id": quorum.leader_id,
        "leader_epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "max_follower_lag": leader.log_end_offset - last.log_end_offset,
        "max_follower_lag_time_ms": lag_time_ms,
        "voters": _nodes(quorum, quorum.voters),
        "observers": _nodes(quorum, quorum.observers),
    }


def _leader(quorum: "QuorumInfo") -> "ReplicaState":
    for voter in quorum.voters:
        if voter.replica_id == quorum.leader_id:
            return voter
    raise CommandError("The quorum has no leader now", hint="try again when a majority of the controllers is up")


def _nodes(quorum: "QuorumInfo", replicas: "Iterable[ReplicaState]") -> list[dict[str, Any]]:
    from ottla.common.uuid import ZERO_UUID

    return [
        {
            "id": each.replica_id,
            "directory_id": None if each.directory_id == ZERO_UUID else str(each.directory_id),
            "endpoints": [endpoint_text(endpoint) for endpoint in quorum.nodes.get(each.replica_id, ())],
        }
        for each in replicas
    ]


def endpoint_text(endpoint: "RaftVoterEndpoint") -> str:
    """``CONTROLLER://host:9093``, with brackets around an IPv6 address."""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{endpoint.listener}://{host}:{endpoint.port}"


def _nodes_text(nodes: Iterable[dict[str, Any]]) -> str:
    """Apache's text, nearly JSON."""
    texts = []
    for node in nodes:
        fields = [f'"id": {node["id"]}']
        if node["directory_id"] is not None:
            fields.append(f'"directoryId": "{node["directory_id"]}"')
        if node["endpoints"]:
            endpoints = ", ".join(f'"{endpoint}"' for endpoint in node["endpoints"])
            fields.append(f'"endpoints": [{endpoints}]')
        texts.append("{" + ", ".join(fields) + "}")
    return f"[{', '.join(texts)}]"
