"""``ottla configs`` of users, clients and ips: quotas and SCRAM credentials."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.errors import CommandError
from ottla.cli.output import Output, Table
from ottla.clients.admin import (
    ClientQuotaFilterComponent,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
    quota_entity,
)
from ottla.clients.errors import ResourceNotFoundError
from ottla.common.errors import KafkaError

if TYPE_CHECKING:
    from ottla.clients.admin import Admin

CLIENT_QUOTAS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
IP_QUOTAS: Final = ("connection_creation_rate",)
MECHANISMS: Final = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
_MIN_ITERATIONS: Final = 4096
_ENTITIES: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
_SAID: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_CREDENTIAL: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)


async def describe(admin: "Admin", types: Sequence[str], names: Sequence[str], output: Output) -> None:
    """Show the quotas of entities, and the credentials of users."""
    if len(names) > len(types):
        raise CommandError("More entity names specified than entity types")
    found = await admin.describe_client_quotas(_components(types, names), strict=True)
    documents: list[dict[str, Any]] = []
    lines: list[str] = []
    rows: list[tuple[Any, ...]] = []
    for entity, quotas in sorted(found.items(), key=lambda each: sorted((kind, name or "") for kind, name in each[0])):
        named = {kind: dict(entity)[kind] for kind in _SAID if kind in dict(entity)}
        who = ", ".join(
            f"the default {_SAID[kind]}" if name is None else f"{_SAID[kind]} '{name}'" for kind, name in named.items()
        )
        values = ", ".join(f"{key}={java_double(value)}" for key, value in sorted(quotas.items()))
        lines.append(f"Quota configs for {who} are {values}")
        rows.append((who, values))
        documents.append({"entity": named, "quotas": dict(sorted(quotas.items())), "scram": {}})
    if "clients" not in types and types[0] == "users" and "" not in names:
        for user, credentials in (await _credentials(admin, names)).items():
            text = ", ".join(f"{mechanism}=iterations={count}" for mechanism, count in credentials.items())
            lines.append(f"SCRAM credential configs for user-principal '{user}' are {text}")
            rows.append((f"user-principal '{user}'", text))
            documents.append({"entity": {"user": user}, "quotas": {}, "scram": credentials})
    output.show(documents, lines, [Table(("Entity", "Configs"), rows)])


async def _credentials(admin: "Admin", users: Sequence[str]) -> dict[str, dict[str, int]]:
    """The iterations of each mechanism of users; of those without credentials nothing, as Apache's tool."""
    found = await admin.describe_user_scram_credentials(users or None, raise_errors=False)
    credentials: dict[str, dict[str, int]] = {}
    for user, result in sorted(found.items()):
        if isinstance(result, ResourceNotFoundError):
            continue
        if isinstance(result, KafkaError):
            raise result
        credentials[user] = {each.mechanism.name.replace("_", "-"): each.iterations for each in result}
    return credentials


async def alter(
    admin: "Admin", types: Sequence[str], names: Sequence[str], added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    """Set and delete quotas, or the credentials of a user."""
    scram = [key for key in (*added, *deleted) if key in MECHANISMS]
    _check_keys(types, names, added, deleted)
    if not scram:
        await _alter_quotas(admin, types, names, added, deleted)
        return
    user = names[0]
    await admin.alter_user_scram_credentials(
        [
            *(UserScramCredentialDeletion(user, MECHANISMS[key]) for key in deleted),
            *(_upsertion(user, key, value) for key, value in added.items()),
        ]
    )


def _check_keys(types: Sequence[str], names: Sequence[str], added: Collection[str], deleted: Collection[str]) -> None:
    """Refuse keys that such an entity does not have."""
    if types[0] == "ips":
        unknown = [key for key in (*added, *deleted) if key not in IP_QUOTAS]
        if unknown:
            raise CommandError(
                "Only connection quota configs can be added for 'ips' using --bootstrap-server. "
                f"Unexpected config names: {','.join(unknown)}"
            )
        return
    users_only = list(types) == ["users"]
    what = "quota and SCRAM credential" if users_only else "quota"
    known = (*CLIENT_QUOTAS, *(MECHANISMS if users_only else ()))
    for verb, keys in (("added", added), ("deleted", deleted)):
        unknown = [key for key in keys if key not in known]
        if unknown:
            raise CommandError(
                f"Only {what} configs can be {verb} for '{'users' if users_only else 'clients'}' using "
                f"--bootstrap-server. Unexpected config names: {','.join(unknown)}"
            )
    if any(key in MECHANISMS for key in (*added, *deleted)):
        if "" in names:
            raise CommandError(
                "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
                "--bootstrap-server."
            )
        if any(key in CLIENT_QUOTAS for key in (*added, *deleted)):
            raise CommandError(
                "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using "
                "--bootstrap-server."
            )


async def _alter_quotas(
    admin: "Admin", types: Sequence[str], names: Sequence[str], added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    entity = quota_entity({_ENTITIES[kind]: name or None for kind, name in zip(types, names, strict=True)})
    old = (await admin.describe_client_quotas(_components(types, names), strict=True)).get(entity, {})
    invalid = [key for key in deleted if key not in old]
    if invalid:
        raise CommandError(f"Invalid config(s): {','.join(invalid)}", hint="only what is set can be deleted")
    changes: dict[str, float | None] = dict.fromkeys(deleted)
    for key, value in added.items():
        try:
            changes[key] = float(value)
        except ValueError:
            raise CommandError(f"Cannot parse quota configuration value for {key}: {value}") from None
    await admin.alter_client_quotas({entity: changes})


def _components(types: Sequence[str], names: Sequence[str]) -> list[ClientQuotaFilterComponent]:
    return [
        ClientQuotaFilterComponent(_ENTITIES[kind], name or None, any_name=name is None)
        for kind, name in zip_longest(types, names)
    ]


def _upsertion(user: str, mechanism: str, text: str) -> UserScramCredentialUpsertion:
    match = _CREDENTIAL.fullmatch(text)
    if match is None:
        raise CommandError(f"Invalid credential property {mechanism}={text}", hint="it is [password=…]")
    given = match[1]
    iterations = _MIN_ITERATIONS if given in (None, "-1", "") else int(given)
    if iterations < _MIN_ITERATIONS:
        raise CommandError(
            f"Iterations {iterations} is less than the minimum {_MIN_ITERATIONS} required for {mechanism}"
        )
    return UserScramCredentialUpsertion(user, MECHANISMS[mechanism], match[2].encode(), iterations)


def java_double(value: float) -> str:
    """A number as Java prints it: from ten millions on, and below a thousandth, with an exponent."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    mantissa, _, exponent = f"{value:.17e}".partition("e")
    for digits in range(1, 18):
        shorter = f"{value:.{digits}e}"
        if float(shorter) == value:
            mantissa, _, exponent = shorter.partition("e")
            break
    return f"{mantissa.rstrip('0').ljust(mantissa.index('.') + 2, '0')}E{int(exponent)}"
