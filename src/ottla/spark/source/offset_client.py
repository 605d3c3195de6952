"""The cluster's offsets for plain code: what a reader in the driver's process asks, and waits for."""

from collections.abc import Collection, Mapping
from typing import Self

from ottla.clients.sync.runner import Runner
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import ConsumerConfig
from ottla.spark.source.cluster_offsets import ClusterOffsets, Topology
from ottla.spark.source.group_commits import GroupCommits
from ottla.spark.source.offset_bound import EARLIEST, LATEST, OffsetBound, Side, check_named, resolved, seen_with
from ottla.spark.source.offset_json import Offsets
from ottla.spark.source.source_options import SourceOptions


class OffsetClient:
    """Connected when made, unless that raises; ``close``, or use it as a context manager. Methods raise KafkaError."""

    def __init__(self, options: SourceOptions) -> None:
        """KafkaTimeoutError if no bootstrap server answers within ``kafka.request.timeout.ms``."""
        self._runner = Runner()
        try:
            self._offsets, self._commits = self._runner.call(lambda: self._make(options))
            self._runner.close_with(self._close)
            self._runner.run(self._offsets.start())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections, after what is to be committed; closing again does nothing."""
        if self._runner.is_open:
            try:
                if hasattr(self, "_offsets"):
                    self._runner.run(self._close())
            finally:
                self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def topology(self) -> Topology:
        """The selected partitions, looked up now."""
        return self._runner.run(self._offsets.topology())

    def offsets(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """The first offset at or after each time; see ``ClusterOffsets``."""
        return self._runner.run(self._offsets.offsets(times)) if times else {}

    def ends(self, partitions: Collection[TopicPartition], end: int) -> Offsets:
        """The beginnings (-2) or the ends (-1) of partitions."""
        return self._runner.run(self._offsets.ends(partitions, end)) if partitions else {}

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The beginnings of partitions that are still there."""
        return self.ends(partitions, EARLIEST)

    def latest(self) -> Offsets:
        """The ends of all selected partitions."""
        return self._runner.run(self._offsets.latest())

    def resolve(
        self, bound: OffsetBound, side: Side, partitions: Collection[TopicPartition], latest: Offsets
    ) -> Offsets:
        """The offsets that a bound means; InvalidConfigError if it does not fit the partitions, or their times.

        ``latest`` were the ends a moment ago, and what has come since is not there: so bounds fit together.
        """
        check_named(bound, side, partitions)
        queries = bound.queries(partitions)
        found = self.offsets({partition: time for partition, time in queries.items() if time != LATEST})
        return resolved(bound, partitions, seen_with(latest, queries, found), latest)

    def commit(self, offsets: Offsets, *, wait: bool = False) -> None:
        """Show the group, if there is one, that all up to these offsets is processed; returns at once, or when it is.

        Who is at his end waits: Spark may end the process then.
        """
        commits = self._commits
        if commits is not None:
            self._runner.call_soon(lambda: commits.offer(offsets))
            if wait:
                self._runner.run(commits.settled())

    def _make(self, options: SourceOptions) -> tuple[ClusterOffsets, GroupCommits | None]:
        offsets = ClusterOffsets(
            ConsumerConfig.parse(options.client),
            options.selection,
            read_committed=options.read_committed,
            metadata_ttl_ms=options.metadata_ttl_ms,
        )
        group = options.commit_group
        return offsets, None if group is None else GroupCommits(offsets.cluster, group)

    async def _close(self) -> None:
        if self._commits is not None:
            await self._commits.settled()
        await self._offsets.close()
