"""How many rows go from Spark to Python at a time, where a record's headers are among them."""

from dataclasses import replace
from typing import Final

from ottla.spark.pipeline.job import Job

_ROWS_KEY: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ROWS: Final = "500"


def with_headers(job: Job) -> Job:
    """The job with smaller batches, unless the user has chosen a size.

    After each row Spark 4.2 asks how many bytes the batch has by now, and for a column of lists that takes as long as
    the batch has rows: with its 10,000 rows writing headers took three times as long as with 500.
    """
    return replace(job, conf={_ROWS_KEY: _ROWS, **job.conf})
