"""A log whose directory is only a name, as in a first try: it lies where the process is."""

from pathlib import Path

import pytest

from ottla.config.topic import LogConfig
from ottla.log.loader import load_log
from ottla.log.log_context import LogContext
from ottla.runtime.inline import InlineRuntime


def test_a_name_is_a_directory_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load_log(LogContext(InlineRuntime()), "orders-0", LogConfig()).close()
    assert (tmp_path / "orders-0" / "00000000000000000000.log").is_file()
