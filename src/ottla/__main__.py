"""``python -m ottla``: a small demonstration of the log, until the broker takes its place."""

import sys
import tempfile
import time

from ottla.config.topic import LogConfig
from ottla.log.loader import load_log
from ottla.log.log_context import LogContext
from ottla.log.offset_lookup import offset_for_timestamp
from ottla.records.batch import batches
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.record import SimpleRecord, decode_records
from ottla.runtime.inline import InlineRuntime, run

_ORDERS = 3_000
_LOST_BYTES = 10


def say(text: str) -> None:
    """Print at once, in order with the warnings of recovery."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> None:
    """Write a log, read it, tear its tail off, and open it again."""
    context = LogContext(InlineRuntime())
    config = LogConfig(segment_bytes=64 << 10)
    now_ms = context.runtime.clock.now_ms()
    with tempfile.TemporaryDirectory(prefix="ottla-") as data:
        directory = f"{data}/orders-0"
        log = load_log(context, directory, config)
        started = time.perf_counter()
        for number in range(0, _ORDERS, 10):
            records = [
                SimpleRecord(now_ms + order, b"customer-%d" % (order % 7), b'{"order": %d}' % order)
                for order in range(number, number + 10)
            ]
            log.append_as_leader(build_batch(records, compression=Compression.LZ4), leader_epoch=0)
        run(log.flush())
        elapsed_ms = (time.perf_counter() - started) * 1000
        say(f"Appended {_ORDERS} records in lz4 batches of ten and flushed them in {elapsed_ms:.0f} ms.\n")
        say("The directory is Apache Kafka's, file by file; its DumpLogSegments reads it:\n")
        for name in context.runtime.files.list_dir(directory)[:6]:
            say(f"  {name:<32} {context.runtime.files.size(f'{directory}/{name}'):>8} bytes\n")

        fetched = log.read(1_234, max_bytes=1_000)
        record = next(record for batch in batches(fetched.read()) for record in decode_records(batch))
        say(f"\nA read at offset 1234 is a range of a file: {fetched.records}\n")
        say(f"  its first record: offset {record.offset}, {record.key!r} → {record.value!r}\n")
        say(f"A lookup by time finds: {offset_for_timestamp(log, now_ms + 2_000)}\n")

        log.append_as_leader(build_batch([SimpleRecord(now_ms, b"customer-1", b"not flushed yet")]), leader_epoch=0)
        active = log.segments.active
        context.runtime.files.open(active.log_file.path).truncate(active.size - _LOST_BYTES)
        log.close_handlers()
        say(f"\nOne more record, not flushed; the process dies, and its last {_LOST_BYTES} bytes are lost.\n")
        log = load_log(context, directory, config, recovery_point=_ORDERS)
        say(f"The log opens again with everything that was flushed: {log}\n")
        log.close()


if __name__ == "__main__":
    main()
