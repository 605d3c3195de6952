// What Apache's group coordinator answers and writes when members of classic groups come, stay and go.
//
// args: the script. A line is a step, its fields apart by '|'; requests are in hex:
//   new|property=value,…      a new shard at time 1000000, with nothing in its log
//   reload                    another shard takes over what the log holds
//   advance|ms                timers run when they are due, those of one time in the order of their keys
//   fail|error code           the next append fails
//   join|version|request  sync|request  heartbeat|request  leave|request
// A step gives a line of words: "@step:response" for each request that is answered now, the step being that of the
// request within its history, "!step:code" if it is refused; "key:value" for each record, without a value for a
// tombstone.
//
// Member ids are no matter of chance here: the n-th random number of a history is n.

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
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
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.timeline.SnapshotRegistry;

public class ClassicGroupFacts {
    static final HexFormat HEX = HexFormat.of();
    static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();
    static long drawn = 0;

    final GroupCoordinatorConfig config;
    final List<CoordinatorRecord> log = new ArrayList<>();
    StringBuilder out = new StringBuilder();
    Timers timers;
    SnapshotRegistry snapshots;
    GroupCoordinatorShard shard;
    Errors appendError = null;
    long nowMs = 1_000_000;
    long offset = 0;
    long writes = 0;

    public static void main(String[] args) throws Exception {
        Security.insertProviderAt(new Counting(), 1);
        ClassicGroupFacts facts = null;
        int step = 0;
        StringBuilder all = new StringBuilder();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] f = line.split("\\|", -1);
            if (f[0].equals("new")) {
                drawn = 0;
                step = 0;
                facts = new ClassicGroupFacts(f[1]);
            }
            facts.out = new StringBuilder();
            try {
                facts.step(f, step);
            } catch (ApiException e) {
                facts.out.append(" !").append(step).append(':').append(Errors.forException(e).code());
            }
            all.append(facts.out).append('\n');
            step++;
        }
        System.out.print(all);
    }

    ClassicGroupFacts(String properties) {
        Map<String, String> props = new HashMap<>();
        for (String each : properties.split(",")) {
            if (!each.isEmpty()) props.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        config = GroupCoordinatorConfig.fromProps(props);
        load();
    }

    void load() {
        ShareGroupConfig share = new ShareGroupConfig(new AbstractConfig(
            Utils.mergeConfigs(List.of(GroupCoordinatorConfig.CONFIG_DEF, ShareGroupConfig.CONFIG_DEF)), Map.of()));
        timers = new Timers();
        snapshots = new SnapshotRegistry(new LogContext());
        shard = new GroupCoordinatorShard.Builder(config, new GroupConfigManager(Map.of(), config, share))
            .withAuthorizerPlugin(Optional.empty())
            .withLogContext(new LogContext())
            .withSnapshotRegistry(snapshots)
            .withTime(new ScriptTime())
            .withTimer(timers)
            .withExecutor(new Idle())
            .withCoordinatorMetrics(new GroupCoordinatorMetrics(
                new com.yammer.metrics.core.MetricsRegistry(), new Metrics()))
            .withTopicPartition(new TopicPartition("__consumer_offsets", 0))
            .build();
        for (CoordinatorRecord record : log) shard.replay(offset++, -1, (short) -1, record);
        shard.onLoaded(new KRaftCoordinatorMetadataImage(MetadataImage.EMPTY));
    }

    void step(String[] f, int step) throws Exception {
        switch (f[0]) {
            case "new":
                break;
            case "reload":
                shard.onUnloaded();
                load();
                break;
            case "advance":
                advance(Long.parseLong(f[1]));
                break;
            case "fail":
                appendError = Errors.forCode(Short.parseShort(f[1]));
                break;
            case "join": {
                short version = Short.parseShort(f[1]);
                CompletableFuture<JoinGroupResponseData> response = new CompletableFuture<>();
                response.thenAccept(answer -> answered(step, answer, 9));
                write(() -> shard.classicGroupJoin(context(ApiKeys.JOIN_GROUP, version),
                    new JoinGroupRequestData(accessor(f[2]), (short) 9), response));
                break;
            }
            case "sync": {
                CompletableFuture<SyncGroupResponseData> response = new CompletableFuture<>();
                response.thenAccept(answer -> answered(step, answer, 5));
                write(() -> shard.classicGroupSync(context(ApiKeys.SYNC_GROUP, 5),
                    new SyncGroupRequestData(accessor(f[1]), (short) 5), response));
                break;
            }
            case "heartbeat":
                answered(step, write(() -> shard.classicGroupHeartbeat(context(ApiKeys.HEARTBEAT, 4),
                    new HeartbeatRequestData(accessor(f[1]), (short) 4))), 4);
                break;
            case "leave":
                answered(step, write(() -> shard.classicGroupLeave(context(ApiKeys.LEAVE_GROUP, 5),
                    new LeaveGroupRequestData(accessor(f[1]), (short) 5))), 5);
                break;
            default:
                throw new IllegalArgumentException(f[0]);
        }
    }

    void answered(int step, ApiMessage response, int version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(response, (short) version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        out.append(" @").append(step).append(':').append(HEX.formatHex(bytes));
    }

    /** As the runtime does: what an operation changed is taken back if its records cannot be appended. */
    <T> T write(Supplier<CoordinatorResult<T, CoordinatorRecord>> operation) {
        snapshots.deleteSnapshotsUpTo(++writes);
        snapshots.idempotentCreateSnapshot(writes);
        CoordinatorResult<T, CoordinatorRecord> result = operation.get();
        if (!result.records().isEmpty() && appendError != null) {
            ApiException error = appendError.exception();
            appendError = null;
            snapshots.revertToSnapshot(writes);
            if (result.appendFuture() != null) result.appendFuture().completeExceptionally(error);
            return result.response();
        }
        for (CoordinatorRecord record : result.records()) {
            byte[] value = SERDE.serializeValue(record);
            out.append(' ').append(HEX.formatHex(SERDE.serializeKey(record))).append(':')
                .append(value == null ? "" : HEX.formatHex(value));
            log.add(record);
            if (result.replayRecords()) shard.replay(offset++, -1, (short) -1, record);
        }
        if (result.appendFuture() != null) result.appendFuture().complete(null);
        return result.response();
    }

    void advance(long elapsedMs) {
        long untilMs = nowMs + elapsedMs;
        while (true) {
            String next = timers.due.keySet().stream()
                .filter(key -> timers.due.get(key).deadlineMs <= untilMs)
                .min((a, b) -> Long.compare(timers.due.get(a).deadlineMs, timers.due.get(b).deadlineMs)).orElse(null);
            if (next == null) break;
            Due due = timers.due.remove(next);
            nowMs = Math.max(nowMs, due.deadlineMs);
            write(due.operation::generateRecords);
        }
        nowMs = untilMs;
    }

    static ByteBufferAccessor accessor(String hex) {
        return new ByteBufferAccessor(ByteBuffer.wrap(HEX.parseHex(hex)));
    }

    static RequestContext context(ApiKeys key, int version) {
        try {
            return new RequestContext(new RequestHeader(key, (short) version, "client", 1), "1",
                InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), KafkaPrincipal.ANONYMOUS,
                ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT,
                ClientInformation.EMPTY, false);
        } catch (java.net.UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    class ScriptTime implements Time {
        public long milliseconds() { return nowMs; }
        public long nanoseconds() { return nowMs * 1_000_000; }
        public void sleep(long ms) { }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) { }
    }

    record Due(long deadlineMs, CoordinatorTimer.TimeoutOperation<CoordinatorRecord> operation) { }

    class Timers implements CoordinatorTimer<CoordinatorRecord> {
        final Map<String, Due> due = new TreeMap<>();

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

    static class Idle implements CoordinatorExecutor<CoordinatorRecord> {
        public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> operation) {
            throw new IllegalStateException("classic groups have no work in the background");
        }

        public boolean isScheduled(String key) { return false; }

        public void cancel(String key) { }
    }

    public static class Counting extends Provider {
        public Counting() {
            super("Counting", "1", "counts instead of rolling dice");
            put("SecureRandom.Counting", Numbers.class.getName());
        }

        public static class Numbers extends SecureRandomSpi {
            protected void engineSetSeed(byte[] seed) { }

            protected void engineNextBytes(byte[] bytes) {
                java.util.Arrays.fill(bytes, (byte) 0);
                if (bytes.length == 16) ByteBuffer.wrap(bytes).putLong(0, ++drawn << 32);
            }

            protected byte[] engineGenerateSeed(int length) { return new byte[length]; }
        }
    }
}
