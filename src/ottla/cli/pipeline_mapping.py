"""The options that say which table is meant, and how its columns become records; of backfill and verify."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ottla.cli.errors import UsageError
from ottla.cli.pipeline_options import absolute

if TYPE_CHECKING:
    from ottla.spark.pipeline.record_mapping import RecordMapping
    from ottla.spark.pipeline.table_reading import TableSource


def add_mapping(parser: argparse.ArgumentParser) -> None:
    """Add them. Expressions are Spark's SQL; a column's name is one."""
    parser.add_argument("--table", metavar="PATH", help="a directory or a file of the table")
    parser.add_argument("--format", default="", metavar="FORMAT", help="parquet, delta, csv, json or orc; found out")
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="of Spark's reader of it; repeatable"
    )
    parser.add_argument("--schema", metavar="SCHEMA", help="of a CSV or JSON table; inferred if it is not given")
    parser.add_argument("--key", metavar="EXPRESSION", help="the records' keys; without it they have none")
    parser.add_argument("--value", metavar="EXPRESSION", help="the values; all columns as a JSON object by default")
    parser.add_argument("--headers", metavar="EXPRESSION", help="all headers: an array of structs of key and value")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=EXPRESSION", help="one header; repeatable"
    )
    parser.add_argument("--partition", metavar="EXPRESSION", help="the partitions; the keys choose them by default")
    parser.add_argument("--timestamp", metavar="EXPRESSION", help="the times, or milliseconds since 1970")
    parser.add_argument("--where", metavar="CONDITION", help="only these rows")
    parser.add_argument(
        "--landed", action="store_true", help="the table is one of `land --value raw`: its records as they were"
    )


def mapping_of(options: argparse.Namespace) -> "RecordMapping":
    """The mapping that the line describes."""
    from dataclasses import replace

    from ottla.spark.pipeline.record_mapping import LANDED_RAW, RecordMapping

    given = {name: getattr(options, name) for name in ("key", "value", "headers", "partition", "timestamp", "where")}
    given = {name: value for name, value in given.items() if value is not None}
    base = LANDED_RAW if options.landed else RecordMapping()
    return replace(base, header=dict(_pairs(options.header, "--header")), **given)


def table_of(options: argparse.Namespace) -> "TableSource":
    """The table that the line names."""
    from ottla.spark.pipeline.table_reading import TableSource

    return TableSource(
        absolute(options.table), options.format, dict(_pairs(options.option, "--option")), options.schema
    )


def _pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in texts]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise UsageError(f"{option} takes NAME=SOMETHING, not {name!r}")
    return [(name, value) for name, _, value in pairs]
