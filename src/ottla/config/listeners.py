"""Listeners: where a node listens, what it tells others to connect to, and which listener is for what."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

from ottla.common.endpoint import Endpoint, SecurityProtocol
from ottla.common.errors import InvalidConfigError
from ottla.config.address_validators import NON_ROUTABLE_HOST, parse_csv_map, parse_quorum_voters
from ottla.config.addresses import MAX_PORT
from ottla.config.values import ConfigValue

_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
PROTOCOL_MAP = "listener.security.protocol.map"


SUPPORTED_PROTOCOLS = frozenset({SecurityProtocol.PLAINTEXT})


class Listeners(NamedTuple):
    """All that the listener keys say together. Listener names are in upper case, as Apache normalises them."""

    endpoints: tuple[Endpoint, ...]
    """Where this node listens."""
    controller_endpoints: tuple[Endpoint, ...]
    """Those of them that are for the controller."""
    broker_endpoints: tuple[Endpoint, ...]
    """The rest of them."""
    advertised_broker_endpoints: tuple[Endpoint, ...]
    """Where clients and brokers are told to connect to this broker."""
    advertised_controller_endpoints: tuple[Endpoint, ...]
    """Where others are told to connect to this controller, in the order of controller.listener.names."""
    inter_broker_listener_name: str
    inter_broker_security_protocol: SecurityProtocol
    controller_listener_names: tuple[str, ...]
    """As they are written: only names in upper case match a listener."""
    security_protocols: Mapping[str, SecurityProtocol]
    """The security protocol of every listener name that this node knows."""
    early_start: frozenset[str]
    """Names of the listeners that open before the node is ready."""

    @classmethod
    def from_values(cls, values: Mapping[str, ConfigValue], originals: Mapping[str, object]) -> Self:
        """Read the values of all broker keys; ``originals`` says which were set, for some defaults depend on it.

        InvalidConfigError for what Apache refuses when it reads the listeners. Whether they suit the node's roles is
        for ``validate_listeners``.
        """
        controller_names = _strings(values["controller.listener.names"])
        entries = _strings(values["listeners"])
        protocols = _security_protocols(values, originals, controller_names, entries)
        endpoints = parse_endpoints(entries, protocols)
        controllers = tuple(endpoint for endpoint in endpoints if endpoint.name in controller_names)
        advertised = endpoints
        if values["advertised.listeners"] is not None:
            advertised = parse_endpoints(_strings(values["advertised.listeners"]), protocols, distinct_ports=False)
        inter_broker_name, inter_broker_protocol = _inter_broker(values, originals, protocols)
        return cls(
            endpoints=endpoints,
            controller_endpoints=controllers,
            broker_endpoints=tuple(endpoint for endpoint in endpoints if endpoint.name not in controller_names),
            advertised_broker_endpoints=tuple(
                endpoint for endpoint in advertised if endpoint.name not in controller_names
            ),
            advertised_controller_endpoints=_advertised_controllers(values, controller_names, controllers, advertised),
            inter_broker_listener_name=inter_broker_name,
            inter_broker_security_protocol=inter_broker_protocol,
            controller_listener_names=controller_names,
            security_protocols=protocols,
            early_start=_early_start(values, endpoints, controllers),
        )

    def require_supported(self) -> None:
        """InvalidConfigError for a listener whose security protocol is not built yet."""
        used = {endpoint.name: endpoint.security_protocol for endpoint in self.endpoints}
        used[self.inter_broker_listener_name] = self.inter_broker_security_protocol
        used |= {
            name: self.security_protocols[name]
            for name in self.controller_listener_names
            if name in self.security_protocols
        }
        for name, protocol in used.items():
            if protocol not in SUPPORTED_PROTOCOLS:
                raise InvalidConfigError(
                    f"Listener {name} uses the security protocol {protocol.name}, which is not supported yet "
                    f"(supported: {', '.join(each.name for each in SUPPORTED_PROTOCOLS)})"
                )


def config_prefix(listener_name: str) -> str:
    """The prefix of keys that hold for one listener only."""
    return f"listener.name.{listener_name.lower()}."


def parse_endpoints(
    entries: Sequence[str], protocols: Mapping[str, SecurityProtocol], *, distinct_ports: bool = True
) -> tuple[Endpoint, ...]:
    """The endpoints of a list of ``NAME://host:port``; InvalidConfigError if one is malformed or two clash."""
    try:
        endpoints = tuple(_parse_endpoint(entry, protocols) for entry in entries)
        if len({endpoint.name for endpoint in endpoints}) != len(endpoints):
            raise InvalidConfigError(f"Each listener must have a different name, listeners: {_shown(entries)}")
        if distinct_ports:
            _require_distinct_ports(endpoints, entries)
    except InvalidConfigError as error:
        raise InvalidConfigError(f"Error creating broker listeners from '{_shown(entries)}': {error}") from None
    return endpoints


def _parse_endpoint(entry: str, protocols: Mapping[str, SecurityProtocol]) -> Endpoint:
    match = _ENDPOINT.fullmatch(entry)
    if match is None:
        raise InvalidConfigError(f"Unable to parse {entry} to a broker endpoint")
    name, port = match[1].upper(), int(match[3])
    if not 0 <= port <= MAX_PORT:
        raise InvalidConfigError(f"Unable to parse {entry} to a broker endpoint: port out of range")
    if name not in protocols:
        raise InvalidConfigError(f"No security protocol defined for listener {name}")
    return Endpoint(name, match[2] or None, port, protocols[name])


