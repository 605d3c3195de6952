"""How a task reads: planned by the driver, pickled, the same for all tasks of a query."""

from dataclasses import dataclass
from typing import Final

MAX_BATCH_ROWS: Final = 49_152
"""Two batches of an answer of small records; of smaller batches Python takes a seventh more CPU, for their number."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """``client``: a consumer's properties as Kafka names them; ``columns``: names, in the order of the schema.

    ``read_committed``: records of open and aborted transactions are not seen; ``fail_on_data_loss``: offsets that are
    gone are an error, not a gap; ``max_batch_rows``: how many rows a RecordBatch has at most.
    """

    client: dict[str, str]
    columns: tuple[str, ...]
    read_committed: bool = False
    fail_on_data_loss: bool = True
    max_batch_rows: int = MAX_BATCH_ROWS

    def __post_init__(self) -> None:
        assert self.columns, "a scan has columns"
        assert self.max_batch_rows > 0
