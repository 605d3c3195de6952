// What Apache Kafka's group coordinator computes: one line of JSON for each line of JSON in the file given.
//
// ["partition", id, partitions]           -> [String.hashCode, the partition of the id]
// ["topic", name, id, [[rack] a replica]] -> the topic's hash; a rack may be null
// ["group", {topic: hash}]                -> the group's hash
// ["regex", regex, [topic]]               -> [the topics that match], or why the regular expression is invalid

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.Utils;
import org.apache.kafka.coordinator.group.modern.consumer.TopicRegexResolver;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

public class GroupFacts {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            JsonNode question = JSON.readTree(line);
            Object answer = switch (question.get(0).asText()) {
                case "partition" -> partition(question.get(1).asText(), question.get(2).asInt());
                case "topic" -> Utils.computeTopicHash(question.get(1).asText(), image(question));
                case "group" -> group(question.get(1));
                case "regex" -> regex(question.get(1).asText(), question.get(2));
                default -> throw new IllegalStateException(line);
            };
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    static List<Integer> partition(String id, int partitions) {
        return List.of(id.hashCode(), org.apache.kafka.common.utils.Utils.abs(id.hashCode()) % partitions);
    }

    static KRaftCoordinatorMetadataImage image(JsonNode question) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        Map<String, Integer> brokers = new LinkedHashMap<>();
        Uuid topicId = Uuid.fromString(question.get(2).asText());
        List<PartitionRecord> partitions = new ArrayList<>();
        for (JsonNode racks : question.get(3)) {
            List<Integer> replicas = new ArrayList<>();
            for (JsonNode rack : racks) {
                String name = replicas.size() + "/" + (rack.isNull() ? null : rack.asText());
                if (!brokers.containsKey(name)) {
                    brokers.put(name, brokers.size());
                    delta.replay(new RegisterBrokerRecord().setBrokerId(brokers.get(name))
                        .setRack(rack.isNull() ? null : rack.asText()));
                }
                replicas.add(brokers.get(name));
            }
            List<Uuid> directories = new ArrayList<>();
            replicas.forEach(replica -> directories.add(Uuid.ZERO_UUID));
            partitions.add(new PartitionRecord().setTopicId(topicId).setPartitionId(partitions.size())
                .setReplicas(replicas).setIsr(replicas).setLeader(0).setDirectories(directories));
        }
        delta.replay(new TopicRecord().setName(question.get(1).asText()).setTopicId(topicId));
        partitions.forEach(delta::replay);
        return new KRaftCoordinatorMetadataImage(delta.apply(MetadataProvenance.EMPTY));
    }

    static long group(JsonNode hashes) {
        Map<String, Long> topics = new HashMap<>();
        hashes.fields().forEachRemaining(topic -> topics.put(topic.getKey(), topic.getValue().asLong()));
        return Utils.computeGroupHash(topics);
    }

    static Object regex(String regex, JsonNode names) throws Exception {
        Method check = Utils.class.getDeclaredMethod("throwIfRegularExpressionIsInvalid", String.class);
        check.setAccessible(true);
        try {
            check.invoke(null, regex);
        } catch (InvocationTargetException e) {
            return e.getCause().getMessage();
        }
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        for (JsonNode name : names) {
            delta.replay(new TopicRecord().setName(name.asText()).setTopicId(Uuid.randomUuid()));
        }
        var image = new KRaftCoordinatorMetadataImage(delta.apply(MetadataProvenance.EMPTY));
        var resolver = new TopicRegexResolver(() -> Optional.empty(), Time.SYSTEM);
        return new TreeSet<>(resolver.resolveRegularExpressions(
            null, "group", new LogContext().logger(GroupFacts.class), image, Set.of(regex)).get(regex).topics());
    }
}
