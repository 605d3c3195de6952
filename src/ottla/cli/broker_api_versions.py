"""``ottla broker-api-versions``: print the requests that each broker understands, as kafka-broker-api-versions.sh.

With --json: [{"id", "host", "port", "rack", "apis": [{"key", "name", "min", "max", "usable"}], "error"}]; "usable" is
the version that this command would speak, null if there is none.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.arguments import command_parser, require
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.output import Output, Table

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, ApiVersionsDescription, ClusterNode
    from ottla.common.errors import KafkaError
    from ottla.protocol.message import VersionRange

_CONTROLLERS_ONLY: Final = (52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82)
"""Requests that only controllers take."""
_COLUMNS: Final = ("API", "Key", "Min", "Max", "Usable")


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("broker-api-versions", __doc__)
    add_connection(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Print the versions, return the exit code."""
    options = parser().parse_args(arguments)
    require(options, "bootstrap-server")
    output = Output.of(options)
    with_admin(client_properties(options), lambda admin: _print(admin, output))
    return 0


async def _print(admin: "Admin", output: Output) -> None:
    from ottla.common.errors import KafkaError

    found: list[tuple[ClusterNode, ApiVersionsDescription | KafkaError]] = []
    for node in sorted((await admin.describe_cluster()).nodes, key=lambda each: each.id):
        try:
            found.append((node, await admin.describe_api_versions(node.id)))
        except KafkaError as error:
            found.append((node, error))
    document = [_document(node, answer) for node, answer in found]
    lines = [line for broker in document for line in broker_lines(broker)]
    tables = [
        Table(
            _COLUMNS,
            [tuple(api[name] for name in ("name", "key", "min", "max", "usable")) for api in broker["apis"]],
            f"Broker {broker['id']} at {broker['host']}:{broker['port']}"
            + (f": {broker['error']}" if broker["error"] else ""),
        )
        for broker in document
    ]
    output.show(document, lines, tables)


def _document(node: "ClusterNode", answer: "ApiVersionsDescription | KafkaError") -> dict[str, Any]:
    from ottla.common.errors import KafkaError

    failed = isinstance(answer, KafkaError)
    return {
        "id": node.id,
        "host": node.host,
        "port": node.port,
        "rack": node.rack,
        "apis": [] if isinstance(answer, KafkaError) else api_documents(answer.versions),
        "error": str(answer) if failed else None,
    }


def api_documents(versions: "Mapping[int, VersionRange]") -> list[dict[str, Any]]:
    """Each request that the broker or this command knows, by its key."""
    from ottla.protocol.api_keys import ApiKey

    known = {int(key) for key in ApiKey}
    documents = []
    for key in sorted({*versions, *known.difference(_CONTROLLERS_ONLY)}):
        theirs = versions.get(key)
        ours = ApiKey(key).request_class.schema.versions if key in known else None
        usable = None
        if theirs is not None and ours is not None and ours.lowest <= theirs.highest and theirs.lowest <= ours.highest:
            usable = min(ours.highest, theirs.highest)
        documents.append(
            {
                "key": key,
                "name": ApiKey(key).api_name if key in known else None,
                "min": None if theirs is None else theirs.lowest,
                "max": None if theirs is None else theirs.highest,
                "usable": usable,
            }
        )
    return documents


def broker_lines(broker: Mapping[str, Any]) -> list[str]:
    """Apache's lines for one broker."""
    rack = "null" if broker["rack"] is None else broker["rack"]
    node = f"{broker['host']}:{broker['port']} (id: {broker['id']} rack: {rack} isFenced: false)"
    if broker["error"] is not None:
        return [f"{node} -> ERROR: {broker['error']}"]
    apis = [f"\t{_api_text(api)}" for api in broker["apis"]]
    return [f"{node} -> (", *(f"{api}," for api in apis[:-1]), *apis[-1:], ")"]


def _api_text(api: Mapping[str, Any]) -> str:
    if api["min"] is None:
        return f"{api['name']}({api['key']}): UNSUPPORTED"
    versions = f"{api['min']}" if api["min"] == api["max"] else f"{api['min']} to {api['max']}"
    if api["name"] is None:
        return f"UNKNOWN({api['key']}): {versions}"
    usable = f"usable: {api['usable']}"
    if api["usable"] is None:
        from ottla.protocol.api_keys import ApiKey

        newer = api["min"] > ApiKey(api["key"]).request_class.schema.versions.highest
        usable = f"unusable: node too {'new' if newer else 'old'}"
    return f"{api['name']}({api['key']}): {versions} [{usable}]"
