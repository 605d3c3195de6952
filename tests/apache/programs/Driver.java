import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/**
 * Does a list of operations with Apache's own clients: Driver bootstrapServers operationsAsJson.
 *
 * Prints one line of JSON for each operation that has something to say. See tests/apache/driver.py for the operations.
 */
public class Driver {
    private static final HexFormat HEX = HexFormat.of();
    private static final Duration CONSUME_BOUND = Duration.ofSeconds(30);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String bootstrap;
    private final Admin admin;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new LinkedHashMap<>();
    private final Map<String, List<Future<RecordMetadata>>> sent = new HashMap<>();

    private Driver(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] args) throws Exception {
        Driver driver = new Driver(args[0]);
        try {
            for (JsonNode operation : JSON.readTree(args[1])) {
                driver.performOrFail(operation);
            }
        } finally {
            driver.producers.values().forEach(producer -> producer.close(Duration.ofSeconds(10)));
            driver.admin.close();
        }
    }

    /** An operation with "or_error" may fail, and then prints how. */
    private void performOrFail(JsonNode op) throws Exception {
        try {
            perform(op);
        } catch (ExecutionException | KafkaException failure) {
            if (!op.path("or_error").asBoolean()) {
                throw failure;
            }
            Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
            ObjectNode answer = JSON.createObjectNode().put("error", cause.getClass().getSimpleName());
            print(answer.put("message", cause.getMessage()));
        }
    }

    private void perform(JsonNode op) throws Exception {
        switch (op.get("op").asText()) {
            case "create_topic" -> createTopic(op);
            case "alter_topic" -> alterTopic(op);
            case "delete_topic" -> admin.deleteTopics(List.of(op.get("topic").asText())).all().get();
            case "delete_records" -> admin.deleteRecords(Map.of(
                partition(op), RecordsToDelete.beforeOffset(op.get("offset").asLong()))).all().get();
            case "open_producer" -> openProducer(op);
            case "send" -> send(op);
            case "flush" -> flush(op.get("producer").asText());
            case "begin" -> producer(op).beginTransaction();
            case "commit" -> {
                flush(op.get("producer").asText());
                producer(op).commitTransaction();
            }
            case "abort" -> {
                flush(op.get("producer").asText());
                producer(op).abortTransaction();
            }
            case "close_producer" -> producers.remove(op.get("producer").asText()).close();
            case "consume" -> consume(op);
            default -> print(Inquiry.answer(admin, op));
        }
    }

    private void createTopic(JsonNode op) throws Exception {
        NewTopic topic = new NewTopic(op.get("topic").asText(), op.get("partitions").asInt(), (short) 1);
        admin.createTopics(List.of(topic.configs(strings(op.get("configs"))))).all().get();
    }

    private void alterTopic(JsonNode op) throws Exception {
        Collection<AlterConfigOp> changes = new ArrayList<>();
        strings(op.get("configs")).forEach((key, value) ->
            changes.add(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, op.get("topic").asText());
        admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
    }

    private void openProducer(JsonNode op) {
        Map<String, Object> configs = new HashMap<>(strings(op.get("configs")));
        configs.put("bootstrap.servers", bootstrap);
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
        if (configs.containsKey("transactional.id")) {
            producer.initTransactions();
        }
        producers.put(op.get("producer").asText(), producer);
    }

    private void send(JsonNode op) {
        List<Header> headers = new ArrayList<>();
        op.get("headers").forEach(header ->
            headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1)))));
        Long timestamp = op.get("timestamp").isNull() ? null : op.get("timestamp").asLong();
        TopicPartition partition = partition(op);
        sent.computeIfAbsent(op.get("producer").asText(), name -> new ArrayList<>()).add(producer(op).send(
            new ProducerRecord<>(partition.topic(), partition.partition(), timestamp,
                bytes(op.get("key")), bytes(op.get("value")), headers)));
    }

    /** Prints where everything sent since the last flush went. */
    private void flush(String name) throws Exception {
        producers.get(name).flush();
        ArrayNode offsets = JSON.createArrayNode();
        List<Future<RecordMetadata>> pending = sent.remove(name);
        for (Future<RecordMetadata> each : pending == null ? List.<Future<RecordMetadata>>of() : pending) {
            offsets.add(each.get().offset());
        }
        print(JSON.createObjectNode().<ObjectNode>set("offsets", offsets));
    }

    /** Prints the records of a partition from "start" up to its end (for this isolation level) at this moment. */
    private void consume(JsonNode op) {
        TopicPartition partition = partition(op);
        Map<String, Object> configs = new HashMap<>(strings(op.get("configs")));
        configs.put("bootstrap.servers", bootstrap);
        configs.put("auto.offset.reset", "none");
        ArrayNode records = JSON.createArrayNode();
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            if (op.get("start").isNull()) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, op.get("start").asLong());
            }
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            long deadline = System.nanoTime() + CONSUME_BOUND.toNanos();
            while (consumer.position(partition) < end) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("consumed " + partition + " only to " + consumer.position(partition));
                }
                consumer.poll(Duration.ofMillis(100)).forEach(record -> records.add(describe(record)));
            }
        }
        print(JSON.createObjectNode().<ObjectNode>set("records", records));
    }

    private static ObjectNode describe(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode node = JSON.createObjectNode();
        node.put("offset", record.offset());
        node.put("timestamp", record.timestamp());
        node.put("timestamp_type", record.timestampType().toString());
        node.put("key", hex(record.key()));
        node.put("value", hex(record.value()));
        Optional<Integer> epoch = record.leaderEpoch();
        node.put("leader_epoch", epoch.orElse(-1));
        ArrayNode headers = node.putArray("headers");
        record.headers().forEach(header -> headers.addArray().add(header.key()).add(hex(header.value())));
        return node;
    }

    private KafkaProducer<byte[], byte[]> producer(JsonNode op) {
        return producers.get(op.get("producer").asText());
    }

    private static TopicPartition partition(JsonNode op) {
        return new TopicPartition(op.get("topic").asText(), op.get("partition").asInt());
    }

    private static Map<String, String> strings(JsonNode node) {
        Map<String, String> strings = new HashMap<>();
        node.fields().forEachRemaining(entry -> strings.put(entry.getKey(), entry.getValue().asText()));
        return strings;
    }

    private static byte[] bytes(JsonNode node) {
        return node.isNull() ? null : HEX.parseHex(node.asText());
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? null : HEX.formatHex(bytes);
    }

    private static void print(ObjectNode node) {
        System.out.println(node);
    }
}
