"""A listener that a broker or controller advertises."""

from typing import NamedTuple


class Endpoint(NamedTuple):
    """Where a listener is; ``security_protocol`` is Kafka's id: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    name: str
    host: str
    port: int
    security_protocol: int
