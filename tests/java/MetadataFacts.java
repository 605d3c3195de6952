// What Apache Kafka's own metadata classes make of records: prints one line of facts for each line of the file given.
//
// versions             -> a line "level|name|release|changed|register broker|partition|partition change|fetch|list offsets" a level
// features             -> a line "name|lowest|highest|default at level 7,8,…,30|dependencies of the highest" a feature
// record|hex           -> the record as JSON, a tab, and the record written again in hex; or ERR and the exception
// history|id|hex,hex…  -> the image after replaying the records in deltas (split by /), as records in hex; then, for
//                         broker id, a tab and the local changes of the last delta
// java's text of exceptions is not compared, their kind is

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.image.LocalReplicaChanges;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.MetadataVersion;

public class MetadataFacts {
    static final HexFormat HEX = HexFormat.of();
    static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] f = line.split("\\|", -1);
            String fact;
            try {
                fact = switch (f[0]) {
                    case "versions" -> versions();
                    case "features" -> features();
                    case "record" -> record(f[1]);
                    case "history" -> history(Integer.parseInt(f[1]), f[2]);
                    default -> throw new IllegalStateException(f[0]);
                };
            } catch (RuntimeException e) {
                fact = "ERR " + e.getClass().getSimpleName();
            }
            System.out.println(fact);
        }
    }

    static Stream<MetadataVersion> production() {
        return Arrays.stream(MetadataVersion.VERSIONS).filter(MetadataVersion::isProduction);
    }

    static String versions() {
        return production().map(v -> v.featureLevel() + "|" + v.version() + "|" + v.shortVersion() + "|"
            + v.didMetadataChange() + "|" + v.registerBrokerRecordVersion() + "|" + v.partitionRecordVersion() + "|"
            + v.partitionChangeRecordVersion() + "|" + v.fetchRequestVersion() + "|" + v.listOffsetRequestVersion()
        ).collect(Collectors.joining("\n"));
    }

    static String features() {
        return Feature.PRODUCTION_FEATURES.stream().map(f -> f.featureName() + "|" + f.minimumProduction() + "|"
            + f.latestProduction() + "|"
            + production().map(v -> String.valueOf(f.defaultLevel(v))).collect(Collectors.joining(",")) + "|"
            + f.latestProduction.dependencies()
        ).collect(Collectors.joining("\n"));
    }

    static ApiMessageAndVersion read(String hex) {
        byte[] bytes = HEX.parseHex(hex);
        return SERDE.read(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), bytes.length);
    }

    static String write(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(buffer));
        return HEX.formatHex(buffer.array());
    }

    static String record(String hex) {
        ApiMessageAndVersion record = read(hex);
        return MetadataJsonConverters.writeJson(record.message(), record.version()) + "\t" + write(record);
    }

    static String history(int brokerId, String deltas) {
        MetadataImage image = MetadataImage.EMPTY;
        MetadataDelta delta = null;
        for (String records : deltas.split("/")) {
            delta = new MetadataDelta.Builder().setImage(image).build();
            for (String hex : records.split(",")) {
                if (!hex.isEmpty()) delta.replay(read(hex).message());
            }
            image = delta.apply(MetadataProvenance.EMPTY);
        }
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, new ImageWriterOptions.Builder(image).build());
        String changes = delta.topicsDelta() == null ? "" : local(delta.topicsDelta().localChanges(brokerId));
        return writer.records().stream().map(MetadataFacts::write).collect(Collectors.joining(",")) + "\t" + changes;
    }

    static String local(LocalReplicaChanges changes) {
        return names(changes.deletes().stream()) + "|" + names(changes.electedLeaders().keySet().stream()) + "|"
            + names(changes.leaders().keySet().stream()) + "|" + names(changes.followers().keySet().stream());
    }

    static String names(Stream<TopicPartition> partitions) {
        return partitions.map(TopicPartition::toString).sorted().collect(Collectors.joining(","));
    }
}
