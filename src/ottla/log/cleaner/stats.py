"""What a cleaning run read, kept and took."""

from dataclasses import dataclass
from typing import Final

_MB: Final = 1024 * 1024


@dataclass(slots=True)
class CleanerStats:
    """Counts of one run over one log; the messages and bytes read are those of the second pass, as in Apache Kafka."""

    start_ms: int = 0
    map_done_ms: int = 0
    end_ms: int = 0
    map_bytes_read: int = 0
    map_messages_read: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    messages_read: int = 0
    messages_written: int = 0
    invalid_messages_read: int = 0
    buffer_utilization: float = 0.0

    def describe(self, cleaner_id: int, log_name: str, first_dirty_offset: int, end_offset: int) -> str:
        """The lines that go to the broker's log when a run is done."""
        elapsed_s = max(self.end_ms - self.start_ms, 1) / 1000
        index_s = max(self.map_done_ms - self.start_ms, 1) / 1000
        clean_s = max(self.end_ms - self.map_done_ms, 1) / 1000
        read_mb, written_mb, map_mb = self.bytes_read / _MB, self.bytes_written / _MB, self.map_bytes_read / _MB
        smaller = 100 * (1 - self.bytes_written / max(self.bytes_read, 1))
        fewer = 100 * (1 - self.messages_written / max(self.messages_read, 1))
        return (
            f"\n\tLog cleaner {cleaner_id} cleaned log {log_name} "
            f"(dirty section = [{first_dirty_offset}, {end_offset}])\n"
            f"\t{read_mb:,.1f} MB of log processed in {elapsed_s:,.1f} seconds ({read_mb / elapsed_s:,.1f} MB/sec).\n"
            f"\tIndexed {map_mb:,.1f} MB in {index_s:.1f} seconds ({map_mb / index_s:,.1f} MB/sec, "
            f"{100 * index_s / elapsed_s:.1f}% of total time)\n"
            f"\tBuffer utilization: {100 * self.buffer_utilization:.1f}%\n"
            f"\tCleaned {read_mb:,.1f} MB in {clean_s:.1f} seconds ({read_mb / clean_s:,.1f} MB/sec, "
            f"{100 * clean_s / elapsed_s:.1f}% of total time)\n"
            f"\tStart size: {read_mb:,.1f} MB ({self.messages_read:,} messages)\n"
            f"\tEnd size: {written_mb:,.1f} MB ({self.messages_written:,} messages)\n"
            f"\t{smaller:.1f}% size reduction ({fewer:.1f}% fewer messages)\n"
        )
