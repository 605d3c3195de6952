"""Replace a small file in one step: after a crash it holds the old contents or the new, never a mixture."""

from ottla.runtime.port import Buffer, Files

TEMPORARY_SUFFIX = ".tmp"


def write_atomically(files: Files, path: str, data: Buffer) -> None:
    """Write ``data`` to ``path`` so that it is durable on return. A leftover temporary file is overwritten."""
    temporary = path + TEMPORARY_SUFFIX
    file = files.open(temporary, create=True)
    try:
        file.truncate(0)
        file.pwrite(data, 0)
        file.sync()
    finally:
        file.close()
    files.rename(temporary, path)
    files.sync_dir(parent_dir(path))


def parent_dir(path: str) -> str:
    """The directory that holds ``path``."""
    parent, slash, _ = path.rstrip("/").rpartition("/")
    return parent or (slash or ".")
