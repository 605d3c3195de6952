import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** The Driver's operations of Apache's admin client that have an answer. */
final class Inquiry {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Inquiry() {
    }

    static ObjectNode answer(Admin admin, JsonNode op) throws Exception {
        return switch (op.get("op").asText()) {
            case "list_topics" -> topics(admin);
            case "describe_topic" -> topic(admin, op.get("topic").asText());
            case "create_partitions" -> createPartitions(admin, op);
            case "alter_configs" -> alterConfigs(admin, op);
            case "describe_configs" -> configs(admin, resource(op));
            case "list_offset" -> offset(admin, op);
            case "describe_log_dirs" -> logDirs(admin);
            case "describe_cluster" -> cluster(admin);
            case "describe_features" -> features(admin);
            case "describe_quorum" -> quorum(admin);
            default -> throw new IllegalArgumentException(op.toString());
        };
    }

    private static ObjectNode topics(Admin admin) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode names = answer.putArray("topics");
        new TreeSet<>(admin.listTopics().names().get()).forEach(names::add);
        return answer;
    }

    private static ObjectNode topic(Admin admin, String name) throws Exception {
        TopicDescription topic = admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
        ObjectNode answer = JSON.createObjectNode().put("id", topic.topicId().toString());
        ArrayNode partitions = answer.putArray("partitions");
        for (TopicPartitionInfo info : topic.partitions()) {
            ObjectNode partition = partitions.addObject().put("partition", info.partition());
            partition.put("leader", info.leader().id());
            ArrayNode replicas = partition.putArray("replicas");
            info.replicas().forEach(replica -> replicas.add(replica.id()));
        }
        return answer;
    }

    private static ObjectNode createPartitions(Admin admin, JsonNode op) throws Exception {
        NewPartitions count = NewPartitions.increaseTo(op.get("count").asInt());
        admin.createPartitions(Map.of(op.get("topic").asText(), count)).all().get();
        return JSON.createObjectNode();
    }

    /** Changes are [operation, key, value]. */
    private static ObjectNode alterConfigs(Admin admin, JsonNode op) throws Exception {
        Collection<AlterConfigOp> changes = new ArrayList<>();
        op.get("changes").forEach(change -> changes.add(new AlterConfigOp(
            new ConfigEntry(change.get(1).asText(), change.get(2).asText()),
            AlterConfigOp.OpType.valueOf(change.get(0).asText()))));
        admin.incrementalAlterConfigs(Map.of(resource(op), changes)).all().get();
        return JSON.createObjectNode();
    }

    private static ObjectNode configs(Admin admin, ConfigResource resource) throws Exception {
        Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        ObjectNode answer = JSON.createObjectNode();
        for (ConfigEntry entry : config.entries()) {
            answer.putObject(entry.name()).put("value", entry.value()).put("source", entry.source().name())
                .put("type", entry.type().name()).put("read_only", entry.isReadOnly());
        }
        return answer;
    }

    private static ConfigResource resource(JsonNode op) {
        return new ConfigResource(ConfigResource.Type.valueOf(op.get("type").asText()), op.get("name").asText());
    }

    private static ObjectNode offset(Admin admin, JsonNode op) throws Exception {
        TopicPartition partition = new TopicPartition(op.get("topic").asText(), op.get("partition").asInt());
        OffsetSpec spec = switch (op.get("spec").asText()) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "max_timestamp" -> OffsetSpec.maxTimestamp();
            default -> OffsetSpec.forTimestamp(op.get("spec").asLong());
        };
        ListOffsetsResultInfo info = admin.listOffsets(Map.of(partition, spec)).all().get().get(partition);
        return JSON.createObjectNode().put("offset", info.offset()).put("timestamp", info.timestamp())
            .put("leader_epoch", info.leaderEpoch().orElse(-1));
    }

    private static ObjectNode logDirs(Admin admin) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        for (Node node : admin.describeCluster().nodes().get()) {
            admin.describeLogDirs(List.of(node.id())).allDescriptions().get().get(node.id()).forEach((dir, description) -> {
                ObjectNode sizes = answer.putObject(dir);
                description.replicaInfos().forEach((partition, info) -> sizes.put(partition.toString(), info.size()));
            });
        }
        return answer;
    }

    private static ObjectNode cluster(Admin admin) throws Exception {
        DescribeClusterResult cluster = admin.describeCluster();
        ObjectNode answer = JSON.createObjectNode().put("cluster_id", cluster.clusterId().get());
        answer.put("controller", cluster.controller().get().id());
        ArrayNode nodes = answer.putArray("nodes");
        cluster.nodes().get().forEach(node ->
            nodes.addObject().put("id", node.id()).put("host", node.host()).put("port", node.port()));
        return answer;
    }

    private static ObjectNode features(Admin admin) throws Exception {
        FeatureMetadata metadata = admin.describeFeatures().featureMetadata().get();
        ObjectNode answer = JSON.createObjectNode();
        metadata.finalizedFeatures().forEach((name, range) -> answer.put(name, range.maxVersionLevel()));
        return answer;
    }

    private static ObjectNode quorum(Admin admin) throws Exception {
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        ObjectNode answer = JSON.createObjectNode().put("leader", quorum.leaderId());
        answer.put("leader_epoch", quorum.leaderEpoch()).put("high_watermark", quorum.highWatermark());
        ArrayNode voters = answer.putArray("voters");
        quorum.voters().forEach(voter -> voters.add(voter.replicaId()));
        return answer;
    }
}
