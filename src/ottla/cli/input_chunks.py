"""Standard input, read beside an event loop."""

import asyncio
import os
from collections.abc import AsyncIterator
from select import select
from typing import Final

_CHUNK_BYTES: Final = 1 << 16


async def input_chunks(descriptor: int = 0) -> AsyncIterator[bytes]:
    """What arrives, as it arrives, until the end of the input.

    Waits on the loop and not in a thread: a thread that waits for a terminal could not be told of Ctrl-C. Files are
    always ready, and are read as they are.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
        is_watched = True
    except PermissionError:  # a plain file, which cannot be watched
        is_watched = False
    try:
        while True:
            if is_watched:
                await ready.wait()
                ready.clear()
                if not select([descriptor], [], [], 0)[0]:
                    continue  # it was set again before the last piece was read; to read now would stop the loop
            chunk = os.read(descriptor, _CHUNK_BYTES)
            if not chunk:
                return
            yield chunk
    finally:
        if is_watched:
            loop.remove_reader(descriptor)


async def delimited(chunks: AsyncIterator[bytes], delimiter: bytes) -> AsyncIterator[list[bytes]]:
    """The pieces between delimiters, those of a chunk together; what follows the last delimiter is the last piece."""
    rest: list[bytes] = []
    kept = b""
    async for chunk in chunks:
        if delimiter[-1:] not in chunk:
            rest.append(chunk)
            continue
        *pieces, kept = (b"".join([kept, *rest]) + chunk).split(delimiter)
        rest = []
        yield pieces
    kept = b"".join([kept, *rest])
    if kept:
        yield kept.split(delimiter)
