"""``ottla delete-records``: delete the records before an offset, as kafka-delete-records.sh.

The file says which: {"partitions": [{"topic": "orders", "partition": 0, "offset": 42}], "version": 1}.
Once the file is understood the exit code is 0, as with that tool, whatever becomes of the partitions; with --json it
is 1 if something failed.

With --json: [{"topic", "partition", "low_watermark", "error"}], one of the last two null.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ottla.cli.arguments import command_parser, require
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError, hint_of, tell
from ottla.cli.output import Output, Table
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.clients.admin import Admin
    from ottla.common.topic_partition import TopicPartition

VERSION = 1


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("delete-records", __doc__)
    add_connection(made)
    made.add_argument("--offset-json-file", metavar="FILE", help="the partitions and the offset for each")
    return made


def main(arguments: Sequence[str]) -> int:
    """Delete the records, return the exit code: 0 even if all partitions failed, as with Apache's tool."""
    options = parser().parse_args(arguments)
    require(options, "bootstrap-server", "offset-json-file")
    with open(options.offset_json_file, encoding="utf-8") as stream:
        offsets = read_offsets(stream.read())
    output = Output.of(options)
    from ottla.common.errors import KafkaError

    try:
        failed = with_admin(client_properties(options), lambda admin: _delete(admin, offsets, output))
    except KafkaError as error:
        tell("delete-records", in_words(error), hint_of(error))
        failed = True
    return 1 if failed and output.as_json else 0


async def _delete(admin: "Admin", offsets: "dict[TopicPartition, int]", output: Output) -> bool:
    """Delete, and say whether something failed."""
    from ottla.common.errors import KafkaError

    output.note("Executing records delete operation")
    results = await admin.delete_records(offsets, raise_errors=False)
    output.note("Records delete operation completed:")
    document, lines, rows = [], [], []
    for partition in sorted(results):
        result = results[partition]
        error = str(result) if isinstance(result, KafkaError) else None
        low_watermark = None if isinstance(result, KafkaError) else result.low_watermark
        document.append({**partition._asdict(), "low_watermark": low_watermark, "error": error})
        rows.append((*partition, low_watermark, error))
        lines.append(
            f"partition: {partition}\tlow_watermark: {low_watermark}"
            if error is None
            else f"partition: {partition}\terror: {error}"
        )
    output.show(document, lines, [Table(("Topic", "Partition", "Low watermark", "Error"), rows)])
    return any(each["error"] for each in document)


def read_offsets(text: str) -> "dict[TopicPartition, int]":
    """The offset for each partition that the file names."""
    from ottla.common.topic_partition import TopicPartition

    try:
        document = json.loads(text)
    except ValueError:
        raise CommandError("The input string is not a valid JSON") from None
    version = _field(document, "version", int) if isinstance(document, dict) and "version" in document else VERSION
    if version != VERSION:
        raise CommandError(f"Not supported version field value {version}", hint=f"it is {VERSION}")
    if not isinstance(document, dict) or "partitions" not in document:
        raise CommandError("Missing partitions field", hint="`ottla delete-records --help` shows a file")
    wanted = [
        (TopicPartition(_field(each, "topic", str), _field(each, "partition", int)), _field(each, "offset", int))
        for each in _field(document, "partitions", list)
    ]
    twice = sorted(partition for partition, count in Counter(each for each, _ in wanted).items() if count > 1)
    if twice:
        raise CommandError(f"Offset json file contains duplicate topic partitions: {','.join(map(str, twice))}")
    return dict(wanted)


def _field(document: Any, name: str, kind: type) -> Any:
    value = document.get(name) if isinstance(document, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CommandError(
            f"The field {name} of the file is {json.dumps(value)}, not of type {kind.__name__}",
            hint="`ottla delete-records --help` shows a file",
        )
    return value
