import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/**
 * Follows a history of one partition, a step a line on stdin, with Apache Kafka's own ProducerStateManager, and prints what
 * came of each step and the state after it. Arguments: the directory for snapshots, the producer id expiration in ms.
 * tests/log/test_producer_oracle.py tells the same history to ours and compares.
 */
public class ProducerStateFacts {
    static ProducerStateManager manager;

    public static void main(String[] args) throws Exception {
        TopicPartition partition = new TopicPartition("t", 0);
        File directory = new File(args[0]);
        ProducerStateManagerConfig config = new ProducerStateManagerConfig(Integer.parseInt(args[1]), true);
        BufferedReader steps = new BufferedReader(new InputStreamReader(System.in));
        for (String line = steps.readLine(); line != null; line = steps.readLine()) {
            String[] words = line.split(" ");
            String outcome;
            if (words[0].equals("begin")) {
                File fresh = new File(directory, words[1]);
                fresh.mkdirs();
                manager = new ProducerStateManager(partition, fresh, 900_000, config, Time.SYSTEM);
                outcome = "ok";
            } else {
                try {
                    outcome = step(words);
                } catch (ApiException e) {
                    outcome = "error " + Errors.forException(e).code();
                }
            }
            System.out.println(outcome + " | " + state());
        }
    }

    static String step(String[] words) throws Exception {
        long[] n = new long[words.length];
        if (!words[0].equals("append"))
            for (int i = 1; i < words.length; i++)
                n[i] = Long.parseLong(words[i]);
        switch (words[0]) {
            case "append": return append(AppendOrigin.valueOf(words[1]), Short.parseShort(words[2]), words[3]);
            case "high_watermark": manager.onHighWatermarkUpdated(n[1]); return "ok";
            case "log_start": manager.onLogStartOffsetIncremented(n[1]); return "ok";
            case "expire": manager.removeExpiredProducers(n[1]); return "ok";
            case "snapshot": return manager.takeSnapshot(false).map(File::getName).orElse("none");
            case "reload": manager.truncateAndReload(n[1], n[2], n[3]); return "ok";
            case "truncate": manager.truncateFullyAndStartAt(n[1]); return "ok";
            case "delete_before": manager.deleteSnapshotsBefore(n[1]); return "ok";
            case "late": return String.valueOf(manager.hasLateTransaction(n[1]));
            case "verify": manager.maybeCreateVerificationStateEntry(n[1], (int) n[2], (short) n[3], n[4] == 1); return "ok";
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    /** As UnifiedLog.append does, without a log: duplicates, checks, then the updates. */
    static String append(AppendOrigin origin, short transactionVersion, String hex) {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
        Map<Long, ProducerAppendInfo> updated = new HashMap<>();
        List<CompletedTxn> completed = new ArrayList<>();
        long end = 0;
        for (MutableRecordBatch batch : records.batches()) {
            if (origin == AppendOrigin.CLIENT) {
                // Entries keep their search for duplicates to their package; the ranges that they show decide the same.
                Optional<BatchMetadata> duplicate = manager.lastEntry(batch.producerId())
                    .filter(entry -> entry.producerEpoch() == batch.producerEpoch())
                    .flatMap(entry -> entry.batchMetadata().stream()
                        .filter(b -> b.firstSeq() == batch.baseSequence() && b.lastSeq() == batch.lastSequence()).findFirst());
                if (duplicate.isPresent())
                    return "duplicate " + duplicate.get().firstOffset() + " " + duplicate.get().lastOffset();
            }
            UnifiedLog.updateProducers(manager, batch, updated, Optional.empty(), origin, transactionVersion).ifPresent(completed::add);
            end = batch.nextOffset();
        }
        updated.values().forEach(manager::update);
        StringBuilder outcome = new StringBuilder("ok");
        for (CompletedTxn txn : completed) {
            outcome.append(" " + txn.producerId() + ":" + txn.firstOffset() + ":" + txn.lastOffset() + ":" + txn.isAborted());
            outcome.append(":" + manager.lastStableOffset(txn));
            manager.completeTxn(txn);
        }
        manager.updateMapEndOffset(end);
        return outcome.toString();
    }

    static String state() {
        StringBuilder out = new StringBuilder();
        for (Map.Entry<Long, ProducerStateEntry> e : new TreeMap<>(manager.activeProducers()).entrySet()) {
            ProducerStateEntry entry = e.getValue();
            out.append(e.getKey() + "(" + entry.producerEpoch() + "," + entry.coordinatorEpoch() + "," + entry.lastTimestamp());
            out.append("," + entry.currentTxnFirstOffset().orElse(-1));
            for (BatchMetadata b : entry.batchMetadata())
                out.append("," + b.firstSeq() + "-" + b.lastSeq() + "@" + b.firstOffset() + "-" + b.lastOffset() + "/" + b.timestamp());
            out.append(") ");
        }
        out.append("unstable " + manager.firstUnstableOffset().map(o -> o.messageOffset).orElse(-1L));
        out.append(" undecided " + manager.firstUndecidedOffset().orElse(-1));
        out.append(" end " + manager.mapEndOffset() + " empty " + manager.isEmpty());
        out.append(" snapshots " + manager.oldestSnapshotOffset().orElse(-1) + ".." + manager.latestSnapshotOffset().orElse(-1));
        return out.toString();
    }
}
