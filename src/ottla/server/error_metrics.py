"""ErrorsPerSec: every error code in every answer, NONE among them, by API."""

from collections.abc import Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.metrics.instruments import Meter
from ottla.network.request_metrics import RequestChannelMetrics
from ottla.network.response_errors import error_codes
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message

_NONE: Final[int] = ErrorCode.NONE


class ErrorMetrics:
    """Counts what handlers answer. A produce without an error pays one addition: ``produce_none.value += 1``."""

    __slots__ = ("_meters", "_metrics", "produce_none")

    def __init__(self, metrics: RequestChannelMetrics) -> None:
        self._metrics = metrics
        self._meters: dict[tuple[ApiKey, int], Meter] = {}
        self.produce_none = self._meter(ApiKey.PRODUCE, ErrorCode.NONE)

    def count(self, api_key: ApiKey, codes: Sequence[int]) -> None:
        """Count the codes of an answer."""
        none = codes.count(_NONE)
        if none:
            self._meter(api_key, _NONE).value += none
        if none != len(codes):
            for code in codes:
                if code:
                    self._meter(api_key, code).value += 1

    def count_response(self, api_key: ApiKey, response: Message) -> None:
        """Count every code in a response, wherever it stands."""
        self.count(api_key, error_codes(response))

    def _meter(self, api_key: ApiKey, code: int) -> Meter:
        meter = self._meters.get((api_key, code))
        if meter is None:
            meter = self._metrics[api_key.api_name].error_meter(ErrorCode(code).name)
            self._meters[api_key, code] = meter
        return meter
