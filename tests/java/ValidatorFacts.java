// What Apache Kafka's own log does with an append: prints one line of facts for each line of input.
//
// In:  name|topic.config=value,…|ORIGIN|hex of the records        (the log is new for each line and ends at offset 3)
// Out: name|OK|first|last|maxTimestamp|logAppendTime|hex of what the log then holds after offset 3
//      name|ERR|code|exception|message|index:message;…
// Run: java -cp 'jars/*' tests/java/ValidatorFacts.java < cases > facts

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class ValidatorFacts {
    static final long NOW_MS = 1_000_000L;
    static final int EPOCH = 7;

    static class FixedTime implements Time {
        public long milliseconds() { return NOW_MS; }
        public long nanoseconds() { return System.nanoTime(); }
        public void sleep(long ms) { }
        public void waitObject(Object o, Supplier<Boolean> condition, long deadlineMs) { }
    }

    public static void main(String[] args) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split("\\|", -1);
            System.out.println(fields[0] + "|" + facts(scheduler, fields));
        }
        scheduler.shutdown();
        System.exit(0);
    }

    static String facts(KafkaScheduler scheduler, String[] fields) throws Exception {
        Properties topic = new Properties();
        for (String pair : fields[1].split(","))
            if (!pair.isEmpty())
                topic.put(pair.split("=")[0], pair.split("=")[1]);
        File root = Files.createTempDirectory("validator").toFile();
        File dir = new File(root, "t-0");
        UnifiedLog log = UnifiedLog.create(dir, new LogConfig(new Properties()), 0L, 0L, scheduler, new BrokerTopicStats(),
            new FixedTime(), 900000, new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(1),
            true, Optional.of(Uuid.randomUuid()));
        SimpleRecord filler = new SimpleRecord(NOW_MS, "k".getBytes(), "v".getBytes());
        log.appendAsLeader(MemoryRecords.withRecords(Compression.NONE, filler, filler, filler), EPOCH);
        log.updateConfig(new LogConfig(topic));
        int before = (int) log.size();
        try {
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(fields[3])));
            AppendOrigin origin = AppendOrigin.valueOf(fields[2]);
            LogAppendInfo info;
            if (origin == AppendOrigin.REPLICATION)
                info = log.appendAsFollower(records, EPOCH);
            else {
                if (origin == AppendOrigin.CLIENT)
                    ProduceRequest.validateRecords((short) 9, records);
                info = log.appendAsLeader(records, EPOCH, origin, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 0);
            }
            FileRecords file = log.activeSegment().log();
            ByteBuffer held = ByteBuffer.allocate((int) log.size() - before);
            file.readInto(held, before);
            byte[] bytes = new byte[held.remaining()];
            held.get(bytes);
            return "OK|" + info.firstOffset() + "|" + info.lastOffset() + "|" + info.maxTimestamp() + "|" + info.logAppendTime()
                + "|" + HexFormat.of().formatHex(bytes);
        } catch (Throwable e) {
            String records = "";
            Throwable cause = e;
            if (e instanceof RecordValidationException invalid) {
                records = invalid.recordErrors().stream().map(r -> r.batchIndex + ":" + r.message).collect(Collectors.joining(";"));
                cause = invalid.invalidException();
            }
            return "ERR|" + Errors.forException(cause).code() + "|" + cause.getClass().getSimpleName() + "|" + cause.getMessage() + "|" + records;
        } finally {
            log.close();
        }
    }
}
