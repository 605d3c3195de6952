"""Java's hash codes, and the partitions of coordinators, beside Java's own."""

from pathlib import Path
from random import Random

import pytest

from ottla.common.java_hash import string_hash_code
from ottla.coordinator.java_hash import partition_for
from tests.group.group_facts import ask
from tests.oracle import Oracle


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(1 << 31)),
        ("\U0001f600", 1772899),
        ("\ud83d", 55357),
    ],
)
def test_known_hash_codes(text: str, code: int) -> None:
    assert string_hash_code(text) == code


def test_the_smallest_int_has_no_absolute_value_in_java_so_kafka_takes_zero() -> None:
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("polygenelubricants", 7) == 0


def test_the_same_hash_codes_and_partitions_as_apache(oracle: Oracle, tmp_path: Path) -> None:
    rng = Random(3)
    alphabets = (
        "abcdefghijklmnopqrstuvwxyz0123456789-_.",
        "aé\xff\u0100\u2028\ud7ff",
        "\ud800\udbff\udc00\udfff\ue000\uffff\U00010000\U0001f600\U0010ffff",
    )
    ids = [f"group-{number}" for number in range(1000)] + ["", "polygenelubricants", "\0", "a" * 64, "a" * 65, "é" * 70]
    for alphabet in alphabets:
        ids += ["".join(rng.choices(alphabet, k=rng.randint(0, 100))) for _ in range(700)]
    asked = [(text, rng.choice((1, 2, 3, 50, 97))) for text in ids]
    mine = [[string_hash_code(text), partition_for(text, partitions)] for text, partitions in asked]
    assert mine == ask(oracle, [["partition", *each] for each in asked], tmp_path)
