"""One sentence out of Spark's errors."""

import pytest

from ottla.spark.failures import sentence_of

PYTHON = """[STREAM_FAILED] Query [id = 1] terminated with exception: [PYTHON_STREAMING_ERROR] \
Failed when Python streaming data source perform latestOffset: Traceback (most recent call last):
  File "x.py", line 3, in latestOffset
    raise Gone()
ottla.spark.errors.GoneError: topic clicks does not exist
 SQLSTATE: 38000"""
USER = """Job aborted: Traceback (most recent call last):
  File "a.py", line 1, in f
ZeroDivisionError: division by zero

\tat org.apache.spark.Foo.bar(Foo.scala:1)"""
ANALYSIS = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `pge` cannot be resolved. \
Did you mean `page`? SQLSTATE: 42703;
'Project ['pge]
+- Relation"""
RAISED = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure: Task 0 failed
\tat org.apache.spark.Foo.bar(Foo.scala:1)
Caused by: org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] record t-0 at offset 3 cannot be read: it \
is not JSON SQLSTATE: P0001
\tat org.apache.spark.Foo.bar(Foo.scala:1)"""
QUERY = """[STREAM_FAILED] Query [id = 1] terminated with exception: [UNSUPPORTED] Store backend X is not supported. \
SQLSTATE: 0A000
=== Streaming Query ===
Identifier: visits [id = 1]"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (PYTHON, "topic clicks does not exist"),
        (USER, "ZeroDivisionError: division by zero"),
        (ANALYSIS, "A column with name `pge` cannot be resolved. Did you mean `page`?"),
        (RAISED, "record t-0 at offset 3 cannot be read: it is not JSON"),
        (QUERY, "Store backend X is not supported"),
        ("just this", "just this"),
    ],
)
def test_the_last_cause_is_told_without_traces_and_codes(text: str, sentence: str) -> None:
    assert sentence_of(text) == sentence


def test_an_error_without_words_gives_its_class_and_a_long_one_is_cut() -> None:
    assert sentence_of(ValueError()) == "ValueError"
    assert len(sentence_of("x" * 5000)) == 600
