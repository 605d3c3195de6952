"""``ottla metadata-quorum add-controller`` and ``remove-controller``: who votes on the cluster's metadata."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ottla.cli.errors import CommandError
from ottla.cli.metadata_quorum import endpoint_text
from ottla.cli.output import Output
from ottla.common.uuid import Uuid

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, RaftVoterEndpoint

_VALID = "Is this a valid controller configuration file?"


async def change(admin: "Admin", options: argparse.Namespace, properties: Mapping[str, str], output: Output) -> None:
    """Add the controller of the file, or remove the one that the line names."""
    if options.command == "add-controller":
        await _add(admin, properties, output, dry_run=options.dry_run)
    else:
        await _remove(admin, options, output)


async def _add(admin: "Admin", properties: Mapping[str, str], output: Output, *, dry_run: bool) -> None:
    node_id = controller_id(properties)
    directory_id = _directory_id(metadata_directory(properties))
    endpoints = controller_endpoints(properties)
    if not dry_run:
        await admin.add_raft_voter(node_id, directory_id, endpoints)
    texts = [endpoint_text(endpoint) for endpoint in endpoints]
    done = "DRY RUN of adding" if dry_run else "Added"
    output.show(
        {"controller_id": node_id, "directory_id": str(directory_id), "endpoints": texts, "dry_run": dry_run},
        [f"{done} controller {node_id} with directory id {directory_id} and endpoints: {', '.join(texts)}"],
    )


async def _remove(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    if options.controller_id < 0:
        raise CommandError(f"Invalid negative --controller-id: {options.controller_id}")
    try:
        directory_id = Uuid.from_string(options.controller_directory_id)
    except ValueError as error:
        raise CommandError(f"Failed to parse --controller-directory-id: {error}") from None
    if not options.dry_run:
        await admin.remove_raft_voter(options.controller_id, directory_id)
    done = "DRY RUN of removing " if options.dry_run else "Removed "
    output.show(
        {"controller_id": options.controller_id, "directory_id": str(directory_id), "dry_run": options.dry_run},
        [f"{done} KRaft controller {options.controller_id} with directory id {directory_id}"],
    )


def controller_id(properties: Mapping[str, str]) -> int:
    """The id of the node that a controller's file describes."""
    text = properties.get("node.id")
    if text is None:
        raise CommandError(f"node.id not found in configuration file. {_VALID}")
    try:
        node_id = int(text)
    except ValueError:
        raise CommandError(f"node.id is {text!r} in configuration file. {_VALID}") from None
    if node_id < 0:
        raise CommandError(f"node.id was negative in configuration file. {_VALID}")
    if "controller" not in properties.get("process.roles", ""):
        raise CommandError(f"process.roles did not contain 'controller' in configuration file. {_VALID}")
    return node_id


def metadata_directory(properties: Mapping[str, str]) -> str:
    """Where the node keeps the metadata."""
    found = properties.get("metadata.log.dir") or properties.get("log.dirs", "").strip().split(",")[0]
    if not found:
        raise CommandError(f"Neither metadata.log.dir nor log.dirs were found. {_VALID}")
    return found


def _directory_id(path: str) -> Uuid:
    from ottla.log.meta_properties import read_meta_properties
    from ottla.runtime.live import AsyncioRuntime

    runtime = AsyncioRuntime()
    try:
        found = read_meta_properties(runtime.files, path)
    finally:
        runtime.close()
    if found is None:
        raise CommandError(f"Unable to read meta.properties from {path}", hint="`ottla storage format` formats it")
    if found.directory_id is None:
        raise CommandError(f"No directory id found in {path}")
    return found.directory_id


def controller_endpoints(properties: Mapping[str, str]) -> "list[RaftVoterEndpoint]":
    """Where the controller is reached: its listeners, or what it advertises for them."""
    from ottla.clients.admin import RaftVoterEndpoint
    from ottla.config.addresses import parse_address

    names = properties.get("controller.listener.names")
    if names is None:
        raise CommandError(f"controller.listener.names was not found. {_VALID}")
    listeners = {}
    for key in ("listeners", "advertised.listeners"):
        for entry in filter(None, (each.strip() for each in properties.get(key, "").split(","))):
            name, _, address = entry.partition("://")
            found = parse_address(address)
            if found is None:
                raise CommandError(f"Unable to parse {entry} to a broker endpoint")
            listeners[name.upper()] = RaftVoterEndpoint(name.upper(), found.host or "localhost", found.port)
    wanted = [name.strip().upper() for name in names.split(",")]
    for name in wanted:
        if name not in listeners:
            raise CommandError(f"Cannot find information about controller listener name: {name}")
    return [listeners[name] for name in wanted]
