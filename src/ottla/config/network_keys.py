"""Broker keys of the listeners, the connections and the requests on them."""

from ottla.config.definition import ConfigKey, Importance
from ottla.config.units import INT_MAX, MIB
from ottla.config.validators import ValidList, at_least, one_of
from ottla.config.values import ConfigType

ONE_LOOP = "one event loop does this work, without threads to count"

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
STRING, INT, LONG, LIST = ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.LIST

# fmt: off
NETWORK_KEYS = (
    ConfigKey("listeners", LIST, ("PLAINTEXT://:9092",), ValidList(empty_allowed=False), HIGH,
              "Addresses to listen on, each NAME://host:port with a name and a port of its own; no host listens on all "
              "interfaces."),
    ConfigKey("advertised.listeners", LIST, None, ValidList(empty_allowed=False, null_allowed=True), HIGH,
              "Addresses that clients and other nodes are told to use; unset, those of listeners."),
    ConfigKey("listener.security.protocol.map", STRING,
              "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", None, LOW,
              "Security protocol of each listener name, as NAME:PROTOCOL pairs; only PLAINTEXT can be listened with "
              "yet."),
    ConfigKey("inter.broker.listener.name", STRING, None, None, MEDIUM,
              "Listener on which brokers talk to each other; unset, the one named as security.inter.broker.protocol."),
    ConfigKey("security.inter.broker.protocol", STRING, "PLAINTEXT",
              one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"), MEDIUM,
              "Security protocol between brokers, for brokers that do not set inter.broker.listener.name."),
    ConfigKey("early.start.listeners", LIST, None, ValidList(null_allowed=True), HIGH,
              "Listeners that accept connections before the broker is fully started; unset, the controller's.",
              inert="the controller's listeners open first, and a broker's when it can answer"),
    ConfigKey("socket.send.buffer.bytes", INT, 100 * 1024, None, HIGH,
              "SO_SNDBUF of client connections; -1 leaves it to the operating system."),
    ConfigKey("socket.receive.buffer.bytes", INT, 100 * 1024, None, HIGH,
              "SO_RCVBUF of client connections; -1 leaves it to the operating system."),
    ConfigKey("socket.request.max.bytes", INT, 100 * MIB, at_least(1), HIGH,
              "Largest request that is read; a larger one closes its connection."),
    ConfigKey("socket.listen.backlog.size", INT, 50, at_least(1), MEDIUM,
              "How many connections may wait to be accepted."),
    ConfigKey("max.connections.per.ip", INT, INT_MAX, at_least(0), MEDIUM,
              "Connections that one client address may have; 0 needs max.connections.per.ip.overrides."),
    ConfigKey("max.connections.per.ip.overrides", STRING, "", None, MEDIUM,
              "Limits in place of max.connections.per.ip for single hosts, as host:number pairs."),
    ConfigKey("max.connections", INT, INT_MAX, at_least(0), MEDIUM,
              "Connections that the broker, or with a listener prefix one listener, has at most at any time."),
    ConfigKey("max.connection.creation.rate", INT, INT_MAX, at_least(0), MEDIUM,
              "Connections a second that the broker, or with a listener prefix one listener, accepts at most."),
    ConfigKey("connections.max.idle.ms", LONG, 600000, None, MEDIUM,
              "Time without a request after which a connection is closed; negative keeps it for ever."),
    ConfigKey("connection.failed.authentication.delay.ms", INT, 100, at_least(0), LOW,
              "How long the close of a connection that failed to authenticate is put off.",
              inert="only PLAINTEXT listeners are built yet"),
    ConfigKey("queued.max.requests", INT, 500, at_least(1), HIGH,
              "Requests that may wait to be handled before no more are read."),
    ConfigKey("queued.max.request.bytes", LONG, -1, None, MEDIUM,
              "Bytes of requests that may wait to be handled before no more are read; 0 or less sets no limit."),
    ConfigKey("num.network.threads", INT, 3, at_least(1), HIGH,
              "Processors of a listener, over which its connections are spread and counted; one loop drives all."),
    ConfigKey("num.io.threads", INT, 8, at_least(1), HIGH,
              "Threads that handle requests.",
              inert=ONE_LOOP),
    ConfigKey("background.threads", INT, 10, at_least(1), HIGH,
              "Threads for background tasks.",
              inert=ONE_LOOP),
    ConfigKey("ottla.send.mode", STRING, "sendfile", one_of("sendfile", "copy"), LOW,
              "How log data leaves, also for one listener: sendfile lets the kernel take it from the page cache, copy "
              "reads it into memory first."),
    ConfigKey("request.timeout.ms", INT, 30000, None, HIGH,
              "How long this node waits for the response to a request of its own before it gives up or tries again."),
    ConfigKey("socket.connection.setup.timeout.ms", LONG, 10000, None, MEDIUM,
              "How long this node waits for a connection that it opens; after each failure the time doubles."),
    ConfigKey("socket.connection.setup.timeout.max.ms", LONG, 30000, None, MEDIUM,
              "Bound for the growing socket.connection.setup.timeout.ms."),
)
# fmt: on
