"""The client quotas."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ottla.metadata.image.changes import applied, mark_missing
from ottla.metadata.records.settings import ClientQuotaRecord, EntityData

_NOTHING: Final[Mapping[str, float]] = {}


class ClientQuotaEntity(NamedTuple):
    """Whom a quota is for: pairs of type (user, client-id, ip) and name, None for the default, in order of type."""

    entries: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, entries: Mapping[str, str | None]) -> "ClientQuotaEntity":
        """The entity of a name a type."""
        return cls(tuple(sorted(entries.items(), key=lambda entry: entry[0])))

    @classmethod
    def from_data(cls, data: Iterable[EntityData]) -> "ClientQuotaEntity":
        """The entity that a record names; of two names of a type the last counts."""
        return cls.of({part.entity_type: part.entity_name for part in data})

    def to_data(self) -> list[EntityData]:
        """The parts as a record has them."""
        return [EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in self.entries]


@dataclass(frozen=True, slots=True)
class ClientQuotasImage:
    """The quotas of each entity that has any."""

    entities: Mapping[ClientQuotaEntity, Mapping[str, float]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is no quota."""
        return not self.entities

    def records(self) -> Iterator[ClientQuotaRecord]:
        """One record a key."""
        for entity, quotas in self.entities.items():
            for key, value in quotas.items():
                yield ClientQuotaRecord(entity=entity.to_data(), key=key, value=value)


class ClientQuotasDelta:
    """Changes to quotas: by entity, the new value of a key or None where it was taken away."""

    __slots__ = ("changes", "image")

    def __init__(self, image: ClientQuotasImage) -> None:
        self.image = image
        self.changes: dict[ClientQuotaEntity, dict[str, float | None]] = {}

    def replay(self, record: ClientQuotaRecord) -> None:
        """Set or remove one quota."""
        changes = self.changes.setdefault(ClientQuotaEntity.from_data(record.entity), {})
        changes[record.key] = None if record.remove else record.value

    def finish_snapshot(self) -> None:
        """What the snapshot did not mention is gone."""
        for entity, quotas in self.image.entities.items():
            mark_missing(quotas, self.changes.setdefault(entity, {}))

    def apply(self) -> ClientQuotasImage:
        """The image after the changes; an entity without a quota is left out."""
        entities = dict(self.image.entities)
        for entity, changes in self.changes.items():
            quotas = applied(entities.get(entity, _NOTHING), changes)
            if quotas:
                entities[entity] = quotas
            else:
                entities.pop(entity, None)
        return ClientQuotasImage(entities)
