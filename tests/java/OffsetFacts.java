// Apache Kafka's own shard of the group coordinator, driven by a script: one line out for each line of the file given.
//
// now|ms                        -> ok
// replay|key|value              -> ok; both in hex as in the log, value - for a tombstone
// commit|version|request        -> OffsetCommit         records|response, or ERR and the code
// txn|version|producer|request  -> TxnOffsetCommit      likewise; its records belong to the producer
// end|producer|committed        -> ok
// delete|request                -> OffsetDelete 0
// fetch|stable|request          -> OffsetFetch 9 for one group
// cleanup, groups|id,id, topics|name,name -> expiry, DeleteGroups, deletion of topics (their ids follow from the names)
// list|states|types, describe|version|id,id -> ListGroups 5, DescribeGroups
//
// Records are key=value in hex, sorted, because Apache's order is that of its hash tables; so are topics in answers.
// A topic's id is its name in ASCII, filled up with zeros.

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.DeleteGroupsResponseData;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.timeline.SnapshotRegistry;

public class OffsetFacts {
    static final HexFormat HEX = HexFormat.of();
    static final long NO_PRODUCER = -1;

    final GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
    final SnapshotRegistry snapshots = new SnapshotRegistry(new LogContext());
    final GroupCoordinatorShard shard;
    long nowMs = 0;
    long endOffset = 0;