def _require_distinct_ports(endpoints: Iterable[Endpoint], entries: Sequence[str]) -> None:
    """Two listeners share a port only if one has an IPv4 and the other an IPv6 address, and no third has it."""
    by_port: dict[int, list[Endpoint]] = {}
    for endpoint in endpoints:
        if endpoint.port != 0:
            by_port.setdefault(endpoint.port, []).append(endpoint)
    for port, sharing in by_port.items():
        if len(sharing) < 2:
            continue
        versions = [_ip_version(endpoint.host) for endpoint in sharing]
        if versions.count(None) > 1:
            raise InvalidConfigError(f"Each listener must have a different port, listeners: {_shown(entries)}")
        addresses = [version for version in versions if version]
        if len(addresses) == 2 and (set(addresses) != {4, 6} or None in versions):
            raise InvalidConfigError(
                "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, "
                f"listeners: {_shown(entries)}, port: {port}"
            )
        if len(addresses) != 2:
            raise InvalidConfigError(
                "Each listener must have a different port unless exactly one listener has an IPv4 address and the "
                f"other IPv6 address, listeners: {_shown(entries)}, port: {port}"
            )


def _ip_version(host: str | None) -> int | None:
    from ipaddress import ip_address  # only where ports clash, and slow to load

    try:
        return ip_address(host or "").version
    except ValueError:
        return None


def _security_protocols(
    values: Mapping[str, ConfigValue],
    originals: Mapping[str, object],
    controller_names: tuple[str, ...],
    entries: tuple[str, ...],
) -> dict[str, SecurityProtocol]:
    """The map that the key gives; unset, controller listeners get PLAINTEXT too, unless TLS or SASL is used."""
    text = values[PROTOCOL_MAP]
    assert isinstance(text, str)
    protocols = {
        name.upper(): _security_protocol(protocol, PROTOCOL_MAP)
        for name, protocol in parse_csv_map(PROTOCOL_MAP, text).items()
    }
    if PROTOCOL_MAP not in originals:
        listener_names = [_listener_name(entry) for entry in entries]
        if not any(_is_ssl_or_sasl(name) for name in (*controller_names, *listener_names)):
            protocols |= {name: SecurityProtocol.PLAINTEXT for name in controller_names if name != "PLAINTEXT"}
    return protocols


def _is_ssl_or_sasl(name: str) -> bool:
    return name in SecurityProtocol.__members__ and name != "PLAINTEXT"


def _security_protocol(name: str, config: str) -> SecurityProtocol:
    try:
        return SecurityProtocol[name.upper()]
    except KeyError:
        raise InvalidConfigError(f"Invalid security protocol `{name}` defined in {config}") from None


def _listener_name(entry: str) -> str:
    name, colon, _ = entry.partition(":")
    if not colon:
        raise InvalidConfigError(f"Unable to parse a listener name from {entry}")
    return name.upper()


def _inter_broker(
    values: Mapping[str, ConfigValue], originals: Mapping[str, object], protocols: Mapping[str, SecurityProtocol]
) -> tuple[str, SecurityProtocol]:
    name, protocol_name = values["inter.broker.listener.name"], values["security.inter.broker.protocol"]
    if name is None:
        protocol = _security_protocol(str(protocol_name), "security.inter.broker.protocol")
        return protocol.name, protocol
    if "security.inter.broker.protocol" in originals:
        raise InvalidConfigError(
            "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set."
        )
    normalised = str(name).upper()
    if normalised not in protocols:
        raise InvalidConfigError(
            f"Listener with name {normalised} defined in inter.broker.listener.name not found in {PROTOCOL_MAP}."
        )
    return normalised, protocols[normalised]


def _advertised_controllers(
    values: Mapping[str, ConfigValue],
    controller_names: tuple[str, ...],
    controllers: tuple[Endpoint, ...],
    advertised: tuple[Endpoint, ...],
) -> tuple[Endpoint, ...]:
    """What is advertised, else the listener itself; for the first name without a host, what the voters say."""
    node_id = values["node.id"]
    assert isinstance(node_id, int)
    explicit = {}
    if values["advertised.listeners"] is not None:
        explicit = {endpoint.name: endpoint for endpoint in advertised if endpoint.name in controller_names}
    listening = {endpoint.name: endpoint for endpoint in controllers}
    found = []
    for index, name in enumerate(controller_names):
        endpoint = explicit.get(name.upper())
        if endpoint is None:
            endpoint = listening.get(name.upper())
            if endpoint is None:
                continue
            if endpoint.host in (None, NON_ROUTABLE_HOST):
                voters = parse_quorum_voters(_strings(values["controller.quorum.voters"])) if index == 0 else {}
                voter = voters.get(node_id)
                endpoint = (
                    endpoint._replace(host=voter.host, port=voter.port) if voter else endpoint._replace(host=None)
                )
        found.append(endpoint)
    return tuple(found)


def _early_start(
    values: Mapping[str, ConfigValue], endpoints: tuple[Endpoint, ...], controllers: tuple[Endpoint, ...]
) -> frozenset[str]:
    if values["early.start.listeners"] is None:
        return frozenset(endpoint.name for endpoint in controllers)
    names = [name for name in map(str.strip, _strings(values["early.start.listeners"])) if name]
    for name in names:
        if name not in {endpoint.name for endpoint in endpoints}:
            raise InvalidConfigError(
                f"early.start.listeners contains listener {name}, but this is not contained in listeners or "
                "controller.listener.names"
            )
    return frozenset(names)


def _strings(value: ConfigValue) -> tuple[str, ...]:
    assert isinstance(value, tuple)
    return value


def _shown(entries: Iterable[str]) -> str:
    """A list as Java prints it."""
    return f"[{', '.join(entries)}]"
