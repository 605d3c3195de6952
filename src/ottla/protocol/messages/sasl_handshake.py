"""SaslHandshake (api key 17)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, STRING, ArrayOf, Message, field


class SaslHandshakeRequest(Message, api_key=17, versions="0-1", flexible="none"):
    mechanism: str = field(STRING, "0+", default="")


class SaslHandshakeResponse(Message, api_key=17, versions="0-1", flexible="none"):
    error_code: int = field(INT16, "0+", default=0)
    mechanisms: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
