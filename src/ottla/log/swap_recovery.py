"""What an interrupted deletion or replacement of segments left behind, put right before the log is opened.

The cleaner replaces segments in steps (see ``LocalLog.replace_segments``). A crash leaves one of:

- ``.cleaned`` files: the new segments are not all named ``.swap`` yet. The old ones are whole; everything new goes.
- ``.swap`` files only: the new segments are complete. They win; old segments in their range of offsets go.
- ``.deleted`` files: already replaced or deleted. They go.
"""

import logging

from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.segment import LogSegment
from ottla.runtime.port import Clock, Files

logger = logging.getLogger(__name__)

_SNAPSHOT_OF_RAFT = ".checkpoint.deleted"
"""Deleted snapshots of the metadata log belong to raft."""


def complete_interrupted_swaps(files: Files, clock: Clock, directory: str, config: LogConfig) -> None:
    """Leave no file with a temporary suffix, and no record twice. A crash meanwhile leaves one of the same states."""
    leftovers = [name for name in files.list_dir(directory) if name.endswith(_TEMPORARY)]
    cleaned = [name for name in leftovers if name.endswith(names.CLEANED_SUFFIX)]
    swaps = [name for name in leftovers if name.endswith(names.SWAP_SUFFIX)]
    first_cleaned = min((names.offset_from_file_name(name) for name in cleaned), default=1 << 63)
    valid_swaps = [name for name in swaps if names.offset_from_file_name(name) < first_cleaned]
    for name in [name for name in swaps if name not in valid_swaps]:
        _remove(files, directory, name)
    if cleaned:
        # They mark the swap files as unfinished: a second crash must not find them gone and a swap file there.
        files.sync_dir(directory)
    for name in leftovers:
        if name in cleaned or (name.endswith(names.DELETED_SUFFIX) and not name.endswith(_SNAPSHOT_OF_RAFT)):
            _remove(files, directory, name)
    if valid_swaps:
        _remove_replaced(files, clock, directory, config, valid_swaps)
        files.sync_dir(directory)
        for name in valid_swaps:
            files.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(names.SWAP_SUFFIX)}")


def _remove_replaced(files: Files, clock: Clock, directory: str, config: LogConfig, swaps: list[str]) -> None:
    """Remove the old segments in the range of the new ones.

    An index without a ``.swap`` twin may be the new one, renamed before the crash; it stays, beside its segment.
    """
    first_offset, end_offset = 1 << 63, -1
    for name in swaps:
        if names.is_log_file(name.removesuffix(names.SWAP_SUFFIX)):
            base_offset = names.offset_from_file_name(name)
            segment = LogSegment(files, clock, directory, base_offset, config, suffix=names.SWAP_SUFFIX)
            first_offset = min(first_offset, base_offset)
            end_offset = max(end_offset, segment.read_next_offset())
            segment.close_handlers()
            logger.info("Found log file %s/%s from interrupted swap operation, completing it.", directory, name)
    bases = {names.offset_from_file_name(name) for name in swaps}
    for name in files.list_dir(directory):
        if names.is_log_file(name) or names.is_index_file(name) or names.is_producer_snapshot_file(name):
            try:
                offset = names.offset_from_file_name(name)
            except ValueError:
                continue
            is_new = offset in bases and not names.is_log_file(name) and name + names.SWAP_SUFFIX not in swaps
            if first_offset <= offset < end_offset and not is_new:
                logger.info("Deleting %s/%s, which was compacted but not deleted yet.", directory, name)
                files.remove(f"{directory}/{name}")


def _remove(files: Files, directory: str, name: str) -> None:
    logger.info("Deleting stray temporary file %s/%s", directory, name)
    files.remove(f"{directory}/{name}")


_TEMPORARY = (names.CLEANED_SUFFIX, names.SWAP_SUFFIX, names.DELETED_SUFFIX)
