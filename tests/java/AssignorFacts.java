// What Apache Kafka's server-side assignors make of the histories of groups: one line of JSON for each line of the file.
//
// A history is {"topics": [[name, id, partitions]], "steps": [step]}. A step is a change and the computation of a new
// target assignment by "assignor" for a group of type "type", as at a heartbeat of "member":
//   join       "member" with "names" and perhaps an "instance", which may be that of a member whom it replaces
//   subscribe  "member" changes its "names"
//   leave      "left" is gone
//   topics     nothing but the topics
// With any of them "topics" may be all topics from now on.
// The answer is, for each step, the records written: [[member, [[topic id, [partition]]]]], in their order.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.timeline.SnapshotRegistry;

public class AssignorFacts {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<String, PartitionAssignor> ASSIGNORS =
        Map.of("uniform", new UniformAssignor(), "range", new RangeAssignor());

    record Topic(String name, Uuid id, int partitionCount) implements CoordinatorMetadataImage.TopicMetadata {
        public List<String> partitionRacks(int partition) {
            return List.of();
        }
    }

    static class Image implements CoordinatorMetadataImage {
        final Map<String, TopicMetadata> byName = new HashMap<>();
        final Map<Uuid, TopicMetadata> byId = new HashMap<>();

        Image(JsonNode topics) {
            for (JsonNode t : topics) {
                Topic topic = new Topic(t.get(0).asText(), Uuid.fromString(t.get(1).asText()), t.get(2).asInt());
                byName.put(topic.name(), topic);
                byId.put(topic.id(), topic);
            }
        }

        public Set<Uuid> topicIds() {
            return byId.keySet();
        }

        public Set<String> topicNames() {
            return byName.keySet();
        }

        public Optional<TopicMetadata> topicMetadata(String name) {
            return Optional.ofNullable(byName.get(name));
        }

        public Optional<TopicMetadata> topicMetadata(Uuid id) {
            return Optional.ofNullable(byId.get(id));
        }

        public CoordinatorMetadataDelta emptyDelta() {
            return CoordinatorMetadataDelta.EMPTY;
        }

        public long version() {
            return 1;
        }

        public boolean isEmpty() {
            return byId.isEmpty();
        }
    }

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            JsonNode history = JSON.readTree(line);
            ConsumerGroup group = new ConsumerGroup(new LogContext(), new SnapshotRegistry(new LogContext()), "group");
            Image image = new Image(history.get("topics"));
            ArrayNode answers = JSON.createArrayNode();
            for (JsonNode step : history.get("steps")) {
                if (step.has("topics")) image = new Image(step.get("topics"));
                answers.add(apply(group, image, step));
            }
            System.out.println(JSON.writeValueAsString(answers));
        }
    }

    static ArrayNode apply(ConsumerGroup group, Image image, JsonNode step) {
        if (step.get("op").asText().equals("leave")) {
            group.removeTargetAssignment(step.get("left").asText());
            group.removeMember(step.get("left").asText());
        }
        ConsumerGroupMember member = heartbeatOf(group, step);
        String previous = group.staticMemberId(member.instanceId());
        boolean replaces = previous != null && !previous.equals(member.memberId());
        var builder = new TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder(
            "group", 1, ASSIGNORS.get(step.get("assignor").asText()))
            .withTime(Time.SYSTEM)
            .withMembers(group.members())
            .withStaticMembers(group.staticMembers())
            .withSubscriptionType(SubscriptionType.valueOf(step.get("type").asText()))
            .withTargetAssignment(group.targetAssignment())
            .withInvertedTargetAssignment(group.invertedTargetAssignment())
            .withMetadataImage(image)
            .addOrUpdateMember(member.memberId(), member);
        if (replaces) builder.removeMember(previous);
        List<CoordinatorRecord> records = builder.build().records();

        if (replaces) {
            Assignment inherited = group.targetAssignment(previous);
            group.removeTargetAssignment(previous);
            group.removeMember(previous);
            group.updateTargetAssignment(member.memberId(), inherited);
        }
        group.updateMember(member);
        group.updateMember(member); // its subscription and its current assignment are two records
        ArrayNode answer = JSON.createArrayNode();
        for (CoordinatorRecord record : records) {
            if (record.key() instanceof ConsumerGroupTargetAssignmentMemberKey key) {
                var value = (ConsumerGroupTargetAssignmentMemberValue) record.value().message();
                group.updateTargetAssignment(key.memberId(), Assignment.fromRecord(value));
                ArrayNode topics = answer.addArray().add(key.memberId()).addArray();
                for (var topic : value.topicPartitions()) {
                    ArrayNode partitions = topics.addArray().add(topic.topicId().toString()).addArray();
                    topic.partitions().forEach(partitions::add);
                }
            }
        }
        return answer;
    }

    static ConsumerGroupMember heartbeatOf(ConsumerGroup group, JsonNode step) {
        String memberId = step.get("member").asText();
        ConsumerGroupMember before = group.members().get(memberId);
        var builder = before == null
            ? new ConsumerGroupMember.Builder(memberId) : new ConsumerGroupMember.Builder(before);
        if (step.hasNonNull("instance")) builder.setInstanceId(step.get("instance").asText());
        if (step.hasNonNull("names")) {
            List<String> names = new ArrayList<>();
            step.get("names").forEach(name -> names.add(name.asText()));
            builder.setSubscribedTopicNames(names);
        }
        return builder.build();
    }
}
