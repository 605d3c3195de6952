// What the classes of Apache Kafka's own producer make of keys and records: one line of facts for each line of the file.
//
// key|hex|partitions                       -> murmur2 of the key, without its sign, the partition that it goes to
// batch|codec|size|producerId|epoch|sequence|records   -> how many records fit, the batch in hex
// A record is timestamp,key,value,header… with bytes in hex, - for null, headers as key=value.

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;
import org.apache.kafka.common.utils.Utils;

public class ProducerFacts {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] f = line.split("\\|", -1);
            System.out.println(f[0].equals("key") ? key(f) : batch(f));
        }
    }

    static String key(String[] f) {
        byte[] key = HEX.parseHex(f[1]);
        int hash = Utils.murmur2(key);
        int partition = BuiltInPartitioner.partitionForKey(key, Integer.parseInt(f[2]));
        return Integer.toUnsignedString(hash) + " " + Utils.toPositive(hash) + " " + partition;
    }

    static String batch(String[] f) {
        Compression codec = Compression.of(CompressionType.forName(f[1])).build();
        ByteBuffer buffer = ByteBuffer.allocate(Integer.parseInt(f[2]));
        MemoryRecordsBuilder builder =
            MemoryRecords.builder(buffer, RecordBatch.CURRENT_MAGIC_VALUE, codec, TimestampType.CREATE_TIME, 0L);
        ProducerBatch batch = new ProducerBatch(new TopicPartition("facts", 0), builder, 0);
        int taken = 0;
        for (String record : f[6].split(";")) {
            String[] p = record.split(",", -1);
            Header[] headers = new Header[p.length - 3];
            for (int i = 3; i < p.length; i++) {
                String[] pair = p[i].split("=", -1);
                headers[i - 3] = new RecordHeader(new String(HEX.parseHex(pair[0]), java.nio.charset.StandardCharsets.UTF_8),
                    bytes(pair[1]));
            }
            if (batch.tryAppend(Long.parseLong(p[0]), bytes(p[1]), bytes(p[2]), headers, null, 0) == null) break;
            taken++;
        }
        ProducerIdAndEpoch producer = new ProducerIdAndEpoch(Long.parseLong(f[3]), Short.parseShort(f[4]));
        batch.setProducerState(producer, Integer.parseInt(f[5]), false);
        batch.close();
        ByteBuffer sealed = batch.records().buffer();
        byte[] all = new byte[sealed.remaining()];
        sealed.duplicate().get(all);
        return taken + " " + HEX.formatHex(all);
    }

    static byte[] bytes(String text) {
        return text.equals("-") ? null : HEX.parseHex(text);
    }
}
