"""Declared pipelines: what they are, and which cannot be meant."""

import sys
from pathlib import Path

import pytest

from ottla.spark.pipeline import Json, Pipeline, Table, Topic, pipeline
from ottla.spark.pipeline.declaration import DeclarationError, is_interval
from ottla.spark.pipeline.declared_checks import packages_of
from ottla.spark.pipeline.pipeline_file import chosen, load_pipelines

CLICKS = Topic("clicks", Json("user string"))


def declared(**more: object) -> Pipeline:
    arguments = {"source": CLICKS, "sink": Topic("out"), **more}

    @pipeline(**arguments)  # type: ignore[arg-type]
    def counts(frame: object) -> object:
        return ("done", frame)

    return counts


def test_a_declared_pipeline_is_still_its_function() -> None:
    assert declared()(1) == ("done", 1)  # type: ignore[arg-type, comparison-overlap]
    assert declared().name == "counts"
    assert declared(name="other").name == "other"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"sink": Topic("clicks")}, "would read what it writes to the topic clicks"),
        ({"dead_letters": "clicks"}, "would read what it writes to the topic clicks"),
        ({"source": ()}, "source and sink are a Topic or a Table"),
        ({"sink": "out"}, "source and sink are a Topic or a Table"),
        ({"source": Table("t"), "dead_letters": "d"}, "reads no topic, so it has no dead letters"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(more: dict[str, object], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        declared(**more)


def test_only_what_is_needed_is_fetched() -> None:
    assert packages_of([declared()]) == []
    assert packages_of([declared(sink=Table("t"))]) == ["delta"]
    assert packages_of([declared(sink=Table("t", "parquet"))]) == []


def test_a_file_is_read_with_what_is_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_pipelines.py").write_text("NAME = 'out'\n")
    file = tmp_path / "mine.py"
    file.write_text(
        "from beside_pipelines import NAME\n"
        "from ottla.spark.pipeline import Topic, pipeline\n"
        "@pipeline(source=Topic('a'), sink=Topic(NAME))\n"
        "def first(frame): return frame\n"
        "@pipeline(source=Topic('a'), sink=Topic(NAME))\n"
        "def second(frame): return frame\n"
    )
    found = load_pipelines(str(file))
    assert [each.name for each in found] == ["first", "second"]
    assert [each.name for each in chosen(found, ["second"], "mine.py")] == ["second"]
    with pytest.raises(DeclarationError, match="declares no pipeline third; it has first, second"):
        chosen(found, ["third"], "mine.py")
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("x = 1\n", "declares no pipeline"),
        ("x = 1\ny = (\n", "bad.py line 2: SyntaxError"),
        ("x = 1\n\nx / 0\n", "bad.py line 3: ZeroDivisionError: division by zero"),
        ("import no_such_module_here\n", "bad.py line 1: ModuleNotFoundError"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(tmp_path: Path, program: str, words: str) -> None:
    file = tmp_path / "bad.py"
    file.write_text(program)
    with pytest.raises(DeclarationError, match=words):
        load_pipelines(str(file))
    with pytest.raises(DeclarationError, match="there is no file"):
        load_pipelines(str(tmp_path / "none.py"))


@pytest.mark.parametrize(
    ("every", "is_time"),
    [("10 seconds", True), ("1 minute 30 seconds", True), ("Interval 500 milliseconds", True), ("soon", False)],
)
def test_which_times_are_times(every: str, is_time: bool) -> None:
    assert is_interval(every) is is_time
