"""The blocks that no test pastes, each with the reason; every other block is run."""

from typing import Final

_SETS_UP = "sets up an environment, or tests the whole: a test would do it for minutes, and within itself"
_IS_ROOTS = "needs root and systemd; tests/cli/test_service_files.py runs what the unit does"

NOT_RUN: Final = {
    ("README.md", "make run"): _SETS_UP,
    ("README.md", "ottla server --sample > server.properties"): (
        "the sample listens on 9092 and has its data in /var/lib; tests/cli/test_server_command.py starts it elsewhere"
    ),
    ("README.md", "python3 -m venv ~/ottla"): _SETS_UP,
    ("README.md", "pip install '.[spark]'"): _SETS_UP,
    ("CONTRIBUTING.md", "make run"): _SETS_UP,
    ("docs/installation.md", "make setup"): _SETS_UP,
    ("docs/installation.md", "python3 -m venv ~/ottla-env"): _SETS_UP,
    ("docs/installation.md", "HATCH_BUILD_HOOKS_ENABLE=1 pip install ."): _SETS_UP,
    ("docs/installation.md", "pip uninstall --yes ottla"): _SETS_UP,
    ("docs/installation.md", "ottla server  "): "listens on 9092, which may be taken; tests/cli/test_server_command.py",
    ("docs/releasing.md", ""): "builds for an hour, tags and uploads; tests/test_packaging.py looks at the parts",
    ("docs/service.md", "sudo "): _IS_ROOTS,
    ("docs/service.md", "podman build -t ottla -f contrib/Containerfile ."): (
        "needs a container engine; tests/cli/test_service_files.py runs what the image does"
    ),
    ("docs/spark-connect.md", "import shutil"): "needs a server of Spark Connect, and its client's packages",
    ("docs/spark.md", 'spark = spark_session("my-job", master="spark://host:7077")'): (
        "needs a cluster; tests/spark/cluster has one, and makes such sessions"
    ),
}
"""By the page, and how the block begins."""
