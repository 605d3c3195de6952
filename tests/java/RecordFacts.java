// What Apache Kafka's own record classes write and read: prints one line of facts for each line of the file given.
//
// build|baseOffset|epoch|codec|level|timestampType|producerId|producerEpoch|sequence|txn|control|horizon|appendTime|last|records
//     -> the batch in hex; level, horizon, appendTime and last may be empty
// read|hex              -> the records of the batch, without a look at its CRC, or ERR and the exception
// compress|codec|level|hex, decompress|codec|hex    -> hex, or ERR and the exception
// control|name          -> a control batch in hex
// A record is offset,timestamp,key,value,header… with bytes in hex, - for null, headers as key=value.

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

public class RecordFacts {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] f = line.split("\\|", -1);
            String fact;
            try {
                fact = switch (f[0]) {
                    case "build" -> hex(build(f));
                    case "read" -> read(HEX.parseHex(f[1]));
                    case "compress" -> compress(f);
                    case "decompress" -> decompress(f);
                    case "control" -> hex(control(f[1]));
                    default -> throw new IllegalStateException(f[0]);
                };
            } catch (RuntimeException e) {
                fact = "ERR " + e.getClass().getSimpleName() + " " + e.getMessage();
            }
            System.out.println(fact);
        }
    }

    static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }

    static Compression codec(String name, String level) {
        CompressionType type = CompressionType.forName(name);
        if (level.isEmpty()) return Compression.of(type).build();
        return switch (type) {
            case GZIP -> Compression.gzip().level(Integer.parseInt(level)).build();
            case LZ4 -> Compression.lz4().level(Integer.parseInt(level)).build();
            case ZSTD -> Compression.zstd().level(Integer.parseInt(level)).build();
            default -> throw new IllegalArgumentException(name + " has no levels");
        };
    }

    static ByteBuffer build(String[] f) {
        long baseOffset = Long.parseLong(f[1]);
        boolean control = Boolean.parseBoolean(f[10]);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(new ByteBufferOutputStream(64), RecordBatch.CURRENT_MAGIC_VALUE,
            codec(f[3], f[4]), TimestampType.forName(f[5]), baseOffset, f[12].isEmpty() ? -1 : Long.parseLong(f[12]),
            Long.parseLong(f[6]), Short.parseShort(f[7]), Integer.parseInt(f[8]), Boolean.parseBoolean(f[9]), control,
            Integer.parseInt(f[2]), Integer.MAX_VALUE, f[11].isEmpty() ? -1 : Long.parseLong(f[11]));
        for (String text : f[14].split(";")) {
            if (text.isEmpty()) continue;
            String[] r = text.split(",", -1);
            List<Header> headers = new ArrayList<>();
            for (int i = 4; i < r.length; i++) {
                String[] h = r[i].split("=", -1);
                headers.add(new RecordHeader(new String(bytes(h[0]), java.nio.charset.StandardCharsets.UTF_8), bytes(h[1])));
            }
            SimpleRecord record = new SimpleRecord(Long.parseLong(r[1]), bytes(r[2]), bytes(r[3]), headers.toArray(new Header[0]));
            if (control) builder.appendControlRecordWithOffset(Long.parseLong(r[0]), record);
            else builder.appendWithOffset(Long.parseLong(r[0]), record);
        }
        if (!f[13].isEmpty()) builder.overrideLastOffset(Long.parseLong(f[13]));
        return builder.build().buffer();
    }

    static byte[] bytes(String hex) {
        return hex.equals("-") ? null : HEX.parseHex(hex);
    }

    static String text(ByteBuffer buffer) {
        return buffer == null ? "-" : hex(buffer);
    }

    static String read(byte[] data) {
        List<String> records = new ArrayList<>();
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches())
            for (Record r : batch) {
                StringBuilder s = new StringBuilder();
                s.append(r.offset()).append(',').append(r.timestamp()).append(',').append(r.sequence()).append(',');
                s.append(text(r.key())).append(',').append(text(r.value()));
                for (Header h : r.headers())
                    s.append(',').append(HEX.formatHex(h.key().getBytes(java.nio.charset.StandardCharsets.UTF_8))).append('=')
                        .append(h.value() == null ? "-" : HEX.formatHex(h.value()));
                records.add(s.toString());
            }
        return records.stream().collect(Collectors.joining(";"));
    }

    static String compress(String[] f) throws Exception {
        ByteBufferOutputStream out = new ByteBufferOutputStream(64);
        try (OutputStream stream = codec(f[1], f[2]).wrapForOutput(out, RecordBatch.CURRENT_MAGIC_VALUE)) {
            stream.write(HEX.parseHex(f[3]));
        }
        out.buffer().flip();
        return hex(out.buffer());
    }

    static String decompress(String[] f) {
        ByteBuffer data = ByteBuffer.wrap(HEX.parseHex(f[2]));
        try (InputStream in = codec(f[1], "").wrapForInput(data, RecordBatch.CURRENT_MAGIC_VALUE, BufferSupplier.NO_CACHING)) {
            return HEX.formatHex(in.readAllBytes());
        } catch (java.io.IOException e) {
            return "ERR " + e.getClass().getSimpleName() + " " + e.getMessage();
        }
    }

    static ByteBuffer control(String name) {
        ByteBuffer buffer = ByteBuffer.allocate(1024);
        LeaderChangeMessage change = new LeaderChangeMessage().setVersion((short) 0).setLeaderId(3)
            .setVoters(List.of(new LeaderChangeMessage.Voter().setVoterId(1), new LeaderChangeMessage.Voter().setVoterId(3)))
            .setGrantingVoters(List.of(new LeaderChangeMessage.Voter().setVoterId(3)));
        SnapshotHeaderRecord header = new SnapshotHeaderRecord().setVersion((short) 0).setLastContainedLogTimestamp(1234567890123L);
        SnapshotFooterRecord footer = new SnapshotFooterRecord().setVersion((short) 0);
        KRaftVersionRecord version = new KRaftVersionRecord().setVersion((short) 0).setKRaftVersion((short) 1);
        VotersRecord.EndpointCollection endpoints = new VotersRecord.EndpointCollection();
        endpoints.add(new VotersRecord.Endpoint().setName("CONTROLLER").setHost("höst.example").setPort(65535));
        endpoints.add(new VotersRecord.Endpoint().setName("OTHER").setHost("::1").setPort(9093));
        VotersRecord voters = new VotersRecord().setVersion((short) 0).setVoters(List.of(
            new VotersRecord.Voter().setVoterId(1).setVoterDirectoryId(new Uuid(1L, -2L)).setEndpoints(endpoints)
                .setKRaftVersionFeature(new VotersRecord.KRaftVersionFeature().setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1)),
            new VotersRecord.Voter().setVoterId(2).setVoterDirectoryId(Uuid.ZERO_UUID)));
        switch (name) {
            case "commit":
                return MemoryRecords.withEndTransactionMarker(7L, 1700000000000L, 5, 4000L, (short) 3,
                    new EndTransactionMarker(ControlRecordType.COMMIT, 11)).buffer();
            case "abort":
                return MemoryRecords.withEndTransactionMarker(1700000000000L, 4000L, (short) 3,
                    new EndTransactionMarker(ControlRecordType.ABORT, 12)).buffer();
            case "leader_change":
                return MemoryRecords.withLeaderChangeMessage(100L, 1700000000000L, 5, buffer, change).buffer();
            case "snapshot_header":
                return MemoryRecords.withSnapshotHeaderRecord(0L, 1700000000000L, 5, buffer, header).buffer();
            case "snapshot_footer":
                return MemoryRecords.withSnapshotFooterRecord(9L, 1700000000000L, 5, buffer, footer).buffer();
            case "kraft_version":
                return MemoryRecords.withKRaftVersionRecord(0L, 1700000000000L, 5, buffer, version).buffer();
            case "kraft_voters":
                return MemoryRecords.withVotersRecord(0L, 1700000000000L, 5, buffer, voters).buffer();
            case "bootstrap":
                MemoryRecordsBuilder builder = new MemoryRecordsBuilder(buffer, RecordBatch.CURRENT_MAGIC_VALUE, Compression.NONE,
                    TimestampType.CREATE_TIME, 0L, 1700000000000L, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH,
                    RecordBatch.NO_SEQUENCE, false, true, 0, buffer.capacity());
                builder.appendSnapshotHeaderMessage(1700000000000L, header);
                builder.appendKRaftVersionMessage(1700000000000L, version);
                builder.appendVotersMessage(1700000000000L, voters);
                return builder.build().buffer();
            case "empty":
                DefaultRecordBatch.writeEmptyHeader(buffer, RecordBatch.CURRENT_MAGIC_VALUE, 4000L, (short) 3, 17, 100L, 142L, 5,
                    TimestampType.LOG_APPEND_TIME, 1700000000000L, true, false);
                buffer.flip();
                return buffer;
            default:
                throw new IllegalStateException(name);
        }
    }
}
