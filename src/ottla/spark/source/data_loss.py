"""What a query does about records that it cannot read any more."""

import logging
from collections.abc import Collection
from typing import Final

from ottla.spark.scan.scan_errors import DataLossError

logger = logging.getLogger(__name__)

_ADVICE: Final = (
    "records may have been missed: they aged out, or a topic was deleted before it was read"
    " (option 'failOnDataLoss' = false goes on with what is there)"
)


def report_losses(losses: Collection[str], *, fail: bool) -> None:
    """DataLossError, or a warning for each."""
    if losses and fail:
        raise DataLossError(f"{'; '.join(losses)}: {_ADVICE}")
    for loss in losses:
        logger.warning("%s: %s", loss, _ADVICE)
