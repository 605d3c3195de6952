"""Validators of keys that hold network addresses, and what those keys mean when parsed."""

from collections.abc import Callable
from functools import partial
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.config.addresses import Address, is_valid_host, parse_address
from ottla.config.values import ConfigValue

NON_ROUTABLE_HOST = "0.0.0.0"  # noqa: S104 - a word to look for, nothing binds to it


def parse_quorum_voters(entries: tuple[str, ...], *, routable: bool = True) -> dict[int, Address]:
    """The voters of ``controller.quorum.voters`` by node id; InvalidConfigError for a malformed entry.

    Only who needs the addresses, and not just the ids, asks for ``routable`` ones.
    """
    voters = {}
    for entry in entries:
        parts = entry.split("@")
        form = "Each entry should be in the form `{id}@{host}:{port}`."
        if len(parts) != 2 or not all(parts):
            raise InvalidConfigError(f"Invalid configuration value for controller.quorum.voters. {form}")
        try:
            voter_id = int(parts[0])
        except ValueError:
            raise InvalidConfigError(
                f"Failed to parse voter ID as an integer from {parts[0]} for the configuration controller.quorum.voters"
            ) from None
        address = parse_address(parts[1])
        if address is None:
            raise InvalidConfigError(
                f"Failed to parse host name from entry {entry} for the configuration controller.quorum.voters. {form}"
            )
        if routable and address.host == NON_ROUTABLE_HOST:
            raise InvalidConfigError(f"Host string ({address.host}) is not routeable")
        voters[voter_id] = address
    return voters


def parse_bootstrap_servers(entries: tuple[str, ...]) -> tuple[Address, ...]:
    """The addresses of ``controller.quorum.bootstrap.servers``; InvalidConfigError for a malformed one."""
    addresses = []
    for entry in entries:
        address = parse_address(entry)
        if address is None:
            raise InvalidConfigError(
                f"Failed to parse host name from {entry} for the configuration "
                'controller.quorum.bootstrap.servers. Each entry should be in the form "{host}:{port}"'
            )
        addresses.append(address)
    return tuple(addresses)


def parse_connection_overrides(text: str) -> dict[str, int]:
    """The limits of ``max.connections.per.ip.overrides`` by host; InvalidConfigError for a malformed pair."""
    name = "max.connections.per.ip.overrides"
    overrides = {}
    for host, limit in parse_csv_map(name, text).items():
        if not is_valid_host(host):
            raise InvalidConfigError(f"{name} contains invalid addresses : {host}")
        try:
            overrides[host] = int(limit)
        except ValueError:
            raise InvalidConfigError(f"{name} contains a limit that is no number: {host}:{limit}") from None
    return overrides


def parse_csv_map(name: str, text: str) -> dict[str, str]:
    """Pairs ``key:value`` with commas between, the last colon of a pair dividing it, for the config ``name``."""
    pairs = {}
    for pair in text.split(",") if text else ():
        key, colon, value = pair.rpartition(":")
        if not colon:
            raise InvalidConfigError(
                f"Error parsing configuration property '{name}': {pair.strip()!r} is no key:value pair"
            )
        pairs[key.strip()] = value.strip()
    return pairs


class AddressList:
    """A list of addresses that ``parse`` can read; it raises InvalidConfigError for a malformed entry."""

    __slots__ = ("_parse",)

    def __init__(self, parse: Callable[[tuple[str, ...]], object]) -> None:
        self._parse = parse

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse null and lists with a malformed entry."""
        if value is None:
            return "Value must be non-null"
        assert isinstance(value, tuple)
        try:
            self._parse(value)
        except InvalidConfigError as error:
            return str(error)
        return None

    def __str__(self) -> str:
        return "non-empty list"


QUORUM_VOTERS: Final = AddressList(partial(parse_quorum_voters, routable=False))
"""A list of ``id@host:port``."""

BOOTSTRAP_SERVERS: Final = AddressList(parse_bootstrap_servers)
"""A list of ``host:port``."""


class HostAndPort:
    """One ``host:port``, or none."""

    __slots__ = ()

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse text that is no address."""
        if value is None:
            return None
        assert isinstance(value, str)
        return None if parse_address(value) else "Value must be host:port"

    def __str__(self) -> str:
        return "host:port"
