"""Progress for people: on a terminal a line a query that is rewritten, else a line now and then."""

import sys
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Final

from ottla.spark.pipeline.batch_progress import BatchProgress

if TYPE_CHECKING:
    from rich.live import Live

_PAUSE_S: Final = 5.0
"""At most so often a line is written where lines stay."""
_FIELDS_MAX: Final = 20


class ProgressDisplay:
    """Shows the last batch of each query: open → ``show`` … → ``close``, which tells what all batches rescued."""

    def __init__(self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._lines: dict[str, str] = {}
        self._told: dict[str, float] = {}
        self._rescued: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._live: Live | None = None

    def show(self, progress: BatchProgress) -> None:
        """A batch has ended."""
        self._lines[progress.query] = progress.line()
        if progress.rescued_records:
            records, fields = self._rescued.get(progress.query, (0, ()))
            fields = tuple(dict.fromkeys((*fields, *progress.rescued_fields)))[:_FIELDS_MAX]
            self._rescued[progress.query] = records + progress.rescued_records, fields
        if self._stream.isatty():
            self._draw()
            return
        now = self._clock()
        if progress.rows and now - self._told.get(progress.query, -_PAUSE_S) >= _PAUSE_S:
            self._told[progress.query] = now
            self._stream.write(self._lines.pop(progress.query) + "\n")
            self._stream.flush()

    def tell(self, sentence: str) -> None:
        """A line of its own, above those of the queries."""
        if self._live is not None:
            self._live.console.print(sentence, markup=False, highlight=False)
            return
        self._stream.write(sentence + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the last lines on the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        elif not self._stream.isatty():
            for line in self._lines.values():
                self._stream.write(line + "\n")
        for query, (records, fields) in self._rescued.items():
            names = ", ".join(fields) + (" …" if len(fields) == _FIELDS_MAX else "")
            self._stream.write(f"{query}: {records:,} records had fields that the schema lacks: {names}\n")
        self._stream.flush()
        self._lines.clear()
        self._rescued.clear()

    def _draw(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            self._live = Live(console=Console(file=self._stream), auto_refresh=False)
            self._live.start()
        self._live.update(
            Text("\n".join(self._lines[name] for name in sorted(self._lines)), no_wrap=True), refresh=True
        )
