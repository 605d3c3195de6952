// What Apache Kafka's client-side assignors make of groups: one line of JSON for each line of the file.
//
// A line is a history {"assignor": name, "steps": [step]} of one leader's assignor; a step is
// {"topics": {name: [[rack]]}, "members": [[id, {"topics", "owned", "generation", "rack", "instance", "user_data"}]]}.
// The answer is, for each step, {member: [[topic, partition]]}, or the exception's class if the assignor threw.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

public class ClientAssignorFacts {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            JsonNode history = JSON.readTree(line);
            ConsumerPartitionAssignor assignor = assignor(history.get("assignor").asText());
            ArrayNode answers = JSON.createArrayNode();
            for (JsonNode step : history.get("steps")) answers.add(answer(assignor, step));
            System.out.println(JSON.writeValueAsString(answers));
        }
    }

    static ConsumerPartitionAssignor assignor(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            default -> new CooperativeStickyAssignor();
        };
    }

    static JsonNode answer(ConsumerPartitionAssignor assignor, JsonNode step) {
        List<PartitionInfo> partitions = new ArrayList<>();
        step.get("topics").fields().forEachRemaining(topic -> {
            int index = 0;
            for (JsonNode racks : topic.getValue()) {
                Node[] replicas = new Node[racks.size()];
                for (int i = 0; i < replicas.length; i++) replicas[i] = new Node(i, "h", 1, racks.get(i).asText());
                partitions.add(new PartitionInfo(topic.getKey(), index++, null, replicas, replicas));
            }
        });
        Cluster cluster = new Cluster("c", List.of(), partitions, Set.of(), Set.of());
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : step.get("members")) {
            JsonNode said = member.get(1);
            List<String> topics = new ArrayList<>();
            said.get("topics").forEach(topic -> topics.add(topic.asText()));
            List<TopicPartition> owned = new ArrayList<>();
            said.get("owned").forEach(p -> owned.add(new TopicPartition(p.get(0).asText(), p.get(1).asInt())));
            Subscription subscription = ConsumerProtocol.deserializeSubscription(ConsumerProtocol.serializeSubscription(
                new Subscription(topics,
                    said.hasNonNull("user_data")
                        ? ByteBuffer.wrap(HexFormat.of().parseHex(said.get("user_data").asText())) : null,
                    owned, said.get("generation").asInt(),
                    said.hasNonNull("rack") ? Optional.of(said.get("rack").asText()) : Optional.empty())));
            subscription.setGroupInstanceId(
                said.hasNonNull("instance") ? Optional.of(said.get("instance").asText()) : Optional.empty());
            subscriptions.put(member.get(0).asText(), subscription);
        }
        ObjectNode answer = JSON.createObjectNode();
        try {
            assignor.assign(cluster, new GroupSubscription(subscriptions)).groupAssignment().forEach((member, given) -> {
                ArrayNode list = answer.putArray(member);
                given.partitions().forEach(p -> list.addArray().add(p.topic()).add(p.partition()));
            });
        } catch (RuntimeException exception) {
            return JSON.getNodeFactory().textNode(exception.getClass().getSimpleName());
        }
        return answer;
    }
}
