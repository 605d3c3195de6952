"""Regular expressions beside Apache's, and how they are resolved."""

from collections.abc import Generator
from pathlib import Path

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import Uuid
from ottla.group.consumer.resolved_regular_expression import ResolvedRegularExpression
from ottla.group.consumer.topic_regex import (
    MATCHES_A_SLICE,
    REGEX_LENGTH_MAX,
    resolve_regular_expressions,
    validate_topic_regex,
)
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.image.topics import TopicImage, TopicsImage
from tests.group.group_facts import ask
from tests.oracle import Oracle

TOPICS = ("foo", "foo1", "bar", "Foo", "f.o", "a" * 100, "x-y_z", "1", "foo.bar", "FOO-bar", "ab", "aab", "b")

_REGEXES = r"""
foo foo.* .* (?i)FOO (?P<n>foo) (?<n>foo) \pL+ [[:alpha:]]+ [[:^alpha:]]+ \Qf.o\E ^foo$ \Afoo\z \bfoo\b (?s).* (?U)a+
x{,2} x{2 \x{10FFFF} \d+ \w+ [\w-]+ [\w.-]+ \_ [^a]* (?:foo|bar) foo|bar ((((a)))) a|b | (|a)* (a*)* a{0} a{1000} a*b
a*?b (a|ab)(b|aab)? [a-z]+\d [a-z]+[.-](?i)BAR \07 \x41 \PL+ \p{^L}+ (?-i:a) (?mi)^foo$ [--a]+ []a]+ a{2}b (?:a{2})*
a{,} foo\. f\.o f.o [.]* .{1,3} .{3} (?i:foo).+ {1} a} {
( [ ) a) a(b * +a a** a*+ a{2,1} a{1001} (?P=n) (?<=a) (?<!a) (?=a) (?!a) \ \8 \1 \C x\Cy \\C \p{Foo} [a- [b-a]
[[:foo:]] foo\Z (?z) \x{110000} a|* (?P<1>a) (?P<>a) (?P<n (? (?i [] [^] \h \R \X \G \k<n> (?#c) (?>a) a++ [a-\d] \p \p{
\x \x1
\xZZ \x{} \u0041 \cA [[.a.]] a??? (?x)a (*) (x**) (?ii (?-s-i)
"""
REGEXES = _REGEXES.split()


def image(*names: str, offset: int = 7) -> MetadataImage:
    topics = [TopicImage(name, Uuid(number.to_bytes(16, "big")), {}) for number, name in enumerate(names)]
    return MetadataImage(
        provenance=MetadataProvenance(last_contained_offset=offset),
        topics=TopicsImage({topic.id: topic for topic in topics}, {topic.name: topic for topic in topics}),
    )


def run(work: Generator[None, None, dict[str, ResolvedRegularExpression]]) -> dict[str, ResolvedRegularExpression]:
    while True:
        try:
            next(work)
        except StopIteration as end:
            outcome: dict[str, ResolvedRegularExpression] = end.value
            return outcome


def ours(regex: str) -> list[str] | str:
    try:
        validate_topic_regex(regex)
    except ApiError as error:
        assert error.code == ErrorCode.INVALID_REGULAR_EXPRESSION
        return str(error)
    return list(run(resolve_regular_expressions([regex], image(*TOPICS), None, 0))[regex].topics)


def test_the_same_topics_and_the_same_messages_as_apache(oracle: Oracle, tmp_path: Path) -> None:
    theirs = ask(oracle, [["regex", regex, TOPICS] for regex in REGEXES], tmp_path)
    assert {regex: ours(regex) for regex in REGEXES} == dict(zip(REGEXES, theirs, strict=True))


@pytest.mark.parametrize(
    ("regex", "apaches", "mine"),
    [
        ("(a{100}){11}", [], "invalid repeat count."),  # what would take much memory is refused
        ("(?P<n>a)(?P<n>b)", "duplicate capture group name.", ["ab"]),  # names of groups mean nothing here
    ],
)
def test_where_we_differ_from_apache(
    oracle: Oracle, tmp_path: Path, regex: str, apaches: list[str] | str, mine: list[str] | str
) -> None:
    def expected(outcome: list[str] | str) -> list[str] | str:
        said = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {outcome}"
        return said if isinstance(outcome, str) else outcome

    assert ask(oracle, [["regex", regex, TOPICS]], tmp_path) == [expected(apaches)]
    assert ours(regex) == expected(mine)


def test_the_whole_name_has_to_match() -> None:
    resolved = run(resolve_regular_expressions(["foo", "o+"], image("foo", "foo1", "xfoo"), None, 12))
    assert resolved == {
        "foo": ResolvedRegularExpression(("foo",), 7, 12),
        "o+": ResolvedRegularExpression((), 7, 12),
    }


def test_an_invalid_expression_is_refused_with_apaches_words() -> None:
    with pytest.raises(ApiError) as caught:
        validate_topic_regex("[a")
    assert caught.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert str(caught.value) == "SubscribedTopicRegex `[a` is not a valid regular expression: missing closing ]."


@pytest.mark.parametrize(
    "regex", ["a" * (REGEX_LENGTH_MAX + 1), r"[^a]{1000}" * 30, "\ud800"], ids=["too long", "too large", "no text"]
)
def test_what_would_take_too_much_is_refused(regex: str) -> None:
    with pytest.raises(ApiError) as caught:
        validate_topic_regex(regex)
    assert caught.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(str(caught.value)) < len(regex) + 200


def test_one_that_got_into_the_log_all_the_same_matches_nothing() -> None:
    resolved = run(resolve_regular_expressions(["[", "b.*"], image("foo", "bar"), None, 0))
    assert {regex: each.topics for regex, each in resolved.items()} == {"[": (), "b.*": ("bar",)}


def test_topics_that_a_member_may_not_describe_are_left_out() -> None:
    asked: list[list[str]] = []

    def authorized(names: list[str]) -> list[str]:
        asked.append(names)
        return [name for name in names if name != "foo2"]

    regexes = ["foo.*", "foo[12]"]
    resolved = run(resolve_regular_expressions(regexes, image("foo2", "foo1", "bar", "foo3"), authorized, 0))
    assert {regex: each.topics for regex, each in resolved.items()} == {
        "foo.*": ("foo1", "foo3"),
        "foo[12]": ("foo1",),
    }
    assert asked == [["foo2", "foo1", "foo3"]]


def test_many_topics_take_many_slices() -> None:
    names = [f"topic-{number}" for number in range(1000)]
    regexes = [f"topic-.*{number}" for number in range(5)]
    work = resolve_regular_expressions(regexes, image(*names), None, 0)
    slices = 0
    try:
        while True:
            next(work)
            slices += 1
    except StopIteration as end:
        assert all(len(each.topics) == 100 for each in end.value.values())
    assert slices == len(regexes) + len(names) * len(regexes) // MATCHES_A_SLICE
