"""``ottla pipeline land --topic TOPIC --to DIRECTORY``: write a topic to a Delta or Parquet table, exactly once.

JSON values become columns by a schema that is given, or inferred from a sample at the first run and then kept with the
table; Avro values by the schema that is given; raw ones stay bytes. The record's key, place and time go along as
kafka_key, kafka_topic, kafka_partition, kafka_offset and kafka_timestamp. Values that do not fit go to the topic of
--dead-letters with the reason in their headers. Started again, it goes on where it was.
"""

import argparse

from ottla.cli.arguments import require
from ottla.cli.errors import UsageError
from ottla.cli.pipeline_options import absolute, add_job, interval, job_of, offsets, positive, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    from ottla.spark.pipeline.landing import PARTITIONINGS, TABLE_FORMATS, VALUES

    parser.add_argument("--topic", metavar="TOPIC", help="the topic to land")
    parser.add_argument("--to", metavar="DIRECTORY", help="the table: a path, or the URL of a file system of Spark's")
    parser.add_argument("--format", default="delta", choices=TABLE_FORMATS, help="of the table (delta)")
    parser.add_argument("--value", default="json", choices=VALUES, help="what the values are (json)")
    parser.add_argument(
        "--schema", metavar="SCHEMA", help="'user string, at timestamp' or @FILE; Avro's own for Avro values"
    )
    parser.add_argument(
        "--reader-schema",
        metavar="SCHEMA",
        help="Avro's, by which values are read that were written by --schema: aliases, defaults, fewer fields",
    )
    parser.add_argument("--confluent", action="store_true", help="Avro values begin with the id of their schema")
    parser.add_argument("--partition-by", default="day", choices=PARTITIONINGS, help="of time (day)")
    parser.add_argument("--time-field", metavar="FIELD", help="a field that has the time; the record's own by default")
    parser.add_argument(
        "--dead-letters", metavar="TOPIC", help="for values that do not fit (TOPIC.dead-letters); '' stops at the first"
    )
    parser.add_argument(
        "--rescue",
        metavar="COLUMN",
        help="takes fields of JSON values that the schema lacks, as JSON: _rescued_data if the schema is inferred, "
        "none if it is given; '' for none",
    )
    parser.add_argument(
        "--from", dest="start", type=offsets, default="earliest", metavar="OFFSETS", help="where the first run begins"
    )
    parser.add_argument(
        "--every", type=interval, default="10 seconds", metavar="TIME", help="how often files are written"
    )
    parser.add_argument(
        "--max-offsets", type=positive, default=2_000_000, metavar="N", help="records in a batch, at most"
    )
    add_job(parser, checkpoint="DIRECTORY/_ottla/checkpoint")


def run(options: argparse.Namespace) -> int:
    """Land, return the exit code: 0 when it was stopped as asked or is done."""
    require(options, "topic", "to")
    from ottla.spark.pipeline.land import land
    from ottla.spark.pipeline.landing import Landing, dead_letters_of

    job = job_of(options, f"land-{options.topic}")
    schema = _schema(options.schema)
    if options.value == "avro" and not schema:
        raise UsageError("--value avro needs --schema, for Avro's values do not say what they are")
    if options.reader_schema is not None and options.value != "avro":
        raise UsageError(f"--reader-schema is for Avro values, not for --value {options.value}")
    if options.value == "raw" and schema:
        raise UsageError("--value raw has no --schema")
    if options.time_field is not None and options.value == "raw":
        raise UsageError("--time-field names a field of the value, which --value raw does not read")
    if options.rescue and options.value != "json":
        raise UsageError(f"--rescue takes fields of JSON values, not of --value {options.value}")
    path = absolute(options.to)
    landing = Landing(
        topic=options.topic,
        table_format=options.format,
        value=options.value,
        partition_by=options.partition_by,
        time_field=options.time_field,
        checkpoint=job.checkpoint or f"{path}/_ottla/checkpoint",
        schema=schema,
        confluent=options.confluent,
        reader_schema=_schema(options.reader_schema),
        rescue=options.rescue,
    )
    dead_letters = dead_letters_of(options.topic) if options.dead_letters is None else options.dead_letters or None
    return land(
        job,
        landing,
        path,
        dead_letters=dead_letters,
        every=options.every,
        max_offsets=options.max_offsets,
        starting_offsets=options.start,
        say=say,
    )


def _schema(text: str | None) -> str:
    if text is None or not text.startswith("@"):
        return text or ""
    with open(text[1:], encoding="utf-8") as stream:
        return stream.read().strip()
