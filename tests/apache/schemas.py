"""Apache's message schemas, as they stand in its jars, beside the classes that Ottla declares."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from ottla.protocol.message import ArrayOf, Field, Message, Type, VersionRange
from tests.oracle import KAFKA_VERSION, Oracle

Schema = dict[str, Any]

_EMPTY: dict[str, object] = {"string": "", "bytes": b"", "uuid": bytes(16), "float64": 0.0, "records": b""}
_INTEGERS = {kind.value for kind in Type if "int" in kind.value}


def read_schemas(oracle: Oracle, jar: str, directory: str) -> list[Schema]:
    """Every schema below ``directory`` in the jar of that name, e.g. ("kafka-clients", "common/message")."""
    (jars,) = (entry[:-2] for entry in oracle.classpath.split(":") if entry.endswith("/*"))
    with zipfile.ZipFile(Path(jars) / f"{jar}-{KAFKA_VERSION}.jar") as archive:
        names = [name for name in archive.namelist() if re.fullmatch(rf"{directory}/[^/]*\.json", name)]
        texts = [archive.read(name).decode() for name in names]
    return [json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)) for text in texts]


class Comparison(NamedTuple):
    """One of Apache's schemas, with the names that Ottla's structs may have for it."""

    schema: Schema
    prefix: str = ""
    """What stands before a struct's name where that name alone would occur twice in a module."""

    def check(self, cls: type[Message]) -> None:
        """Fail with the first thing in which ``cls`` differs from the schema."""
        assert cls.__name__ == self.schema["name"]
        assert cls.schema.api_key == self.schema.get("apiKey", -1), cls
        assert cls.schema.versions == VersionRange.parse(self.schema["validVersions"]), cls
        assert cls.schema.flexible == VersionRange.parse(self.schema["flexibleVersions"]), cls
        self._check_fields(cls, self.schema["fields"])

    def _check_fields(self, cls: type[Message], schemas: list[Schema]) -> None:
        assert [field.name for field in cls.schema.fields] == [_snake_case(schema["name"]) for schema in schemas], cls
        for field, schema in zip(cls.schema.fields, schemas, strict=True):
            self._check_field(f"{cls.__name__}.{field.name}", field, schema)

    def _check_field(self, where: str, field: Field, schema: Schema) -> None:
        versions = schema.get("versions") or schema["taggedVersions"]  # a tagged field need not say both
        assert field.versions == VersionRange.parse(versions), where
        assert field.nullable == VersionRange.parse(schema.get("nullableVersions", "none")), where
        assert field.tagged == VersionRange.parse(schema.get("taggedVersions", "none")), where
        assert field.tag == schema.get("tag", -1), where
        assert field.flexible == (schema.get("flexibleVersions") != "none"), where
        default = getattr(field.default, "bytes", field.default)
        if isinstance(field.type, type) and "nullableVersions" in schema and schema.get("default") != "null":
            assert default == field.type(), where
        else:
            assert (type(default), default) == (type(_default(schema)), _default(schema)), where
        kind, element = schema["type"], field.type
        if kind.startswith("[]"):
            assert isinstance(element, ArrayOf), where
            kind, element = kind[2:], element.element
        if isinstance(element, Type):
            assert element.value == kind, where
        else:
            assert not isinstance(element, ArrayOf), where
            assert element.__name__ in (kind, self.prefix + kind), where
            self._check_fields(element, self._struct_fields(kind, schema))

    def _struct_fields(self, name: str, schema: Schema) -> list[Schema]:
        common = {struct["name"]: struct["fields"] for struct in self.schema.get("commonStructs", ())}
        fields: list[Schema] = schema.get("fields") or common[name]
        return fields


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _default(schema: Schema) -> object:
    """A field's default as Ottla declares it.

    A struct's is None, which stands for the struct with its defaults (unless it may be null); that of records, which
    Apache leaves at null, is something that can be written.
    """
    text = schema.get("default")
    kind = schema["type"]
    if text == "null" or (kind == "records" and schema.get("nullableVersions") == schema["versions"]):
        return None
    if kind.startswith("[]"):
        return ()
    if kind == "bool":
        return text in ("true", True)
    if kind in _INTEGERS:
        return int(str(text or 0), 0)
    if kind in _EMPTY:
        return text if text is not None else _EMPTY[kind]
    return None
