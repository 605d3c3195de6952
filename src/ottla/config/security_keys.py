"""Broker keys of TLS, principals, authorization and delegation tokens.

Those that say who is let in, what they may do and what is encrypted make promises. Those that only tune one of these,
such as the format of a key store, promise nothing by themselves.
"""

from functools import partial

from ottla.config.definition import ConfigKey, Importance
from ottla.config.units import DAY_MS, HOUR_MS
from ottla.config.validators import NonNullString, ValidList, at_least, one_of
from ottla.config.values import ConfigType

SECURITY = "security is not built yet"
ENCRYPTED = "that connections are encrypted"
TRUSTED = "that certificates are checked"

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
BOOLEAN, STRING, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.LONG
LIST, CLASS, PASSWORD = ConfigType.LIST, ConfigType.CLASS, ConfigType.PASSWORD
PRINCIPAL_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"

_key = partial(ConfigKey, inert=SECURITY)

# fmt: off
SECURITY_KEYS = (
    _key("authorizer.class.name", STRING, "", NonNullString(), LOW,
         "Class that authorizes requests; empty authorizes all.",
         promises="that nobody does what the authorizer denies"),
    _key("principal.builder.class", CLASS, PRINCIPAL_BUILDER, None, MEDIUM,
         "Class that makes a principal of a connection's credentials.",
         promises="that connections get the principals of this class"),
    _key("connections.max.reauth.ms", LONG, 0, None, MEDIUM,
         "Age at which a SASL connection that has not authenticated again is closed; 0 never does.",
         promises="that connections authenticate again in time"),
    _key("security.providers", STRING, None, None, LOW,
         "Java security providers to install.",
         promises="that these providers do the cryptography"),
    _key("delegation.token.secret.key", PASSWORD, None, None, MEDIUM,
         "Secret that delegation tokens are signed with; unset, there are no tokens.",
         promises="that delegation tokens authenticate"),
    _key("delegation.token.max.lifetime.ms", LONG, 7 * DAY_MS, at_least(1), MEDIUM,
         "Age beyond which a delegation token cannot be renewed."),
    _key("delegation.token.expiry.time.ms", LONG, DAY_MS, at_least(1), MEDIUM,
         "How long a delegation token is valid before it must be renewed."),
    _key("delegation.token.expiry.check.interval.ms", LONG, HOUR_MS, at_least(1), LOW,
         "Time between two looks for expired delegation tokens."),
    _key("ssl.client.auth", STRING, "none", one_of("required", "requested", "none"), MEDIUM,
         "Whether clients must or may show a certificate.",
         promises="that clients show certificates"),
    _key("ssl.protocol", STRING, "TLSv1.3", None, MEDIUM,
         "Version of TLS that contexts are made for."),
    _key("ssl.enabled.protocols", LIST, ("TLSv1.2", "TLSv1.3"), ValidList(), MEDIUM,
         "Versions of TLS that are offered.",
         promises=ENCRYPTED),
    _key("ssl.cipher.suites", LIST, (), ValidList(), MEDIUM,
         "Cipher suites that are offered; empty offers the library's own choice.",
         promises=ENCRYPTED),
    _key("ssl.provider", STRING, None, None, MEDIUM,
         "Java security provider for TLS."),
    _key("ssl.keystore.type", STRING, "JKS", None, MEDIUM,
         "Format of the key store."),
    _key("ssl.keystore.location", STRING, None, None, MEDIUM,
         "File of the key store.",
         promises=ENCRYPTED),
    _key("ssl.keystore.password", PASSWORD, None, None, MEDIUM,
         "Password of the key store.",
         promises=ENCRYPTED),
    _key("ssl.key.password", PASSWORD, None, None, MEDIUM,
         "Password of the private key.",
         promises=ENCRYPTED),
    _key("ssl.keystore.key", PASSWORD, None, None, MEDIUM,
         "Private key as PEM text.",
         promises=ENCRYPTED),
    _key("ssl.keystore.certificate.chain", PASSWORD, None, None, MEDIUM,
         "Certificate chain as PEM text.",
         promises=ENCRYPTED),
    _key("ssl.truststore.type", STRING, "JKS", None, MEDIUM,
         "Format of the trust store."),
    _key("ssl.truststore.location", STRING, None, None, MEDIUM,
         "File of the trust store.",
         promises=TRUSTED),
    _key("ssl.truststore.password", PASSWORD, None, None, MEDIUM,
         "Password of the trust store.",
         promises=TRUSTED),
    _key("ssl.truststore.certificates", PASSWORD, None, None, MEDIUM,
         "Trusted certificates as PEM text.",
         promises=TRUSTED),
    _key("ssl.keymanager.algorithm", STRING, "SunX509", None, MEDIUM,
         "Algorithm of Java's key manager."),
    _key("ssl.trustmanager.algorithm", STRING, "PKIX", None, MEDIUM,
         "Algorithm of Java's trust manager."),
    _key("ssl.endpoint.identification.algorithm", STRING, "https", None, LOW,
         "How a server's certificate is matched with its host name; empty does not match it."),
    _key("ssl.secure.random.implementation", STRING, None, None, LOW,
         "Java's source of chance for TLS."),
    _key("ssl.engine.factory.class", CLASS, None, None, LOW,
         "Class that makes TLS engines.",
         promises=ENCRYPTED),
    _key("ssl.principal.mapping.rules", STRING, "DEFAULT", None, LOW,
         "Rules that make a principal's name of a certificate's distinguished name.",
         promises="that principals get their names by these rules"),
    _key("ssl.allow.dn.changes", BOOLEAN, False, None, LOW,
         "Whether a new key store may have another distinguished name."),
    _key("ssl.allow.san.changes", BOOLEAN, False, None, LOW,
         "Whether a new key store may lack subject alternative names of the old one."),
)

AUTHORIZER_KEYS = (
    _key("super.users", STRING, "", None, MEDIUM,
         "Principals that may do everything, each as User:name, separated by semicolons.",
         promises="that only these principals may do everything"),
    _key("allow.everyone.if.no.acl.found", BOOLEAN, None, None, MEDIUM,
         "Whether everybody may use what no access control entry is about; unset, nobody may.",
         promises="that access control entries say who may do what"),
)
# fmt: on
