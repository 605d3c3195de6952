"""How a scan fetches: what of a consumer's configuration it honours, and sizes of its own. Pure."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.config.client_configs import ConsumerConfig
from ottla.spark.scan.scan_options import ScanOptions

FETCH_BYTES: Final = 4 * 1024 * 1024
"""What one request asks for, unless the user says; with a consumer's 1 MiB the rate is a third lower, more only takes
more memory."""
FETCHES_AHEAD: Final = 2
"""How many such answers may be on their way or wait to be decoded."""
CONNECTION_DEFAULTS: Final[Mapping[str, str]] = {"receive.buffer.bytes": str(4 * 1024 * 1024)}
"""Unless the user says: through a consumer's own 64 KiB an answer comes in a hundred pieces, each of which wakes both
sides, a tenth of a scan's CPU. The kernel gives as much of it as it may (``net.core.rmem_max``)."""


class FetchSettings(NamedTuple):
    """See a consumer's keys of these names."""

    isolation: IsolationLevel
    fail_on_data_loss: bool
    check_crcs: bool
    fetch_bytes: int
    ahead_bytes_max: int
    max_wait_ms: int
    timeout_ms: int
    """How long a range may wait for a broker to answer for it (default.api.timeout.ms)."""
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    replica_lease_ms: int
    rack_id: str

    @classmethod
    def of(cls, options: ScanOptions, config: ConsumerConfig) -> "FetchSettings":
        """``config`` is what ``options.client`` says, parsed."""
        given = options.client
        sizes = [
            size
            for name, size in (
                ("max.partition.fetch.bytes", config.max_partition_fetch_bytes),
                ("fetch.max.bytes", config.fetch_max_bytes),
            )
            if name in given
        ]
        fetch_bytes = min(sizes, default=FETCH_BYTES)
        common = config.common
        return cls(
            IsolationLevel.READ_COMMITTED if options.read_committed else IsolationLevel.READ_UNCOMMITTED,
            options.fail_on_data_loss,
            config.check_crcs,
            fetch_bytes,
            fetch_bytes * FETCHES_AHEAD,
            config.fetch_max_wait_ms,
            config.default_api_timeout_ms,
            common.retry_backoff_ms,
            common.retry_backoff_max_ms,
            common.metadata_max_age_ms,
            config.client_rack,
        )
