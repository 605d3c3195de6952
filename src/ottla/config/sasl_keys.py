"""Broker keys of SASL: Kerberos, logins and OAuth bearer tokens.

Those that say who is let in make promises; those of this node's own login, to others, promise nothing to it.
"""

from functools import partial

from ottla.config.definition import ConfigKey, Importance
from ottla.config.security_keys import SECURITY
from ottla.config.units import HOUR_MS
from ottla.config.validators import CaseInsensitiveValidString, ValidList, between
from ottla.config.values import ConfigType

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
BOOLEAN, STRING, INT, SHORT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.SHORT
LONG, DOUBLE, LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
CLASS, PASSWORD = ConfigType.CLASS, ConfigType.PASSWORD
JWT_RETRIEVER = "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"
JWT_VALIDATOR = "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"

AUTHENTICATED = "that clients authenticate"
TOKENS = "that bearer tokens are checked"

_key = partial(ConfigKey, inert=SECURITY)

# fmt: off
SASL_KEYS = (
    _key("sasl.enabled.mechanisms", LIST, ("GSSAPI",), ValidList(), MEDIUM,
         "SASL mechanisms that are offered.",
         promises=AUTHENTICATED),
    _key("sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI", None, MEDIUM,
         "SASL mechanism between brokers.",
         promises="that brokers authenticate with one another"),
    _key("sasl.jaas.config", PASSWORD, None, None, MEDIUM,
         "Login modules and their options, in the syntax of JAAS.",
         promises=AUTHENTICATED),
    _key("sasl.server.callback.handler.class", CLASS, None, None, MEDIUM,
         "Class that answers a SASL server's questions.",
         promises=AUTHENTICATED),
    _key("sasl.client.callback.handler.class", CLASS, None, None, MEDIUM,
         "Class that answers a SASL client's questions."),
    _key("sasl.login.callback.handler.class", CLASS, None, None, MEDIUM,
         "Class that answers a login's questions."),
    _key("sasl.login.class", CLASS, None, None, MEDIUM,
         "Class that logs in."),
    _key("sasl.server.max.receive.size", INT, 512 * 1024, None, MEDIUM,
         "Largest SASL token that is read before a connection has authenticated."),
    _key("sasl.kerberos.service.name", STRING, None, None, MEDIUM,
         "Name of Kafka's Kerberos service.",
         promises=AUTHENTICATED),
    _key("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", None, MEDIUM,
         "Path of kinit."),
    _key("sasl.kerberos.ticket.renew.window.factor", DOUBLE, 0.8, None, MEDIUM,
         "Share of a ticket's life after which it is renewed."),
    _key("sasl.kerberos.ticket.renew.jitter", DOUBLE, 0.05, None, MEDIUM,
         "Share of chance in the time of a ticket's renewal."),
    _key("sasl.kerberos.min.time.before.relogin", LONG, 60000, None, MEDIUM,
         "Shortest time between two Kerberos logins."),
    _key("sasl.kerberos.principal.to.local.rules", LIST, ("DEFAULT",), ValidList(), MEDIUM,
         "Rules that make a short name of a Kerberos principal.",
         promises="that principals get their names by these rules"),
    _key("sasl.login.refresh.window.factor", DOUBLE, 0.8, None, MEDIUM,
         "Share of a credential's life after which it is refreshed."),
    _key("sasl.login.refresh.window.jitter", DOUBLE, 0.05, None, MEDIUM,
         "Share of chance in the time of a credential's refresh."),
    _key("sasl.login.refresh.min.period.seconds", SHORT, 60, None, MEDIUM,
         "Shortest time before a credential is refreshed."),
    _key("sasl.login.refresh.buffer.seconds", SHORT, 300, None, MEDIUM,
         "Time before a credential expires within which no refresh is planned."),
    _key("sasl.login.connect.timeout.ms", INT, None, None, LOW,
         "How long a login waits for a connection to the token provider."),
    _key("sasl.login.read.timeout.ms", INT, None, None, LOW,
         "How long a login waits for the token provider's answer."),
    _key("sasl.login.retry.backoff.ms", LONG, 100, None, LOW,
         "First pause after a failed request to the token provider."),
    _key("sasl.login.retry.backoff.max.ms", LONG, 10000, None, LOW,
         "Longest pause after failed requests to the token provider."),
    _key("sasl.oauthbearer.token.endpoint.url", STRING, None, None, MEDIUM,
         "Where tokens are fetched."),
    _key("sasl.oauthbearer.scope", STRING, None, None, MEDIUM,
         "Scope that a token is asked for."),
    _key("sasl.oauthbearer.client.credentials.client.id", STRING, None, None, MEDIUM,
         "Client id of the client credentials grant."),
    _key("sasl.oauthbearer.client.credentials.client.secret", PASSWORD, None, None, MEDIUM,
         "Secret of the client credentials grant."),
    _key("sasl.oauthbearer.jwt.retriever.class", CLASS, JWT_RETRIEVER, None, MEDIUM,
         "Class that fetches tokens."),
    _key("sasl.oauthbearer.jwt.validator.class", CLASS, JWT_VALIDATOR, None, MEDIUM,
         "Class that checks tokens.",
         promises=TOKENS),
    _key("sasl.oauthbearer.jwks.endpoint.url", STRING, None, None, MEDIUM,
         "Where the keys that tokens are signed with are fetched.",
         promises=TOKENS),
    _key("sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, HOUR_MS, None, LOW,
         "Time between two fetches of the signing keys."),
    _key("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, 100, None, LOW,
         "First pause after a failed fetch of the signing keys."),
    _key("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, 10000, None, LOW,
         "Longest pause after failed fetches of the signing keys."),
    _key("sasl.oauthbearer.clock.skew.seconds", INT, 30, None, LOW,
         "By how much clocks may differ when a token's times are checked."),
    _key("sasl.oauthbearer.expected.audience", LIST, (), ValidList(), HIGH,
         "Audiences of which a token must name one.",
         promises=TOKENS),
    _key("sasl.oauthbearer.expected.issuer", STRING, None, None, HIGH,
         "Issuer that a token must name.",
         promises=TOKENS),
    _key("sasl.oauthbearer.scope.claim.name", STRING, "scope", None, LOW,
         "Claim that holds a token's scope."),
    _key("sasl.oauthbearer.sub.claim.name", STRING, "sub", None, LOW,
         "Claim that holds a token's subject."),
    _key("sasl.oauthbearer.assertion.algorithm", STRING, "RS256", CaseInsensitiveValidString("ES256", "RS256"), MEDIUM,
         "Algorithm that assertions are signed with."),
    _key("sasl.oauthbearer.assertion.claim.aud", STRING, None, None, MEDIUM,
         "Audience of assertions."),
    _key("sasl.oauthbearer.assertion.claim.exp.seconds", INT, 300, between(0, 86400), LOW,
         "How long an assertion is valid."),
    _key("sasl.oauthbearer.assertion.claim.iss", STRING, None, None, MEDIUM,
         "Issuer of assertions."),
    _key("sasl.oauthbearer.assertion.claim.jti.include", BOOLEAN, False, None, MEDIUM,
         "Whether assertions have an id of their own."),
    _key("sasl.oauthbearer.assertion.claim.nbf.seconds", INT, 60, between(0, 3600), LOW,
         "How long before its making an assertion is valid."),
    _key("sasl.oauthbearer.assertion.claim.sub", STRING, None, None, MEDIUM,
         "Subject of assertions."),
    _key("sasl.oauthbearer.assertion.file", STRING, None, None, MEDIUM,
         "File of a ready-made assertion."),
    _key("sasl.oauthbearer.assertion.private.key.file", STRING, None, None, MEDIUM,
         "File of the key that signs assertions."),
    _key("sasl.oauthbearer.assertion.private.key.passphrase", PASSWORD, None, None, MEDIUM,
         "Password of the key that signs assertions."),
    _key("sasl.oauthbearer.assertion.template.file", STRING, None, None, MEDIUM,
         "File of further claims of assertions."),
)
# fmt: on
