"""The options of the sink, checked. Pure.

The stock connector's: ``topic`` and ``kafka.…``. Further ones: ``includeTimestamp`` (a column ``timestamp`` is the
records' time), ``exactlyOnce`` with ``kafka.transactional.id`` (the sink's name, see ``sink_id``) and ``stateTopic``.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.config.client_configs import ProducerConfig
from ottla.spark.options import Options, refuse_kafka, require_bootstrap_servers

STATE_TOPIC: Final = "__ottla_spark_sinks"
KNOWN: Final = ("topic", "exactlyOnce", "stateTopic", "includeTimestamp", "includeHeaders")
"""``includeHeaders`` says nothing to a sink, and programs that read and write often give it to both."""
_REFUSED: Final = {
    "key.serializer": "keys are written as the bytes of column 'key'",
    "value.serializer": "values are written as the bytes of column 'value'",
    "interceptor.classes": "the sink has no interceptors",
}
_REFUSED_EXACTLY_ONCE: Final = {
    "enable.idempotence": "exactly once needs it to be true",
    "acks": "exactly once needs all",
}
_DEFAULTS: Final = {
    # The kernel's, which grows: a task sends as fast as it can, and a full socket costs a copy.
    "send.buffer.bytes": "-1",
}
_BUFFER_BYTES: Final = 16 * 1024 * 1024
"""Half of a producer's own memory: there is one in each Python worker, and a broker takes no more at once."""
_EXACTLY_ONCE_DEFAULTS: Final = {
    # As long as brokers allow by themselves: a task's transaction is open until all of the batch are done.
    "transaction.timeout.ms": "900000",
    # A broker without replicas that is killed knows a producer's last batch only; a retry of earlier ones doubles them.
    "max.in.flight.requests.per.connection": "1",
}
_ID_LETTERS: Final = 16
_LOCAL_SCHEME: Final = re.compile("^file:/+")


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """Picklable. ``sink_id`` is empty unless exactly once was asked for: it begins all transactional ids."""

    producer: dict[str, str]
    topic: str | None
    keeps_timestamps: bool
    exactly_once: bool
    sink_id: str
    state_topic: str


def parse_sink_options(given: Mapping[str, str], *, write_id: str | None = None) -> SinkOptions:
    """InvalidConfigError, in one sentence, for anything that cannot work.

    ``write_id`` is a name that nobody else has, for a write that is no stream's.
    """
    options = Options(given)
    options.refuse_unknown(KNOWN)
    require_bootstrap_servers(options)
    topic = options.text("topic")
    if topic is not None and not topic:
        raise InvalidConfigError("Option 'topic' is empty")
    exactly_once = options.boolean("exactlyOnce", False)
    properties = _DEFAULTS | options.kafka
    if "max.request.size" not in properties:
        properties.setdefault("buffer.memory", str(_BUFFER_BYTES))
    refuse_kafka(properties, _REFUSED)
    transactional_id = properties.pop("transactional.id", "").strip()
    if exactly_once:
        refuse_kafka(properties, _REFUSED_EXACTLY_ONCE)
        properties = _EXACTLY_ONCE_DEFAULTS | properties
        ProducerConfig.parse(properties, {"transactional_id": "checked"})
    elif transactional_id:
        raise InvalidConfigError("Option 'kafka.transactional.id' is for exactlyOnce=true")
    else:
        ProducerConfig.parse(properties, {})
    return SinkOptions(
        properties,
        topic,
        options.boolean("includeTimestamp", False),
        exactly_once,
        _sink_id(options, transactional_id, write_id) if exactly_once else "",
        options.text("stateTopic") or STATE_TOPIC,
    )


def _sink_id(options: Options, transactional_id: str, write_id: str | None) -> str:
    """The sink's name, the same after a restart: what is given, else what the checkpoint's place makes of it.

    It belongs to one query, as a transactional id belongs to one producer.
    """
    if transactional_id:
        return transactional_id
    checkpoint = options.text("checkpointLocation")
    if checkpoint:
        place = _LOCAL_SCHEME.sub("/", checkpoint).rstrip("/")  # file:/a, file:///a and /a/ are /a
        return f"ottla-spark-{hashlib.sha256(place.encode()).hexdigest()[:_ID_LETTERS]}"
    if write_id is not None:
        return f"ottla-spark-{write_id}"
    raise InvalidConfigError(
        "exactlyOnce=true needs option 'checkpointLocation' or 'kafka.transactional.id', to know the sink again"
    )
