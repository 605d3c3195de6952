// Cleans one partition directory once, in place, with Apache Kafka's own log and Cleaner, and says how long that took.
//
//   java -cp 'jars/*' CleanDirectory.java DIRECTORY [CONFIGS [NOW_MS [WARM_UPS [FIRST_DIRTY_OFFSET]]]]
//
// DIRECTORY           named topic-partition, and cleanly closed; its last segment is active and stays as it is
// CONFIGS             topic configs as key=value,key=value (cleanup.policy=compact is added)
// NOW_MS              what the cleaner takes for now; the clock's time without it
// WARM_UPS            copies to clean first, so that the compiled code is timed; 0 without it
// FIRST_DIRTY_OFFSET  up to where the log is clean; its start without it
//
// Prints one line: milliseconds=… cpuMilliseconds=… endOffset=… bytesBefore=… bytesAfter=…
// Both times are of Cleaner.doClean alone (offset map, filter, index, fsync, swap), not of loading the log, in the
// thread that cleans. The cleaner has a broker's defaults: 128 MiB of offset map, 256 KiB of buffer each way, no throttle.
// For timings, give it a JVM of its own with both compilers: oracle.run_source("tests/java/CleanDirectory.java",
// directory, "segment.bytes=1048576", now_ms, 3, jvm_args=("-XX:TieredStopAtLevel=4", "-Xmx1g")).

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class CleanDirectory {
    static final int OFFSET_MAP_BYTES = 128 << 20;
    static final int IO_BUFFER_BYTES = 256 << 10;
    static final double LOAD_FACTOR = 0.9;

    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]).toAbsolutePath();
        Properties configs = new Properties();
        configs.put("cleanup.policy", "compact");
        for (String pair : args.length > 1 ? args[1].split(",") : new String[0])
            if (!pair.isEmpty())
                configs.put(pair.split("=")[0], pair.split("=")[1]);
        long now = args.length > 2 ? Long.parseLong(args[2]) : System.currentTimeMillis();
        int warmUps = args.length > 3 ? Integer.parseInt(args[3]) : 0;
        Optional<Long> firstDirty = args.length > 4 ? Optional.of(Long.parseLong(args[4])) : Optional.empty();
        for (int i = 0; i < warmUps; i++) {
            Path root = Files.createTempDirectory(directory.getParent().getParent(), "warm-up");
            Path copy = Files.createDirectory(root.resolve(directory.getFileName()));
            for (Path file : files(directory))
                Files.copy(file, copy.resolve(file.getFileName()));
            clean(copy.toFile(), new LogConfig(configs), now, firstDirty);
            for (Path file : files(copy))
                Files.delete(file);
            Files.delete(copy);
            Files.delete(root);
        }
        System.out.println(clean(directory.toFile(), new LogConfig(configs), now, firstDirty));
    }

    static String clean(File directory, LogConfig config, long now, Optional<Long> firstDirty) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        UnifiedLog log = UnifiedLog.create(directory, config, 0L, 0L, scheduler, new BrokerTopicStats(), Time.SYSTEM, 900000,
            new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(1), true, Optional.empty());
        log.updateHighWatermark(log.logEndOffset());
        long before = log.size();
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(OFFSET_MAP_BYTES), IO_BUFFER_BYTES, Integer.MAX_VALUE, LOAD_FACTOR,
            new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", Time.SYSTEM), Time.SYSTEM, partition -> { });
        long uncleanable = Math.min(log.lastStableOffset(), log.activeSegment().baseOffset());
        LogToClean cleanable = new LogToClean(log, firstDirty.orElse(log.logStartOffset()), uncleanable, false);
        long cpu = cpuNanos();
        long start = System.nanoTime();
        Map.Entry<Long, CleanerStats> done = cleaner.doClean(cleanable, now);
        long elapsed = System.nanoTime() - start;
        cpu = cpuNanos() - cpu;
        long after = log.size();
        log.close();
        scheduler.shutdown();
        return String.format("milliseconds=%.3f cpuMilliseconds=%.3f endOffset=%d bytesBefore=%d bytesAfter=%d",
            elapsed / 1e6, cpu / 1e6, done.getKey(), before, after);
    }

    static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> found = Files.list(directory)) {
            return found.sorted(Comparator.naturalOrder()).toList();
        }
    }
}
