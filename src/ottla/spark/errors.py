"""What the room ``spark`` raises; all are KafkaErrors, so that commands tell them in one line."""

from ottla.common.errors import KafkaError


class SparkUnavailableError(KafkaError):
    """Spark cannot start here: no PySpark, no Java, or a jar that could not be fetched; the message says which."""
