"""A metadata log in a directory of its own, beside the data directories (``metadata.log.dir``)."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ottla.common.errors import KafkaStorageError
from ottla.log.log_dir import LogDirLockedError
from ottla.log.meta_properties import read_meta_properties
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.runtime.posix import PosixFiles
from ottla.testing import Broker
from tests.server.conftest import KEEP_ALL
from tests.server.inside import inside
from tests.server.records_on_wire import append, read_values
from tests.server.wire import Wire, create_topic

METADATA_LOG = "__cluster_metadata-0"


def properties(data: Path, metadata: Path | str) -> Mapping[str, str]:
    return {**KEEP_ALL, "log.dirs": str(data), "metadata.log.dir": str(metadata)}


def test_the_metadata_lies_there_alone_and_is_found_again(tmp_path: Path) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"
    with Broker(properties(data, metadata)) as broker:
        create_topic(broker.bootstrap_servers, "t")
        append(broker.bootstrap_servers, "t", b"before")
        ids = [read_meta_properties(PosixFiles(), str(path)) for path in (data, metadata)]
        assert ids[0] is not None
        assert ids[1] is not None
        assert (ids[0].cluster_id, ids[0].node_id) == (ids[1].cluster_id, ids[1].node_id)
        assert ids[0].directory_id != ids[1].directory_id
        assert (metadata / METADATA_LOG).is_dir()
        assert (metadata / "bootstrap.checkpoint").is_file() or list((metadata / METADATA_LOG).glob("*.checkpoint"))
        assert not (data / METADATA_LOG).exists()
        with Wire(broker.bootstrap_servers) as wire:
            told = wire.ask(DescribeLogDirsRequest(topics=None), 4).results
        assert [one.log_dir for one in told] == [str(data)], "what holds no partitions is not for clients"
        assert inside(broker, lambda server: list(server.metadata.image.cluster.brokers[1].directories)) == [
            ids[0].directory_id
        ]
        broker.restart()
        append(broker.bootstrap_servers, "t", b"after a stop")
        broker.kill()
        broker.start()
        assert read_values(broker.bootstrap_servers, "t") == [b"before", b"after a stop"]
    assert not (metadata / ".lock").exists()


def test_it_is_locked_as_a_data_directory_is(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata"
    with Broker(properties(tmp_path / "a", metadata)) as broker:
        cluster_id = broker.cluster_id
        other = Broker(properties(tmp_path / "b", metadata))
        with pytest.raises(LogDirLockedError, match=f"in {metadata}"):
            other.start()
        assert not (tmp_path / "b" / ".lock").exists(), "a start that fails leaves nothing locked"
        with Wire(broker.bootstrap_servers) as wire:
            assert wire.ask(MetadataRequest(topics=[]), 12).cluster_id == cluster_id


def test_a_data_directory_may_be_named_once_more_in_other_words(tmp_path: Path) -> None:
    with Broker(properties(tmp_path / "data", f"{tmp_path}/./data/")) as broker:
        create_topic(broker.bootstrap_servers, "t")
        assert (tmp_path / "data" / METADATA_LOG).is_dir()


def test_a_copy_of_a_data_directory_is_refused(tmp_path: Path) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"
    with Broker(properties(data, metadata)):
        pass
    (data / "meta.properties").write_text((metadata / "meta.properties").read_text())
    with pytest.raises(KafkaStorageError, match="one of them is a copy of the other"):
        Broker(properties(data, metadata)).start()


def test_one_that_is_damaged_ends_the_start(tmp_path: Path) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"
    with Broker(properties(data, metadata)):
        pass
    lines = (metadata / "meta.properties").read_text().splitlines()
    (metadata / "meta.properties").write_text("\n".join(line for line in lines if not line.startswith("node.id")))
    with pytest.raises(KafkaStorageError, match="node"):
        Broker(properties(data, metadata)).start()
    assert not (data / ".lock").exists()
