"""The transaction index: ``<base>.txnindex``, the aborted transactions whose abort marker is in the segment.

34 bytes an entry: version i16 (0), producer id i64, first offset i64, last offset i64, last stable offset i64. Most
segments have none, so the file appears with the first entry.
"""

from struct import Struct
from typing import NamedTuple

from ottla.log.index_file import IndexFile
from ottla.runtime.port import Files

_ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedTxn(NamedTuple):
    """A transaction that was aborted: from its first record to its marker, and the LSO once it was gone."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """Aborted transactions of a segment, in the order of their markers. Few, so they stay in the file."""

    def __init__(self, files: Files, path: str, base_offset: int) -> None:
        self.file = IndexFile(files, path)
        self._base_offset = base_offset
        self._entries: list[AbortedTxn] | None = None

    def entries(self) -> list[AbortedTxn]:
        """All of them; whatever cannot be read as an entry ends the list."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> list[AbortedTxn]:
        data = self.file.read() or b""
        whole_bytes = len(data) // _ENTRY.size * _ENTRY.size
        unpacked = _ENTRY.iter_unpack(data[:whole_bytes])
        return [AbortedTxn(*fields) for version, *fields in unpacked if version == _VERSION]

    def damage(self) -> str | None:
        """What is wrong with the file at first sight; None if nothing is."""
        if not self.file.exists():
            return None
        size = self.file.size()
        if size != len(self.entries()) * _ENTRY.size:
            return f"{size} bytes are not {len(self.entries())} entries of {_ENTRY.size}"
        for txn in self.entries():
            if txn.last_offset < self._base_offset or txn.first_offset > txn.last_offset:
                return f"{txn} does not belong to base offset {self._base_offset}"
        return None

    def append(self, txn: AbortedTxn) -> None:
        """Write an entry; it is durable after a sync."""
        entries = self.entries()
        assert not entries or txn.last_offset > entries[-1].last_offset, f"{txn} is not after {entries[-1]}"
        self.file.write(_ENTRY.pack(_VERSION, *txn), len(entries) * _ENTRY.size)
        entries.append(txn)

    def collect_aborted(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """Those that overlap a fetched range, and whether later segments can be left unread."""
        found = []
        for txn in self.entries():
            if txn.last_offset >= fetch_offset and txn.first_offset < upper_bound_offset:
                found.append(txn)
            if txn.last_stable_offset >= upper_bound_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the entries whose marker is at or above ``offset``."""
        entries = self.entries()
        keep = sum(txn.last_offset < offset for txn in entries)
        if keep < len(entries):
            del entries[keep:]
            self.file.truncate(keep * _ENTRY.size)

    def reset(self) -> None:
        """Drop every entry so that it can be rebuilt."""
        self._entries = []
        if self.file.exists():
            self.file.truncate(0)

    def close(self) -> None:
        """Let go of everything."""
        self.file.close()
        self._entries = None

    def remove(self) -> None:
        """Delete the file, if it is there."""
        self.close()
        self.file.remove()
