"""What JSON values have and their schema lacks: kept as JSON text in a column, and counted in the progress.

Lacking are fields for which the schema has no name, at whatever depth; names are compared letter by letter. They keep
their place: of ``{"user": "ann", "home": {"zip": "1"}}`` and a schema without ``zip`` the text is ``{"home": {"zip":
"1"}}``, and in an array the items that have all in the schema are null. A value whose names are there twice cannot be
taken apart, and is kept whole. Spark does it all in its JVM.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

DEFAULT_COLUMN: Final = "_rescued_data"
"""As Databricks calls it."""
_OBJECT: Final = "map<string,variant>"
_METRIC: Final = "rescued fields of "
_NAMES_A_RECORD: Final = 8
_SETS_TOLD: Final = 5
_SETS_TRACKED: Final = 1000
"""Of sets of names in a batch: Spark's approx_top_k keeps so many, however many there are."""


def rescued(text: "Column", schema: "StructType") -> "Column":
    """The fields of a JSON object that the schema lacks, as JSON; null if there are none."""
    from pyspark.sql import functions as f

    whole = f.try_variant_get(f.try_parse_json(text), "$", _OBJECT)
    return _let(
        _lacking(whole, schema), lambda found: f.when(found.isNull(), text).when(f.size(found) > 0, f.to_json(found))
    )


def _lacking(fields: "Column", schema: "StructType") -> "Column":
    """The same of a map of names to variants, as such a map; null if that is null."""
    from pyspark.sql import functions as f

    known = [each.name for each in schema.fields]
    found = f.map_filter(fields, lambda name, _: ~name.isin(*known))
    for each in schema.fields:
        inner = _lacking_within(f.try_element_at(fields, f.lit(each.name)), each.dataType)
        if inner is not None:
            pair = f.create_map(f.lit(each.name), inner)
            found = f.map_concat(found, f.map_filter(pair, lambda _, value: value.isNotNull()))
    return found


def _lacking_within(value: "Column", kind: "DataType") -> "Column | None":
    """The same of a variant of that type, as a variant that is null if nothing is lacking; None if nothing can be."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        found = _lacking(f.try_variant_get(value, "$", _OBJECT), kind)
        return _let(found, lambda it: f.when(f.size(it) > 0, f.to_variant_object(it)))
    if not isinstance(kind, ArrayType | MapType):
        return None
    inner = kind.elementType if isinstance(kind, ArrayType) else kind.valueType
    if _lacking_within(value, inner) is None:
        return None

    def within(item: "Column") -> "Column":
        found = _lacking_within(item, inner)
        assert found is not None, "it was not for another item of the type"
        return found

    if isinstance(kind, ArrayType):
        items = f.transform(f.try_variant_get(value, "$", "array<variant>"), within)
        return _let(items, lambda it: f.when(f.exists(it, lambda each: each.isNotNull()), f.to_variant_object(it)))
    entries = f.transform_values(f.try_variant_get(value, "$", _OBJECT), lambda _, item: within(item))
    some = f.map_filter(entries, lambda _, item: item.isNotNull())
    return _let(some, lambda it: f.when(f.size(it) > 0, f.to_variant_object(it)))


def _let(column: "Column", use: "Callable[[Column], Column]") -> "Column":
    """``use(column)``, computed once however often it is used: nested, it would double with each level."""
    from pyspark.sql import functions as f

    return f.get(f.transform(f.array(column), use), 0)


def observed(frame: "DataFrame", column: str, topic: str) -> "DataFrame":
    """The frame; the progress of its query tells in how many of its records the column is, and with which names."""
    from pyspark.sql import functions as f

    from ottla.spark.pyspark_versions import top_values

    it = f.col(f"`{column}`")
    names = f.array_join(f.slice(f.json_object_keys(it), 1, _NAMES_A_RECORD), "\n")
    top = top_values(names, _SETS_TOLD, _SETS_TRACKED)
    return frame.observe(f"{_METRIC}{topic}", f.count(it).alias("records"), top.alias("names"))


def told(metrics: Mapping[str, Any]) -> tuple[int, tuple[str, ...]]:
    """What ``observed`` left in a query's progress: how many records, and the names of most of their fields. Pure."""
    records, names = 0, dict[str, None]()
    for name, metric in metrics.items():
        if name.startswith(_METRIC):
            records += metric["records"] or 0
            for each in metric["names"] or ():
                names |= dict.fromkeys((each["item"] or "").split("\n"))
    return records, tuple(name for name in names if name)
