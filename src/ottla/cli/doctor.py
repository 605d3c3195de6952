"""``ottla doctor``: find out why a cluster cannot be reached, or what is wrong with it.

Looks, in this order, at names, ports, what answers there, TLS and SASL, the addresses that the brokers give to clients,
the versions they speak, the controllers and the clock; with --server-config also at the configuration of a server on
this machine and at its log directories.
Each finding is one line, ok, warn or fail, with what to do. The exit code is 1 if something fails.
With --json: [{"level", "what", "hint"}].
"""

import argparse
import time
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser
from ottla.cli.client_options import check_servers, run_client
from ottla.cli.connection import add_connection, client_properties, read_properties
from ottla.cli.errors import UsageError
from ottla.cli.findings import Finding, Level, fail, has_failed, ok, warn
from ottla.cli.output import Output, Table
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.cli.doctor_security import SecureSide
    from ottla.clients import Admin
    from ottla.network.node import Node

_SKEW_WARN_MS: Final = 1000
_SKEW_FAIL_MS: Final = 60_000
_ADMIN_TIMEOUT: Final = {"default.api.timeout.ms": "10000", "request.timeout.ms": "5000"}
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("doctor", __doc__)
    add_connection(made)
    made.add_argument(
        "--server-config", metavar="FILE", help="a server.properties: look at it and at its log directories, too"
    )
    return made


def main(arguments: Sequence[str]) -> int:
    """Look, and tell; the exit code is 1 if something fails."""
    options = parser().parse_args(arguments)
    settings = client_properties(options, _ADMIN_TIMEOUT)
    servers = settings.get("bootstrap.servers")
    if servers is None and options.server_config is None:
        raise UsageError("Give --bootstrap-server, --server-config, or both")
    findings: list[Finding] = []
    if servers is not None:
        check_servers(servers)
        findings += run_client(_all(remote_findings(settings, servers)))
    if options.server_config is not None:
        from ottla.cli.doctor_local import local_findings

        findings += local_findings(read_properties(options.server_config))
    Output.of(options).show(
        [{"level": each.level.value, "what": each.what, "hint": each.hint} for each in findings],
        [each.line for each in findings],
        [Table(("", "Found", "What to do"), [(each.level.value, each.what, each.hint or None) for each in findings])],
    )
    return 1 if has_failed(findings) else 0


async def _all(findings: AsyncIterator[Finding]) -> list[Finding]:
    return [finding async for finding in findings]


async def remote_findings(settings: dict[str, str], servers: str) -> AsyncIterator[Finding]:
    """The configuration, the bootstrap servers, and if one of them answers as it should, the cluster."""
    from ottla.cli.doctor_security import SecureSide, configuration_finding
    from ottla.common.errors import InvalidConfigError

    side = None
    try:
        side = SecureSide.of(settings)
    except InvalidConfigError as error:
        yield configuration_finding(error)
    reached = False
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        found = [finding async for finding in _server_findings(host.strip("[]"), int(port), side)]
        for finding in found:
            yield finding
        reached = reached or not has_failed(found)
    if reached and side is not None:
        async for finding in _cluster_findings(settings, side):
            yield finding


async def _server_findings(host: str, port: int, side: "SecureSide | None") -> AsyncIterator[Finding]:
    """The name, the port, and what is there beside what the client is configured for, as far as it is."""
    from ottla.cli import probe

    place = f"{host}:{port}"
    try:
        addresses = await probe.resolve(host, port)
    except OSError as error:
        yield fail(f"The name {host} is not known: {in_words(error)}", "check its spelling, DNS and /etc/hosts")
        return
    yield ok(f"The name {host} stands for {', '.join(addresses)}")
    try:
        await probe.connects(host, port)
        spoken = await probe.speaks(host, port)
    except ConnectionRefusedError:
        yield fail(f"Nothing listens at {place}", "is the server running, and is this the port of its `listeners`?")
        return
    except TimeoutError:
        yield fail(
            f"{place} does not answer within {probe.TIMEOUT_S:g} s", "is a firewall in between, or the host down?"
        )
        return
    except OSError as error:
        yield fail(f"{place} cannot be reached: {in_words(error)}", "check network and routes")
        return
    if side is None:
        yield ok(f"{place} answers with {spoken.value}")
    else:
        finding = protocol_finding(place, spoken, side.config.security_protocol)
        yield finding
        if finding.level is Level.OK:
            login = await side.login_finding(host, port)
            if login is not None:
                yield login


def protocol_finding(place: str, spoken: object, security_protocol: str) -> Finding:
    """Whether what answers is what the client is configured for."""
    from ottla.cli.probe import Speaks

    wants_tls = security_protocol in ("SSL", "SASL_SSL")
    if spoken is Speaks.KAFKA and wants_tls:
        return fail(
            f"{place} speaks without TLS, but security.protocol is {security_protocol}",
            f"set security.protocol to {security_protocol.replace('SSL', 'PLAINTEXT')} in the file of --command-config"
            ", or use the port of a TLS listener",
        )
    if spoken is Speaks.KAFKA:
        return ok(f"A Kafka at {place} answers")
    if wants_tls and spoken in (Speaks.TLS, Speaks.NOTHING):
        return ok(f"A server with TLS at {place} answers")
    if spoken in (Speaks.TLS, Speaks.NOTHING):
        return fail(
            f"{place} does not speak Kafka's protocol in plain text (it answers with {spoken.value})",
            f"if it is a TLS listener, set security.protocol to {security_protocol.replace('PLAINTEXT', 'SSL')} in the "
            "file of --command-config",
        )
    what = spoken.value if isinstance(spoken, Speaks) else str(spoken)
    return fail(f"{place} is no Kafka: it answers with {what}", "check the port")


