"""All keys of an admin client."""

from ottla.config.client_sasl_keys import CLIENT_SASL_KEYS
from ottla.config.client_ssl_keys import CLIENT_SSL_KEYS
from ottla.config.common_client_keys import CLIENT_METRICS, COMMON_CLIENT_KEYS
from ottla.config.definition import ConfigKey, ConfigTable, Importance
from ottla.config.validators import ValidList, at_least, between
from ottla.config.values import ConfigType

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
BOOLEAN, INT, LIST, LONG, STRING = (
    ConfigType.BOOLEAN,
    ConfigType.INT,
    ConfigType.LIST,
    ConfigType.LONG,
    ConfigType.STRING,
)
INT_MAX = 2**31 - 1

# fmt: off
ADMIN_CONFIG = ConfigTable(
    "admin",
    *COMMON_CLIENT_KEYS,
    *CLIENT_SSL_KEYS,
    *CLIENT_SASL_KEYS,
    ConfigKey("bootstrap.servers", LIST, (), ValidList(), HIGH,
              "Addresses (host:port) of some brokers, of which one has to answer first."),
    ConfigKey("bootstrap.controllers", LIST, (), ValidList(), HIGH,
              "Addresses (host:port) of some controllers, to talk to them instead of brokers."),
    ConfigKey("client.id", STRING, "", None, MEDIUM,
              "Name of this client in the broker's logs, quotas and metrics."),
    ConfigKey("receive.buffer.bytes", INT, 65536, at_least(-1), MEDIUM,
              "Size of the socket's receive buffer; -1 leaves it to the operating system."),
    ConfigKey("enable.metrics.push", BOOLEAN, False, None, LOW,
              "Whether metrics are sent to the broker.", inert=CLIENT_METRICS),
    ConfigKey("connections.max.idle.ms", LONG, 300000, None, MEDIUM,
              "Time without use after which a connection is closed."),
    ConfigKey("retries", INT, INT_MAX, between(0, INT_MAX), LOW,
              "How often a request that failed for a while is sent again."),
    ConfigKey("default.api.timeout.ms", INT, 60000, at_least(0), MEDIUM,
              "How long a call may take that has no timeout of its own."),
)
# fmt: on