    public static void main(String[] args) throws Exception {
        OffsetFacts facts = new OffsetFacts(args[1], args[2]);
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String fact;
            try {
                fact = facts.answer(line.split("\\|", -1));
            } catch (ApiException e) {
                fact = "ERR " + Errors.forException(e).code();
            }
            System.out.println(fact);
        }
    }

    OffsetFacts(String metadataMax, String retentionMinutes) {
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(Map.of(
            "offset.metadata.max.bytes", metadataMax, "offsets.retention.minutes", retentionMinutes));
        ShareGroupConfig share = new ShareGroupConfig(new AbstractConfig(
            Utils.mergeConfigs(List.of(GroupCoordinatorConfig.CONFIG_DEF, ShareGroupConfig.CONFIG_DEF)), Map.of()));
        shard = new GroupCoordinatorShard.Builder(config, new GroupConfigManager(Map.of(), config, share))
            .withAuthorizerPlugin(Optional.empty())
            .withLogContext(new LogContext())
            .withSnapshotRegistry(snapshots)
            .withTime(new ScriptTime())
            .withTimer(new NoTimer())
            .withExecutor(new NoExecutor())
            .withCoordinatorMetrics(new GroupCoordinatorMetrics(
                new com.yammer.metrics.core.MetricsRegistry(), new Metrics()))
            .withTopicPartition(new TopicPartition("__consumer_offsets", 0))
            .build();
        shard.onLoaded(new KRaftCoordinatorMetadataImage(MetadataImage.EMPTY));
        snapshots.idempotentCreateSnapshot(0);
    }

    String answer(String[] f) {
        switch (f[0]) {
            case "now":
                nowMs = Long.parseLong(f[1]);
                return "ok";
            case "replay":
                write(List.of(serde.deserialize(buffer(f[1]), f[2].equals("-") ? null : buffer(f[2]))), NO_PRODUCER);
                return "ok";
            case "commit": {
                short version = Short.parseShort(f[1]);
                OffsetCommitRequestData request = new OffsetCommitRequestData(accessor(f[2]), version);
                request.topics().forEach(topic -> {
                    if (version >= 10) topic.setName(name(topic.topicId()));
                    else topic.setTopicId(id(topic.name()));
                });
                return written(shard.commitOffset(context(version), request), NO_PRODUCER, version);
            }
            case "txn": {
                short version = Short.parseShort(f[1]);
                TxnOffsetCommitRequestData request = new TxnOffsetCommitRequestData(accessor(f[3]), version);
                return written(shard.commitTransactionalOffset(context(version), request), Long.parseLong(f[2]), version);
            }
            case "end":
                shard.replayEndTransactionMarker(Long.parseLong(f[1]), (short) 0,
                    f[2].equals("true") ? TransactionResult.COMMIT : TransactionResult.ABORT);
                endOffset++;
                snapshots.idempotentCreateSnapshot(endOffset);
                return "ok";
            case "delete": {
                OffsetDeleteRequestData request = new OffsetDeleteRequestData(accessor(f[1]), (short) 0);
                return written(shard.deleteOffsets(context((short) 0), request), NO_PRODUCER, (short) 0);
            }
            case "fetch": {
                OffsetFetchRequestData request = new OffsetFetchRequestData(accessor(f[2]), (short) 9);
                OffsetFetchRequestData.OffsetFetchRequestGroup group = request.groups().get(0);
                if (group.topics() != null) group.topics().forEach(topic -> topic.setTopicId(id(topic.name())));
                OffsetFetchResponseData.OffsetFetchResponseGroup fetched =
                    shard.fetchOffsets(group, f[1].equals("true") ? Long.MAX_VALUE : endOffset);
                List<OffsetFetchResponseData.OffsetFetchResponseTopics> topics = new ArrayList<>(fetched.topics());
                topics.sort(Comparator.comparing(OffsetFetchResponseData.OffsetFetchResponseTopics::name));
                topics.forEach(topic -> topic.partitions().sort(
                    Comparator.comparing(OffsetFetchResponseData.OffsetFetchResponsePartitions::partitionIndex)));
                fetched.setTopics(topics);
                return hex(new OffsetFetchResponseData().setGroups(List.of(fetched)), (short) 9);
            }
            case "cleanup":
                return written(shard.cleanupGroupMetadata(), NO_PRODUCER, (short) 0);
            case "topics":
                return written(shard.onTopicsDeleted(Arrays.stream(f[1].split(","))
                    .map(name -> new GroupCoordinatorShard.DeletedTopic(id(name), name)).toList()), NO_PRODUCER, (short) 0);
            case "groups": {
                var result = shard.deleteGroups(context((short) 2), Arrays.asList(f[1].split(",")));
                write(result.records(), NO_PRODUCER);
                return hex(result.records()) + "|"
                    + hex(new DeleteGroupsResponseData().setResults(result.response()), (short) 2);
            }
            case "list": {
                List<ListGroupsResponseData.ListedGroup> listed =
                    new ArrayList<>(shard.listGroups(strings(f[1]), strings(f[2]), endOffset));
                listed.sort(Comparator.comparing(ListGroupsResponseData.ListedGroup::groupId));
                return hex(new ListGroupsResponseData().setGroups(listed), (short) 5);
            }
            case "describe": {
                short version = Short.parseShort(f[1]);
                return hex(new DescribeGroupsResponseData()
                    .setGroups(shard.describeGroups(context(version), strings(f[2]), endOffset)), version);
            }
            default:
                throw new IllegalStateException(f[0]);
        }
    }

    void write(List<CoordinatorRecord> records, long producerId) {
        for (CoordinatorRecord record : records) {
            shard.replay(endOffset++, producerId, (short) 0, record);
        }
        snapshots.idempotentCreateSnapshot(endOffset);
    }

    String written(CoordinatorResult<? extends Object, CoordinatorRecord> result, long producerId, short version) {
        write(result.records(), producerId);
        String response = result.response() instanceof Message message ? hex(message, version) : "";
        return hex(result.records()) + "|" + response;
    }

    String hex(List<CoordinatorRecord> records) {
        return records.stream().map(record -> {
            byte[] value = serde.serializeValue(record);
            return HEX.formatHex(serde.serializeKey(record)) + "=" + (value == null ? "-" : HEX.formatHex(value));
        }).distinct().sorted().collect(Collectors.joining(";"));
    }

    static String hex(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HEX.formatHex(bytes);
    }

    static List<String> strings(String text) {
        return text.isEmpty() ? List.of() : Arrays.asList(text.split(","));
    }

    static Uuid id(String name) {
        ByteBuffer bytes = ByteBuffer.allocate(16).put(name.getBytes(StandardCharsets.US_ASCII)).rewind();
        return new Uuid(bytes.getLong(), bytes.getLong());
    }

    static String name(Uuid id) {
        byte[] bytes = ByteBuffer.allocate(16)
            .putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
        return new String(bytes, StandardCharsets.US_ASCII).replace("\0", "");
    }

    static ByteBuffer buffer(String hex) {
        return ByteBuffer.wrap(HEX.parseHex(hex));
    }

    static ByteBufferAccessor accessor(String hex) {
        return new ByteBufferAccessor(buffer(hex));
    }

    static AuthorizableRequestContext context(short version) {
        return new AuthorizableRequestContext() {
            public String listenerName() { return "PLAINTEXT"; }
            public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
            public KafkaPrincipal principal() { return KafkaPrincipal.ANONYMOUS; }
            public InetAddress clientAddress() { return InetAddress.getLoopbackAddress(); }
            public int requestType() { return 0; }
            public int requestVersion() { return version; }
            public String clientId() { return "client"; }
            public int correlationId() { return 0; }
        };
    }

    class ScriptTime implements Time {
        public long milliseconds() { return nowMs; }
        public long nanoseconds() { return TimeUnit.MILLISECONDS.toNanos(nowMs); }
        public void sleep(long ms) { throw new IllegalStateException(); }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new IllegalStateException();
        }
    }

    static class NoTimer implements CoordinatorTimer<CoordinatorRecord> {
        public void schedule(String key, long delay, TimeUnit unit, boolean retry,
            TimeoutOperation<CoordinatorRecord> operation) { }
        public void schedule(String key, long delay, TimeUnit unit, boolean retry, long backoff,
            TimeoutOperation<CoordinatorRecord> operation) { }
        public void scheduleIfAbsent(String key, long delay, TimeUnit unit, boolean retry,
            TimeoutOperation<CoordinatorRecord> operation) { }
        public void cancel(String key) { }
        public boolean isScheduled(String key) { return false; }
    }

    static class NoExecutor implements CoordinatorExecutor<CoordinatorRecord> {
        public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> operation) {
            return false;
        }
        public boolean isScheduled(String key) { return false; }
        public void cancel(String key) { }
    }
}