async def _cluster_findings(settings: dict[str, str], side: "SecureSide") -> AsyncIterator[Finding]:
    from ottla.clients.cluster.cluster_client import ClusterClient
    from ottla.common.errors import KafkaError

    client = ClusterClient(side.config)
    try:
        # Asks a bootstrap server: the addresses that it tells may be wrong ones.
        await client.start(timeout_ms=int(settings["default.api.timeout.ms"]))
    except KafkaError as error:
        yield side.refusal_finding(error)
        return
    finally:
        await client.close()
    metadata = client.metadata
    yield ok(f"The cluster {metadata.cluster_id} has {len(metadata.nodes)} broker(s), and lets us in")
    local = all(_is_local(server) for server in settings["bootstrap.servers"].split(","))
    reached = []
    for _, node in sorted(metadata.nodes.items()):
        advertised = await _advertised_finding(node, bootstrap_is_local=local)
        yield advertised
        if advertised.level is not Level.FAIL:
            reached.append(node)
    if reached:  # other questions could only fail for the same reason
        async for finding in _broker_findings(settings, reached):
            yield finding


async def _broker_findings(settings: dict[str, str], reached: list["Node"]) -> AsyncIterator[Finding]:
    """What those brokers understand that can be reached, and the controllers behind them."""
    from ottla.clients import Admin
    from ottla.common.errors import KafkaError
    from ottla.config.admin_keys import ADMIN_CONFIG

    admin = Admin({key: value for key, value in settings.items() if key in ADMIN_CONFIG})
    try:
        await admin.start()
        for node in reached:
            yield await _version_finding(admin, node)
        async for finding in _quorum_findings(admin):
            yield finding
    except KafkaError as error:
        yield fail(f"The cluster does not answer any more: {in_words(error)}", "see the brokers' logs")
    finally:
        await admin.close()


def _is_local(server: str) -> bool:
    return server.strip().rpartition(":")[0].strip("[]") in _LOCAL_NAMES


async def _advertised_finding(node: "Node", *, bootstrap_is_local: bool) -> Finding:
    from ottla.cli import probe

    place = f"{node.host}:{node.port}"
    try:
        await probe.connects(node.host, node.port)
    except OSError as error:
        return fail(
            f"Broker {node.id} tells clients to connect to {place}, which cannot be reached from here: "
            f"{in_words(error)}",
            f"is broker {node.id} running? If it is, set its advertised.listeners to an address that clients can reach",
        )
    if node.host in _LOCAL_NAMES and not bootstrap_is_local:
        return warn(
            f"Broker {node.id} tells clients to connect to {place}, which is another machine for each of them",
            f"set advertised.listeners of broker {node.id} to its name in the network",
        )
    return ok(f"Broker {node.id} at {place}, as it tells clients, can be reached from here")


async def _version_finding(admin: "Admin", node: "Node") -> Finding:
    from ottla.common.errors import KafkaError
    from ottla.protocol.api_keys import ApiKey

    try:
        described = await admin.describe_api_versions(node.id)
    except KafkaError as error:
        return fail(f"Broker {node.id} does not say which requests it understands: {in_words(error)}", "see its log")
    needed = (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.LIST_OFFSETS)
    missing = [key.name for key in needed if key not in described.versions]
    if missing:
        return fail(f"Broker {node.id} does not understand {', '.join(missing)}", "is this the port of a broker?")
    highest = described.versions[ApiKey.FETCH].highest
    return ok(
        f"Broker {node.id} understands {len(described.versions)} kinds of requests, Fetch up to version {highest}"
    )


async def _quorum_findings(admin: "Admin") -> AsyncIterator[Finding]:
    from ottla.common.errors import KafkaError

    try:
        quorum = await admin.describe_metadata_quorum()
    except KafkaError as error:
        yield warn(f"The controllers cannot be asked: {in_words(error)}", "`ottla metadata-quorum` may tell more")
        return
    now_ms = time.time_ns() // 1_000_000
    if quorum.leader_id < 0:
        yield fail(
            "The controllers have no leader", "are most of them running? `ottla metadata-quorum describe --status`"
        )
        return
    yield ok(f"Controller {quorum.leader_id} leads a quorum of {len(quorum.voters)}")
    leader = next((voter for voter in quorum.voters if voter.replica_id == quorum.leader_id), None)
    if leader is not None and leader.last_caught_up_timestamp_ms is not None:
        yield clock_finding(now_ms - leader.last_caught_up_timestamp_ms)


def clock_finding(skew_ms: int) -> Finding:
    """How far this machine's clock is from the leading controller's (positive: ahead)."""
    ahead = "ahead of" if skew_ms > 0 else "behind"
    what = f"This machine's clock is {abs(skew_ms)} ms {ahead} the controller's"
    hint = "let both follow a time server (NTP): records get the clients' timestamps, and retention counts by them"
    if abs(skew_ms) >= _SKEW_FAIL_MS:
        return fail(what, hint)
    if abs(skew_ms) >= _SKEW_WARN_MS:
        return warn(what, hint)
    return ok("The clocks of this machine and of the controller agree")
