// What Apache Kafka reads of records of __consumer_offsets and writes again: one line for each line of the file given.
//
// key|value, both in hex as they stand in the log, value - for a tombstone -> the same from Apache, or ERR

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;

public class GroupRecordFacts {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws Exception {
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] f = line.split("\\|", -1);
            String fact;
            try {
                CoordinatorRecord record = serde.deserialize(buffer(f[0]), f[1].equals("-") ? null : buffer(f[1]));
                fact = HEX.formatHex(serde.serializeKey(record)) + "|" + hex(serde.serializeValue(record));
            } catch (RuntimeException e) {
                fact = "ERR " + e;
            }
            System.out.println(fact);
        }
    }

    static ByteBuffer buffer(String hex) {
        return ByteBuffer.wrap(HEX.parseHex(hex));
    }

    static String hex(byte[] bytes) {
        return bytes == null ? "-" : HEX.formatHex(bytes);
    }
}
