"""SCRAM against the RFCs' own examples, against a server written from the RFC, and against servers that lie."""

import base64

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ottla.security.sasl.mechanism import SaslError
from ottla.security.sasl.scram import (
    MIN_ITERATIONS,
    SCRAM_MECHANISMS,
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    ScramMechanism,
    client_proof,
    salted_password,
    scram_keys,
    server_signature,
)
from ottla.security.sasl.scram_client import ITERATIONS_BOUND, TOKEN_AUTH, ScramClient
from ottla.security.sasl.scram_messages import parse_server_first, sasl_name
from tests.security.scram_server import RfcServer, b64

NONCE = "rOprNGfwEbeRWgbNEkqO"
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
HASHING = settings(max_examples=25)
"""Each example hashes 4096 times and more."""


def test_the_example_of_rfc_7677() -> None:
    client = ScramClient(SCRAM_SHA_256, "user", "pencil", NONCE)
    assert client.respond(b"") == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert client.respond(challenge) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert not client.is_complete
    assert client.respond(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None
    assert client.is_complete


def test_the_formulas_of_rfc_5802() -> None:
    """Its example is of SHA-1, which Kafka does not have; the formulas do not care."""
    sha1 = ScramMechanism("SCRAM-SHA-1", 0, "sha1")
    first = parse_server_first(b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096")
    keys = scram_keys(sha1, salted_password(sha1, "pencil", first.salt, first.iterations))
    message = f"n=user,r=fyko+d2lbbFgONRv9qkxdawL,{first.text},c=biws,r={first.nonce}".encode()
    assert b64(client_proof(sha1, keys, message)) == "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
    assert b64(server_signature(sha1, keys, message)) == "rmF9pqV8S7suAoZWja4dJRkFsKQ="


@HASHING
@given(TEXT, TEXT, st.sampled_from(list(SCRAM_MECHANISMS.values())), st.binary(max_size=40), st.booleans())
def test_a_server_with_the_password_is_accepted(
    username: str, password: str, mechanism: ScramMechanism, salt: bytes, is_token: bool
) -> None:
    server = RfcServer(mechanism.hash_name, password, salt)
    client = ScramClient(mechanism, username, password, NONCE, TOKEN_AUTH if is_token else None)
    first = client.respond(b"")
    assert first is not None
    assert first.endswith(b",tokenauth=true") == is_token
    proof = client.respond(server.first(first))
    assert proof is not None
    assert client.respond(server.final(proof)) is None
    assert client.is_complete


@HASHING
@given(TEXT, TEXT)
def test_a_wrong_password_is_refused_by_both_sides(right: str, wrong: str) -> None:
    assume(right != wrong)
    server = RfcServer("sha512", right)
    client = ScramClient(SCRAM_SHA_512, "alice", wrong, NONCE)
    proof = client.respond(server.first(client.respond(b"") or b""))
    assert proof is not None
    answer = server.final(proof)
    assert answer == b"e=invalid-proof"
    with pytest.raises(SaslError, match="SCRAM-SHA-512 was refused: invalid-proof"):
        client.respond(answer)
    assert not client.is_complete
    # And a server that does not know it cannot make up a signature by not checking the proof.
    honest = ScramClient(SCRAM_SHA_512, "alice", right, NONCE)
    impostor = RfcServer("sha512", right)
    honest_proof = honest.respond(impostor.first(honest.respond(b"") or b"")) or b""
    genuine = impostor.final(honest_proof)
    again = ScramClient(SCRAM_SHA_512, "alice", wrong, NONCE)
    again.respond(RfcServer("sha512", right).first(again.respond(b"") or b""))
    with pytest.raises(SaslError, match="signature is wrong"):
        again.respond(genuine)


@HASHING
@given(st.data())
def test_a_message_that_was_tampered_with_is_never_accepted(data: st.DataObject) -> None:
    """One byte of either message of the server is another: the client never completes."""
    server = RfcServer("sha256", "secret")
    client = ScramClient(SCRAM_SHA_256, "alice", "secret", NONCE)
    first = client.respond(b"")
    assert first is not None
    challenge = server.first(first)
    which = data.draw(st.sampled_from(("first", "final")))
    try:
        proof = client.respond(changed(data, challenge) if which == "first" else challenge)
        assert proof is not None
        final = server.final(proof)
        client.respond(changed(data, final) if which == "final" else final)
    except SaslError:
        pass
    assert not client.is_complete


def changed(data: st.DataObject, message: bytes) -> bytes:
    """Another message. Base64 has spellings of the same bytes that differ in their last digit; those are the same."""
    position = data.draw(st.integers(0, len(message) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != message[position]))
    result = message[:position] + bytes((other,)) + message[position + 1 :]
    assume(canonical(result) != canonical(message))
    return result


def canonical(message: bytes) -> bytes:
    if not message.startswith(b"v="):
        return message
    try:
        return base64.b64decode(message[2:], validate=True)
    except ValueError:
        return message


@pytest.mark.parametrize(
    ("challenge", "complaint"),
    [
        (f"r={NONCE}x,s=c2FsdA==,i={MIN_ITERATIONS - 1}", "asks for 4095 iterations"),
        (f"r={NONCE}x,s=c2FsdA==,i={ITERATIONS_BOUND + 1}", "asks for 1048577 iterations"),
        (f"r={NONCE}x,s=c2FsdA==,i=0", "asks for 0 iterations"),
        (f"r={NONCE}x,s=c2FsdA==,i=99999999999", "makes no sense"),
        ("r=somebodyelses,s=c2FsdA==,i=4096", "nonce does not continue ours"),
        (f"m=must,r={NONCE}x,s=c2FsdA==,i=4096", "makes no sense"),
        (f"r={NONCE}x,s=c2Fsd,i=4096", "makes no sense"),
        ("", "makes no sense"),
        ("\xff\xfe", "makes no sense"),
    ],
)
def test_what_a_server_may_not_say_first(challenge: str, complaint: str) -> None:
    client = ScramClient(SCRAM_SHA_256, "alice", "secret", NONCE)
    client.respond(b"")
    with pytest.raises(SaslError, match=complaint):
        client.respond(challenge.encode("latin-1"))
    with pytest.raises(AssertionError):
        client.respond(b"v=")


def test_a_server_does_not_begin() -> None:
    with pytest.raises(SaslError, match="the client begins"):
        ScramClient(SCRAM_SHA_256, "alice", "secret", NONCE).respond(b"hello")


def test_names_are_escaped_and_extensions_checked() -> None:
    assert sasl_name("a=b,c=2C") == "a=3Db=2Cc=3D2C"
    with pytest.raises(SaslError, match="extension"):
        ScramClient(SCRAM_SHA_256, "alice", "secret", NONCE, {"bad name": "x"})
    with pytest.raises(SaslError, match="extension"):
        ScramClient(SCRAM_SHA_256, "alice", "secret", NONCE, {"name": "a,b"})
