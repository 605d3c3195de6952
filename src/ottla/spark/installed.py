"""Whether PySpark is there, and the packages without which its Python side does not work."""

from importlib import import_module
from importlib.util import find_spec
from typing import Final

from ottla.common.extras import how_to_install
from ottla.spark.errors import SparkUnavailableError

_BESIDE: Final = ("pyarrow", "pandas")
"""Looked for, and not imported: that takes longer than all else that a refused command does."""


def check_installed() -> None:
    """SparkUnavailableError, with a command that installs what is missing."""
    try:
        import_module("pyspark")
    except ImportError:
        raise SparkUnavailableError(f"PySpark is not installed: {how_to_install('spark')}") from None
    for name in _BESIDE:
        if find_spec(name) is None:
            raise SparkUnavailableError(f"PySpark needs {name}, which is not installed: {how_to_install('spark')}")
