"""What the offset index and the time index share: a sorted file of fixed-size (key, value) entries.

An index is *active* (its segment is appended to: entries live in memory, and reach the file when the segment is
flushed, sealed or closed) or *sealed* (entries are read whole when needed, and forgotten by the :class:`IndexCache`).
Entries not yet in the file are never missed: recovery rebuilds the indexes of every segment that was not flushed.
"""

import sys
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from struct import Struct
from typing import ClassVar, Literal

from ottla.log.index_cache import IndexCache
from ottla.log.index_file import IndexFile
from ottla.runtime.port import Files

_MEMORY_BYTES_AN_ENTRY = 12


class SparseIndex(ABC):
    """Sorted entries of one segment. Subclasses say how an entry looks (``ENTRY``) and decode many at once."""

    ENTRY: ClassVar[Struct]
    KEY_TYPE: ClassVar[Literal["I", "q"]]
    """The array type of the keys in memory."""

    def __init__(self, files: Files, path: str, base_offset: int, max_bytes: int, cache: IndexCache) -> None:
        """Nothing is read before it is needed; a missing file is an empty index."""
        self.file = IndexFile(files, path)
        self.base_offset = base_offset
        self.max_entries = max_bytes // self.ENTRY.size
        self._cache = cache
        self._keys: array[int] | None = None
        self._values: array[int] = array("I")
        self._written_entries = 0
        self._file_is_exact = True
        """Whether the file is there and ends with the last entry; known once it was read."""
        self._active = False

    @property
    def path(self) -> str:
        """Where the file is."""
        return self.file.path

    # -- entries ------------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self._entries())

    @property
    def is_full(self) -> bool:
        """Whether the segment must roll because this index takes no more."""
        return self.count >= self.max_entries

    def keys(self) -> "array[int]":
        """All keys, for inspection."""
        return self._entries()

    def values(self) -> "array[int]":
        """All values, for inspection."""
        self._entries()
        return self._values

    def _floor_slot(self, key: int) -> int:
        """The last slot whose key is at most ``key``; -1 if there is none."""
        return bisect_right(self._entries(), key) - 1

    def _append(self, key: int, value: int) -> None:
        assert self._keys is not None, f"{self.path} is not active"
        self._keys.append(key)
        self._values.append(value)

    def _entries(self) -> "array[int]":
        keys = self._keys
        if keys is None:
            keys = self._load()
        elif not self._active:
            self._cache.touch(self)
        return keys

    def _load(self) -> "array[int]":
        content = self.file.read()
        data = content or b""
        entry_bytes = self.ENTRY.size
        data = data[: len(data) // entry_bytes * entry_bytes]
        if not any(data[-entry_bytes:]):
            # Apache preallocates the active index: after a crash of its broker the tail is zeros, which no entry is.
            data = data[: -(-len(data.rstrip(b"\0")) // entry_bytes) * entry_bytes]
        self._keys, self._values = self._decode(data)
        self._written_entries = len(self._keys)
        self._file_is_exact = content is not None and len(content) == self._written_entries * entry_bytes
        if not self._active:
            self._cache.admit(self, self._memory_bytes)
        return self._keys

    @property
    def _memory_bytes(self) -> int:
        return len(self._values) * _MEMORY_BYTES_AN_ENTRY

    def _last_entries(self, count: int) -> list[tuple[int, int]]:
        """The last ``count`` entries. Of an index that is not in memory only these are read, not the whole file."""
        if self._keys is None:
            data = self.file.read_tail(self.ENTRY.size, count)
            if any(data[-self.ENTRY.size :]):
                return [(key, value) for key, value in self.ENTRY.iter_unpack(data)]
        keys = self._entries()
        return list(zip(keys[-count:], self._values[-count:], strict=True))

    def _length_damage(self) -> str | None:
        """What is wrong with the length of the file."""
        odd_bytes = self.file.size() % self.ENTRY.size
        if not odd_bytes:
            return None
        return f"{odd_bytes} bytes of {self.path} are not a whole entry of {self.ENTRY.size}"

    @abstractmethod
    def _decode(self, data: bytes) -> "tuple[array[int], array[int]]":
        """Keys and values of a file image."""

    def unload(self) -> None:
        """Forget the entries of a sealed index; the file has them."""
        self._keys = None
        self._values = array("I")

    # -- life cycle ---------------------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Pin the entries in memory: appends follow."""
        if not self._active:
            self._active = True
            self._cache.discard(self)
            self._entries()

    def seal(self) -> None:
        """Write everything out and hand the entries to the cache: no appends follow."""
        if self._active:
            self.write_out()
            self._active = False
            self._cache.admit(self, self._memory_bytes)

    def reset(self) -> None:
        """Drop every entry, in memory and in the file, so that it can be rebuilt."""
        self._keys, self._values = array(self.KEY_TYPE), array("I")
        self._cut_file(0)
        self.activate()

    def _truncate_slots(self, count: int) -> None:
        """Keep the first ``count`` entries."""
        keys = self._entries()
        del keys[count:]
        del self._values[count:]
        with self.file.held():
            self.write_out()
            self._cut_file(count)

    def _cut_file(self, entries: int) -> None:
        self.file.truncate(entries * self.ENTRY.size)
        self._written_entries = entries
        self._file_is_exact = True

    def write_out(self) -> None:
        """Bring the file up to date with memory; it is durable after a sync. A file of entries in memory exists."""
        if not self._file_is_exact:  # missing, or preallocated
            self._cut_file(self._written_entries)
        written, keys = self._written_entries, self._keys
        if keys is not None and len(keys) > written:
            data = b"".join(map(self.ENTRY.pack, keys[written:], self._values[written:]))
            self.file.write(data, written * self.ENTRY.size)
            self._written_entries = len(keys)

    def close(self) -> None:
        """Write out and let go of everything."""
        self.seal()
        self.close_handlers()

    def close_handlers(self) -> None:
        """Let go without writing, for a disk that has failed."""
        self.file.close()
        self._cache.discard(self)
        self.unload()

    def remove(self) -> None:
        """Delete the file, if it is there."""
        self.close_handlers()
        self.file.remove()


def big_endian_words(data: bytes) -> "array[int]":
    """The 32-bit words of a file image, as native integers."""
    words = array("I")
    words.frombytes(data)
    if sys.byteorder == "little":
        words.byteswap()
    return words
