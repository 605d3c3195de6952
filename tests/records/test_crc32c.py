"""The checksum: the package's own function, and nothing of what its import does beside."""

import subprocess
import sys

import crc32c as package

from ottla.records.crc32c import crc32c


def test_it_is_the_checksum_of_the_specification() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720's check value
    assert crc32c(memoryview(b"56789"), crc32c(b"1234")) == 0xE3069283
    data = bytes(range(256)) * 40
    assert crc32c(data) == package.crc32c(data)


def test_its_import_looks_for_no_version() -> None:
    """In each Python process of Spark's that takes 0.15 s: the path has Spark's jars, which are searched for it."""
    program = "import sys, ottla.records.crc32c; print(*({'crc32c', 'importlib.metadata'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
