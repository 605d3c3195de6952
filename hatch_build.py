"""Compiles the modules that every produce, fetch and commit of offsets goes through, in the broker and in clients.

Only for a wheel that is built with HATCH_BUILD_HOOKS_ENABLE=1. mypyc turns them into C; a compiler must be there. Such
a wheel holds all of these modules or is not made. The .py files stay in the wheel, and a checkout runs as it is.
"""

import os
import shutil
import tempfile
from pathlib import Path
from sysconfig import get_config_var
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILED = (
    "clients/consumer/batch_decoder",
    "clients/producer/batch_builder",
    "clients/producer/batch_completer",
    "clients/producer/batch_outcome",
    "clients/producer/batch_splitter",
    "clients/producer/buffer_pool",
    "clients/producer/compression_ratio",
    "clients/producer/delivery",
    "clients/producer/idempotence",
    "clients/producer/metrics",
    "clients/producer/partition_queue",
    "clients/producer/partitioner",
    "clients/producer/produce_request",
    "clients/producer/producer_batch",
    "clients/producer/record_accumulator",
    "clients/producer/record_appender",
    "clients/producer/sender",
    "clients/producer/sticky_partitioner",
    "clients/producer/topic_queue",
    "clients/producer/transaction_manager",
    "common/java_hash",
    "coordinator/batches",
    "coordinator/commit_queue",
    "coordinator/errors",
    "coordinator/partitioner",
    "coordinator/record",
    "coordinator/record_serde",
    "coordinator/result",
    "coordinator/runtime",
    "coordinator/runtime_metrics",
    "coordinator/shard_context",
    "coordinator/timers",
    "group/classic/group",
    "group/classic/member",
    "group/classic/members",
    "group/classic/sessions",
    "group/consumer/context",
    "group/consumer/group",
    "group/consumer/heartbeat",
    "group/consumer/member",
    "group/consumer/member_timers",
    "group/consumer/member_validation",
    "group/consumer/membership",
    "group/consumer/rebalance",
    "group/coordinator",
    "group/group",
    "group/group_store",
    "group/heartbeat_validation",
    "group/offset_commit_record",
    "group/offsets/commit_records",
    "group/offsets/fetch",
    "group/offsets/manager",
    "group/offsets/offset_and_metadata",
    "group/offsets/store",
    "group/record_encoding",
    "group/record_helpers",
    "group/shard",
    "group/shard_access",
    "log/leader_epochs",
    "log/local_log",
    "log/log",
    "log/log_offset_metadata",
    "log/offset_index",
    "log/producer_append",
    "log/producer_entry",
    "log/producer_state",
    "log/producer_table",
    "log/producer_update",
    "log/readable_log",
    "log/segment",
    "log/sparse_index",
    "log/time_index",
    "metrics/histogram",
    "metrics/instruments",
    "metrics/request_metrics",
    "network/channel",
    "network/frames",
    "network/idle_expiry",
    "network/listener",
    "network/memory_pool",
    "network/mute_state",
    "network/plane",
    "network/processor",
    "network/request",
    "network/request_channel",
    "network/request_metrics",
    "network/response_errors",
    "network/selector",
    "network/send",
    "protocol/codec",
    "protocol/file_slice",
    "protocol/headers",
    "protocol/plain_offset_commit",
    "protocol/single_produce",
    "protocol/varint",
    "records/append_info",
    "records/append_policy",
    "records/batch",
    "records/builder",
    "records/compression",
    "records/record",
    "records/validator",
    "records/varint",
    "replication/append_result",
    "replication/appender",
    "replication/broker_topic_metrics",
    "replication/fetch_context",
    "replication/fetch_session",
    "replication/hosted_partitions",
    "replication/log_reader",
    "replication/partition",
    "replication/partition_state",
    "replication/read_result",
    "replication/replica",
    "runtime/completion",
    "runtime/completion_chain",
    "runtime/system_clock",
    "server/coordinator_partitions",
    "server/dispatch",
    "server/error_metrics",
    "server/handlers/consumer_group_heartbeat",
    "server/handlers/fetch",
    "server/handlers/heartbeat",
    "server/handlers/offset_commit",
    "server/handlers/produce",
)


class CompiledModules(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the extension modules to the wheel, which is then for one platform and one Python."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile in a directory of its own, so that nothing is left in the sources."""
        if version == "editable":
            return
        self._scratch = tempfile.TemporaryDirectory(prefix="ottla-compile-")  # goes with the process, too
        sources, built = Path(self._scratch.name, "src"), Path(self._scratch.name, "lib")
        shutil.copytree(Path(self.root, "src"), sources, ignore=shutil.ignore_patterns("__pycache__"))
        _compile(sources, built)
        for library in sorted(built.rglob("*.so")):
            build_data["force_include"][str(library)] = str(library.relative_to(built))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove that directory."""
        if version != "editable":
            self._scratch.cleanup()


def translate() -> list[Any]:
    """Make extensions in C of the sources in the current directory; ends the process where mypyc refuses one.

    The C depends on these sources and on mypy alone. mypy would take types from the packages of the Python that runs
    it, which are others on every machine, and report errors in what is not compiled. `make lint` has checked the types.
    """
    from mypyc.build import mypycify

    options = ["--config-file=", "--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent"]
    options += ["--explicit-package-bases", "--namespace-packages"]
    return mypycify([*options, *(f"ottla/{name}.py" for name in COMPILED)], opt_level="3", debug_level="0")


def _compile(sources: Path, built: Path) -> None:
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext
    from setuptools.errors import BaseError, CCompilerError

    before = os.getcwd()
    os.chdir(sources)
    try:
        command = build_ext(Distribution({"name": "ottla", "ext_modules": translate()}))
        command.build_lib = str(built)
        command.build_temp = str(sources / "build")
        command.ensure_finalized()
        command.run()
    except (BaseError, CCompilerError) as error:
        fault = error.args[0]
        reason = f"{fault.filename} cannot be run ({fault.strerror})" if isinstance(fault, OSError) else fault
        raise SystemExit(
            f"Ottla's hot path was not compiled: {reason}. Install a C compiler and the headers of this Python "
            "(apt-get install gcc python3-dev), or build in plain Python, without HATCH_BUILD_HOOKS_ENABLE."
        ) from error
    finally:
        os.chdir(before)
    missing = [name for name in COMPILED if not Path(built, f"ottla/{name}{get_config_var('EXT_SUFFIX')}").exists()]
    assert not missing, f"no extension module was made of {missing}"
