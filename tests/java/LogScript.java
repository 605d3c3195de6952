// Drives Apache Kafka's own log by a script, one command a line, and answers each with a line of facts.
// tests/interop/log_script.py has the same commands for our log; the two must answer the same and leave the same files.
//
//   LogScript SCRIPT        (fields are divided by |; time stands still between `now` commands)
//
// open|DIRECTORY|config=value;…|cleanShutdown|logStartOffset|recoveryPoint     now|ms
// append|ORIGIN|leaderEpoch|transactionVersion|hex                             follow|leaderEpoch|hex
// roll   flush   retention   clean   close   abandon (the handles, without a word to the disk)
// elect|leaderEpoch   high_watermark|offset   stable   log_start|offset   truncate|offset   truncate_fully|offset   time|timestamp

import java.io.File;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class LogScript {
    private static long nowMs = 0;

    private static final Time TIME = new Time() {
        public long milliseconds() { return nowMs; }
        public long nanoseconds() { return System.nanoTime(); }
        public void sleep(long ms) { }
        public void waitObject(Object o, Supplier<Boolean> condition, long deadlineMs) { }
    };

    /** Does at once what is due at once; what is due later, such as deleting files, is never due here. */
    private static final Scheduler SCHEDULER = new Scheduler() {
        public void startup() { }
        public void shutdown() { }
        public void resizeThreadPool(int size) { }
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (delayMs == 0 && periodMs < 0)
                task.run();
            return (ScheduledFuture<?>) Proxy.newProxyInstance(LogScript.class.getClassLoader(),
                new Class<?>[] {ScheduledFuture.class}, (proxy, method, args) -> method.getName().equals("cancel"));
        }
    };

    private UnifiedLog log;
    private Long cleanUntil;

    public static void main(String[] args) throws Exception {
        LogScript script = new LogScript();
        for (String line : Files.readAllLines(Path.of(args[0])))
            System.out.println(script.answer(line.split("\\|", -1)));
    }

    private String answer(String[] f) throws Exception {
        String fact;
        try {
            fact = perform(f);
        } catch (RecordValidationException e) {
            fact = "error " + Errors.forException(e.invalidException()).code();
        } catch (RuntimeException e) {
            fact = "error " + Errors.forException(e).code();
        }
        if (f[0].equals("close") || f[0].equals("abandon"))
            log = null;
        String state = log == null ? "" : log.logStartOffset() + " " + log.highWatermark() + " " + log.logEndOffset() + " "
            + log.numberOfSegments() + " " + log.size();
        return fact + "|" + state;
    }

    private String perform(String[] f) throws Exception {
        switch (f[0]) {
            case "now" -> nowMs = Long.parseLong(f[1]);
            case "open" -> open(new File(f[1]), f[2], Boolean.parseBoolean(f[3]), Long.parseLong(f[4]), Long.parseLong(f[5]));
            case "append" -> {
                return info(log.appendAsLeader(records(f[4]), Integer.parseInt(f[2]), AppendOrigin.valueOf(f[1]),
                    RequestLocal.noCaching(), VerificationGuard.SENTINEL, Short.parseShort(f[3])));
            }
            case "follow" -> {
                return info(log.appendAsFollower(records(f[2]), Integer.parseInt(f[1])));
            }
            case "elect" -> log.assignEpochStartOffset(Integer.parseInt(f[1]), log.logEndOffset());
            case "roll" -> log.roll();
            case "flush" -> log.flush(false);
            case "retention" -> {
                return "deleted " + log.deleteOldSegments();
            }
            case "high_watermark" -> log.updateHighWatermark(Long.parseLong(f[1]));
            case "stable" -> {
                return Long.toString(log.lastStableOffset());
            }
            case "log_start" -> log.maybeIncrementLogStartOffset(Long.parseLong(f[1]),
                LogStartOffsetIncrementReason.ClientRecordDeletion);
            case "truncate" -> log.truncateTo(Long.parseLong(f[1]));
            case "truncate_fully" -> log.truncateFullyAndStartAt(Long.parseLong(f[1]), Optional.empty());
            case "time" -> {
                return log.fetchOffsetByTimestamp(Long.parseLong(f[1]), Optional.empty()).timestampAndOffsetOpt()
                    .map(found -> found.timestamp + " " + found.offset + " " + found.leaderEpoch.orElse(-1)).orElse("none");
            }
            case "clean" -> {
                return clean();
            }
            case "close" -> log.close();
            case "abandon" -> log.closeHandlers();
            default -> throw new IllegalStateException(f[0]);
        }
        return "ok";
    }

    private void open(File directory, String configs, boolean clean, long logStart, long recoveryPoint) throws Exception {
        Properties topic = new Properties();
        for (String pair : configs.split(";"))
            if (!pair.isEmpty())
                topic.put(pair.split("=")[0], pair.split("=")[1]);
        log = UnifiedLog.create(directory, new LogConfig(topic), logStart, recoveryPoint, SCHEDULER, new BrokerTopicStats(), TIME,
            900000, new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(1), clean, Optional.empty());
    }

    private static MemoryRecords records(String hex) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
    }

    private static String info(LogAppendInfo info) {
        return info.firstOffset() + " " + info.lastOffset() + " " + info.maxTimestamp() + " " + info.logAppendTime();
    }

    /** As a broker's cleaner thread does with the log, if it is filthy enough. */
    private String clean() throws Exception {
        long uncleanable = Math.min(log.lastStableOffset(), log.activeSegment().baseOffset());
        long dirty = cleanUntil == null || cleanUntil < log.logStartOffset() ? log.logStartOffset() : cleanUntil;
        LogToClean cleanable = new LogToClean(log, dirty, Math.max(dirty, uncleanable), false);
        if (cleanable.totalBytes() == 0 || cleanable.cleanableRatio() <= log.config().minCleanableRatio)
            return "clean enough";
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(4 << 20), 256 << 10, Integer.MAX_VALUE, 0.9,
            new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", TIME), TIME, partition -> { });
        Map.Entry<Long, CleanerStats> done = cleaner.doClean(cleanable, nowMs);
        cleanUntil = done.getKey();
        return "cleaned to " + cleanUntil;
    }
}
