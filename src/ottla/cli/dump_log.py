"""``ottla dump-log``: print what the files of a partition hold, as kafka-dump-log.sh.

Files: .log and .checkpoint (batches, with --deep-iteration or --print-data-log their records), .index and .timeindex
(checked against the log next to them), .txnindex (aborted transactions), .snapshot (producers). Nothing is changed.
With --json: one JSON document a batch or entry, on a line; the exit code is 1 if an index and the log disagree.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.arguments import command_parser, require
from ottla.cli.errors import CommandError

if TYPE_CHECKING:
    from ottla.cli.index_dump import IndexDump
    from ottla.cli.payload_decoders import Decoder
    from ottla.cli.segment_dump import SegmentDump

MAX_MESSAGE_BYTES: Final = 5 * 1024 * 1024
UNLIMITED_BYTES: Final = (1 << 31) - 1
STRING: Final = "org.apache.kafka.tools.api.StringDecoder"
_DECODERS: Final = ("offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder")

Entries = Iterator[dict[str, Any] | str]
Dump = Callable[[Path], Entries]


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("dump-log", __doc__, json=False)
    made.add_argument("--json", action="store_true", help="print each batch or entry as a JSON document on a line")
    made.add_argument("--files", metavar="FILE,…", help="the files to print")
    made.add_argument("--print-data-log", action="store_true", help="print keys and values; any decoder implies it")
    made.add_argument("--deep-iteration", action="store_true", help="print records, not only batches")
    made.add_argument("--verify-index-only", action="store_true", help="check indexes without printing them")
    made.add_argument("--index-sanity-check", action="store_true", help="check indexes as a broker does at its start")
    made.add_argument(
        "--max-message-size", type=int, default=MAX_MESSAGE_BYTES, metavar="N", help="the largest batch, in bytes"
    )
    made.add_argument("--max-bytes", type=int, default=UNLIMITED_BYTES, metavar="N", help="read so much of a log only")
    made.add_argument("--key-decoder-class", nargs="?", const=STRING, metavar="CLASS", help="how keys are shown")
    made.add_argument("--value-decoder-class", nargs="?", const=STRING, metavar="CLASS", help="how values are shown")
    made.add_argument("--offsets-decoder", action="store_true", help="records are those of __consumer_offsets")
    made.add_argument("--transaction-log-decoder", action="store_true", help="records are those of __transaction_state")
    made.add_argument("--cluster-metadata-decoder", action="store_true", help="records are those of the metadata log")
    made.add_argument("--skip-record-metadata", action="store_true", help="print keys and values only")
    return made


def main(arguments: Sequence[str]) -> int:
    """Print the files; the exit code is 0 even if an index and its log disagree, as with Kafka's tool."""
    from ottla.cli.index_dump import Findings, IndexDump, producer_snapshot, txn_index
    from ottla.log.producer_snapshot import CorruptSnapshotError

    options = parser().parse_args(arguments)
    require(options, "files")
    findings = Findings()
    indexes = IndexDump(options.index_sanity_check, options.verify_index_only, options.max_message_size, findings)
    segments = _segment_dump(options)
    dumps = _dumps(segments, indexes, options.json) | {".txnindex": txn_index, ".snapshot": producer_snapshot}
    for name in options.files.split(","):
        path = Path(name)
        if not options.json:
            sys.stdout.write(f"Dumping {path}\n")
        dump = dumps.get(path.suffix)
        if dump is None:
            _complain(f"Ignoring unknown file {path}")
            continue
        try:
            _print(path, dump(path), options.json)
        except CorruptSnapshotError as error:
            _complain(str(error))
    complaints = [*findings.lines(), *_gap_lines(segments)]
    for line in complaints:
        _complain(line)
    return 1 if options.json and complaints else 0


def _segment_dump(options: argparse.Namespace) -> "SegmentDump":
    from ottla.cli.segment_dump import SegmentDump

    contents = options.print_data_log or any(
        getattr(options, name.replace("-", "_")) for name in (*_DECODERS, "key-decoder-class", "value-decoder-class")
    )
    return SegmentDump(
        decoder=_decoder(options),
        deep=options.deep_iteration or contents,
        contents=contents,
        skip_metadata=options.skip_record_metadata,
        max_bytes=options.max_bytes,
    )


def _decoder(options: argparse.Namespace) -> "Decoder":
    from ottla.cli import payload_decoders

    if options.offsets_decoder:
        return payload_decoders.coordinator_decoder("group")
    if options.transaction_log_decoder:
        return payload_decoders.coordinator_decoder("transaction")
    if options.cluster_metadata_decoder:
        return payload_decoders.metadata_decoder()
    return payload_decoders.plain_decoder(options.key_decoder_class or STRING, options.value_decoder_class or STRING)


def _dumps(segments: "SegmentDump", indexes: "IndexDump", as_json: bool) -> dict[str, Dump]:
    """What dumps a file, by its suffix."""
    log: Dump = segments.documents if as_json else segments.lines
    return {".log": log, ".checkpoint": log, ".index": indexes.offset_index, ".timeindex": indexes.time_index}


def _print(path: Path, entries: Entries, as_json: bool) -> None:
    import json

    from ottla.cli.index_dump import entry_text

    if not path.exists():
        raise CommandError(f"There is no file {path}")
    write = sys.stdout.write
    for entry in entries:
        if isinstance(entry, str):
            document: dict[str, Any] = {"file": str(path), "note": entry}
            write((json.dumps(document) if as_json else entry) + "\n")
        else:
            write((json.dumps({"file": str(path), **entry}) if as_json else entry_text(entry)) + "\n")


def _gap_lines(segments: "SegmentDump") -> Iterator[str]:
    for name, gaps in segments.gaps.items():
        yield f"Non-consecutive offsets in {name}"
        for before, after in sorted(gaps.items()):
            yield f"  {before} is followed by {after}"


def _complain(line: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"{line}\n")
