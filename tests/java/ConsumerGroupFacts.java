// What Apache's group coordinator answers and writes when members of consumer groups come, stay and go.
//
// args: the script. A line is a step, its fields apart by '|'; messages are in hex:
//   new|property=value,…                          a new shard, at time 1000000, with no topics
//   advance|ms                                    timers run when they are due; work in the background is done first
//   create|name|topic id|partitions   grow|topic id|from|to   delete|topic id
//   replay|key|value                              a record that is in the log already
//   beat|request  join|version|request  sync|request  heartbeat|request  leave|request
// A step gives a line: the response, or "ERR code", or "-"; then each record as " key:value", "-" for a tombstone.

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.timeline.SnapshotRegistry;

public class ConsumerGroupFacts {
    static final HexFormat HEX = HexFormat.of();
    static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();

    final Timers timers = new Timers();
    final Background background = new Background();
    final GroupCoordinatorShard shard;
    MetadataImage image = MetadataImage.EMPTY;
    long nowMs = 1_000_000;
    long offset = 0;
    StringBuilder written = new StringBuilder();

    public static void main(String[] args) throws Exception {
        ConsumerGroupFacts facts = null;
        StringBuilder out = new StringBuilder();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] f = line.split("\\|", -1);
            String answer = "-";
            if (f[0].equals("new")) {
                facts = new ConsumerGroupFacts(f[1]);
            } else {
                facts.written = new StringBuilder();
                try {
                    answer = facts.step(f);
                } catch (ApiException e) {
                    answer = "ERR " + Errors.forException(e).code();
                }
            }
            out.append(answer).append(facts.written).append('\n');
        }
        System.out.print(out);
    }

    ConsumerGroupFacts(String properties) {
        Map<String, String> props = new HashMap<>();
        for (String each : properties.split(",")) {
            if (!each.isEmpty()) props.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(props);
        ShareGroupConfig share = new ShareGroupConfig(new AbstractConfig(
            Utils.mergeConfigs(List.of(GroupCoordinatorConfig.CONFIG_DEF, ShareGroupConfig.CONFIG_DEF)), Map.of()));
        shard = new GroupCoordinatorShard.Builder(config, new GroupConfigManager(Map.of(), config, share))
            .withAuthorizerPlugin(Optional.empty())
            .withLogContext(new LogContext())
            .withSnapshotRegistry(new SnapshotRegistry(new LogContext()))
            .withTime(new ScriptTime())
            .withTimer(timers)
            .withExecutor(background)
            .withCoordinatorMetrics(new GroupCoordinatorMetrics(
                new com.yammer.metrics.core.MetricsRegistry(), new Metrics()))
            .withTopicPartition(new TopicPartition("__consumer_offsets", 0))
            .build();
        shard.onLoaded(new KRaftCoordinatorMetadataImage(image));
    }

    String step(String[] f) throws Exception {
        switch (f[0]) {
            case "advance":
                advance(Long.parseLong(f[1]));
                return "-";
            case "create": {
                List<ApiMessage> records = new ArrayList<>();
                records.add(new TopicRecord().setName(f[1]).setTopicId(Uuid.fromString(f[2])));
                records.addAll(partitions(f[2], 0, Integer.parseInt(f[3])));
                return metadata(records);
            }
            case "grow":
                return metadata(partitions(f[1], Integer.parseInt(f[2]), Integer.parseInt(f[3])));
            case "delete":
                return metadata(List.of(new RemoveTopicRecord().setTopicId(Uuid.fromString(f[1]))));
            case "replay":
                shard.replay(offset++, -1, (short) -1,
                    SERDE.deserialize(ByteBuffer.wrap(HEX.parseHex(f[1])), ByteBuffer.wrap(HEX.parseHex(f[2]))));
                return "-";
            case "beat":
                return hex(write(shard.consumerGroupHeartbeat(context(ApiKeys.CONSUMER_GROUP_HEARTBEAT, 1),
                    new ConsumerGroupHeartbeatRequestData(accessor(f[1]), (short) 1))), 1);
            case "join": {
                short version = Short.parseShort(f[1]);
                CompletableFuture<JoinGroupResponseData> response = new CompletableFuture<>();
                write(shard.classicGroupJoin(context(ApiKeys.JOIN_GROUP, version),
                    new JoinGroupRequestData(accessor(f[2]), version), response));
                return response.isDone() ? hex(response.get(), 9) : "-";
            }
            case "sync": {
                CompletableFuture<SyncGroupResponseData> response = new CompletableFuture<>();
                write(shard.classicGroupSync(context(ApiKeys.SYNC_GROUP, 5),
                    new SyncGroupRequestData(accessor(f[1]), (short) 5), response));
                return response.isDone() ? hex(response.get(), 5) : "-";
            }
            case "heartbeat":
                return hex(write(shard.classicGroupHeartbeat(context(ApiKeys.HEARTBEAT, 4),
                    new HeartbeatRequestData(accessor(f[1]), (short) 4))), 4);
            case "leave":
                return hex(write(shard.classicGroupLeave(context(ApiKeys.LEAVE_GROUP, 5),
                    new LeaveGroupRequestData(accessor(f[1]), (short) 5))), 5);
            default:
                throw new IllegalArgumentException(f[0]);
        }
    }

    <T> T write(CoordinatorResult<T, CoordinatorRecord> result) {
        for (CoordinatorRecord record : result.records()) {
            byte[] value = SERDE.serializeValue(record);
            written.append(' ').append(HEX.formatHex(SERDE.serializeKey(record))).append(':')
                .append(value == null ? "-" : HEX.formatHex(value));
            if (result.replayRecords()) shard.replay(offset++, -1, (short) -1, record);
        }
        if (result.appendFuture() != null) result.appendFuture().complete(null);
        return result.response();
    }

    void advance(long elapsedMs) {
        long untilMs = nowMs + elapsedMs;
        background.runAll();
        while (true) {
            Map.Entry<String, Due> next = timers.due.entrySet().stream()
                .filter(entry -> entry.getValue().deadlineMs <= untilMs)
                .min((a, b) -> Long.compare(a.getValue().deadlineMs, b.getValue().deadlineMs)).orElse(null);
            if (next == null) break;
            nowMs = Math.max(nowMs, next.getValue().deadlineMs);
            timers.due.remove(next.getKey());
            write(next.getValue().operation.generateRecords());
        }
        nowMs = untilMs;
    }

    static List<ApiMessage> partitions(String id, int from, int to) {
        List<ApiMessage> records = new ArrayList<>();
        for (int index = from; index < to; index++) {
            records.add(new PartitionRecord().setTopicId(Uuid.fromString(id)).setPartitionId(index)
                .setReplicas(List.of(0)).setIsr(List.of(0)).setLeader(0));
        }
        return records;
    }

    String metadata(List<ApiMessage> records) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        records.forEach(delta::replay);
        image = delta.apply(new MetadataProvenance(
            image.provenance().lastContainedOffset() + records.size(), 1, nowMs, true));
        shard.onMetadataUpdate(new KRaftCoordinatorMetadataDelta(delta), new KRaftCoordinatorMetadataImage(image));
        return "-";
    }

    static ByteBufferAccessor accessor(String hex) {
        return new ByteBufferAccessor(ByteBuffer.wrap(HEX.parseHex(hex)));
    }

    static String hex(ApiMessage message, int version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, (short) version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HEX.formatHex(bytes);
    }

    static RequestContext context(ApiKeys key, int version) throws Exception {
        return new RequestContext(new RequestHeader(key, (short) version, "client", 1), "1",
            InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), KafkaPrincipal.ANONYMOUS,
            ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT,
            ClientInformation.EMPTY, false);
    }

    class ScriptTime implements Time {
        public long milliseconds() { return nowMs; }
        public long nanoseconds() { return nowMs * 1_000_000; }
        public void sleep(long ms) { }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) { }
    }

    record Due(long deadlineMs, CoordinatorTimer.TimeoutOperation<CoordinatorRecord> operation) { }

    class Timers implements CoordinatorTimer<CoordinatorRecord> {
        final Map<String, Due> due = new LinkedHashMap<>();

        public void schedule(String key, long delay, TimeUnit unit, boolean retry,
            TimeoutOperation<CoordinatorRecord> operation) {
            // The clocks of expiry and of metrics concern nobody here.
            if (!List.of("expire-group-metadata", "group-size-counter").contains(key)) {
                due.put(key, new Due(nowMs + unit.toMillis(delay), operation));
            }
        }

        public void schedule(String key, long delay, TimeUnit unit, boolean retry, long backoff,
            TimeoutOperation<CoordinatorRecord> operation) {
            schedule(key, delay, unit, retry, operation);
        }

        public void scheduleIfAbsent(String key, long delay, TimeUnit unit, boolean retry,
            TimeoutOperation<CoordinatorRecord> operation) {
            if (!due.containsKey(key)) schedule(key, delay, unit, retry, operation);
        }

        public void cancel(String key) { due.remove(key); }

        public boolean isScheduled(String key) { return due.containsKey(key); }
    }

    class Background implements CoordinatorExecutor<CoordinatorRecord> {
        final Map<String, Runnable> tasks = new LinkedHashMap<>();

        public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> operation) {
            return tasks.putIfAbsent(key, () -> {
                R result;
                try {
                    result = task.run();
                } catch (Throwable e) {
                    throw new IllegalStateException(e);
                }
                write(operation.onComplete(result, null));
            }) == null;
        }

        public boolean isScheduled(String key) { return tasks.containsKey(key); }

        public void cancel(String key) { tasks.remove(key); }

        void runAll() {
            for (String key : new ArrayList<>(tasks.keySet())) tasks.remove(key).run();
        }
    }
}
