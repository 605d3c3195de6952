"""The fixtures for pytest, as a project that has Ottla installed meets them; and the examples in docs/testing.md."""

import asyncio
import importlib.metadata
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PLUGIN = "ottla.testing.pytest_plugin"
# An environment that was installed before the entry point was declared does not load it by itself.
IS_INSTALLED = any(entry.value == PLUGIN for entry in importlib.metadata.entry_points(group="pytest11"))
ARGUMENTS = ("-p", "no:cacheprovider", *(() if IS_INSTALLED else ("-p", PLUGIN)))


def _examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "testing.md").read_text(), re.DOTALL)


def test_the_plugin_is_an_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"ottla": PLUGIN}


def test_the_plugin_costs_nothing_before_it_is_used() -> None:
    script = f"import pytest, sys, {PLUGIN}; print([n for n in sys.modules if n.startswith('ottla.server')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_test_has_a_broker_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from confluent_kafka import Producer

        SEEN = set()

        def check(broker):
            producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
            assert producer.list_topics(timeout=20).topics == {}
            producer.produce("numbers", b"one")
            assert producer.flush(20) == 0
            assert broker.cluster_id not in SEEN
            SEEN.add(broker.cluster_id)

        def test_one(ottla_broker, ottla_bootstrap):
            assert ottla_bootstrap == ottla_broker.bootstrap_servers
            check(ottla_broker)

        def test_two(ottla_broker):
            check(ottla_broker)
    """)
    pytester.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=2)


@pytest.mark.parametrize("scope", ["function", "session"])
def test_properties_are_overridden_in_any_scope(pytester: pytest.Pytester, scope: str) -> None:
    pytester.makepyfile(f"""
        import pytest
        from confluent_kafka import Producer

        @pytest.fixture(scope="{scope}")
        def ottla_properties():
            return {{"num.partitions": "3"}}

        def test_partitions(ottla_bootstrap):
            producer = Producer({{"bootstrap.servers": ottla_bootstrap}})
            producer.produce("numbers", b"one", partition=2)
            assert producer.flush(20) == 0
    """)
    pytester.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=1)


def test_a_bad_property_is_an_error_that_names_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.fixture
        def ottla_properties():
            return {"num.partitions": "many"}

        def test_nothing(ottla_broker):
            pass
    """)
    result = pytester.runpytest_subprocess(*ARGUMENTS)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*InvalidConfigError*num.partitions*"])


def test_the_fixtures_are_described(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*ARGUMENTS, "--fixtures", "-q")
    result.stdout.fnmatch_lines_random(["ottla_properties*", "ottla_broker*", "ottla_bootstrap*"])


def test_the_examples_in_the_document_run(pytester: pytest.Pytester) -> None:
    for number, example in enumerate(_examples()):
        if "pytest" in example:
            pytester.makepyfile(**{f"test_example_{number}": example})
            continue
        names: dict[str, object] = {}
        exec(compile(example, f"docs/testing.md, example {number}", "exec"), names)
        main = names.get("main")
        if inspect.iscoroutinefunction(main):
            asyncio.run(main())
    pytester.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=1)
