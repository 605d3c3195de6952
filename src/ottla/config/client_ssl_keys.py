"""Client keys of TLS."""

from ottla.config.common_client_keys import JAVA_CLASSES
from ottla.config.definition import ConfigKey, Importance
from ottla.config.validators import ValidList
from ottla.config.values import ConfigType

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
CLASS, LIST, PASSWORD, STRING = ConfigType.CLASS, ConfigType.LIST, ConfigType.PASSWORD, ConfigType.STRING

# fmt: off
CLIENT_SSL_KEYS = (
    ConfigKey("ssl.protocol", STRING, "TLSv1.3", None, MEDIUM,
              "Version of TLS that contexts are made for."),
    ConfigKey("ssl.provider", STRING, None, None, MEDIUM,
              "Java security provider for TLS.", inert=JAVA_CLASSES),
    ConfigKey("ssl.cipher.suites", LIST, (), ValidList(), LOW,
              "Cipher suites that are offered; empty offers the library's own choice."),
    ConfigKey("ssl.enabled.protocols", LIST, ("TLSv1.2", "TLSv1.3"), ValidList(), MEDIUM,
              "Versions of TLS that are offered."),
    ConfigKey("ssl.keystore.type", STRING, "JKS", None, MEDIUM,
              "Format of the key store."),
    ConfigKey("ssl.keystore.location", STRING, None, None, HIGH,
              "File of the key store."),
    ConfigKey("ssl.keystore.password", PASSWORD, None, None, HIGH,
              "Password of the key store."),
    ConfigKey("ssl.key.password", PASSWORD, None, None, HIGH,
              "Password of the private key."),
    ConfigKey("ssl.keystore.key", PASSWORD, None, None, HIGH,
              "Private key as PEM text."),
    ConfigKey("ssl.keystore.certificate.chain", PASSWORD, None, None, HIGH,
              "Certificate chain as PEM text."),
    ConfigKey("ssl.truststore.certificates", PASSWORD, None, None, HIGH,
              "Trusted certificates as PEM text."),
    ConfigKey("ssl.truststore.type", STRING, "JKS", None, MEDIUM,
              "Format of the trust store."),
    ConfigKey("ssl.truststore.location", STRING, None, None, HIGH,
              "File of the trust store."),
    ConfigKey("ssl.truststore.password", PASSWORD, None, None, HIGH,
              "Password of the trust store."),
    ConfigKey("ssl.keymanager.algorithm", STRING, "SunX509", None, LOW,
              "Algorithm of Java's key manager.", inert=JAVA_CLASSES),
    ConfigKey("ssl.trustmanager.algorithm", STRING, "PKIX", None, LOW,
              "Algorithm of Java's trust manager.", inert=JAVA_CLASSES),
    ConfigKey("ssl.endpoint.identification.algorithm", STRING, "https", None, LOW,
              "How a server's certificate is matched with its host name; empty does not match it."),
    ConfigKey("ssl.secure.random.implementation", STRING, None, None, LOW,
              "Java's source of chance for TLS.", inert=JAVA_CLASSES),
    ConfigKey("ssl.engine.factory.class", CLASS, None, None, LOW,
              "Class that makes TLS engines.", inert=JAVA_CLASSES),
)
# fmt: on
