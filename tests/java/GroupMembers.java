import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;

/**
 * Runs members of groups with Apache's consumer, many in one JVM: commands by lines of JSON on stdin, events on stdout.
 *
 * See tests/interop/groups/member_host.py, which does the same for Python's libraries. A command more: "abandon" closes
 * a consumer without leaving the group.
 */
public class GroupMembers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration POLL = Duration.ofMillis(100);
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "org.apache.kafka.clients.consumer.RangeAssignor",
        "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "sticky", "org.apache.kafka.clients.consumer.StickyAssignor",
        "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");

    public static void main(String[] args) throws Exception {
        Map<String, Member> members = new HashMap<>();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode command = JSON.readTree(line);
            String name = command.get("member").asText();
            if (command.get("command").asText().equals("join")) {
                Member member = new Member(name, command.get("bootstrap").asText(), command.get("spec"));
                members.put(name, member);
                Thread thread = new Thread(member, name);
                thread.setDaemon(true);
                thread.start();
            } else {
                members.get(name).commands.add(command.get("command").asText());
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static final class Member implements Runnable, ConsumerRebalanceListener {
        final ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();
        private final String name;
        private final String bootstrap;
        private final JsonNode spec;
        private final Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        private KafkaConsumer<byte[], byte[]> consumer;
        private boolean polling = true;
        private String ending;

        Member(String name, String bootstrap, JsonNode spec) {
            this.name = name;
            this.bootstrap = bootstrap;
            this.spec = spec;
        }

        @Override
        public void run() {
            try {
                consumer = new KafkaConsumer<>(configs(), new ByteArrayDeserializer(), new ByteArrayDeserializer());
                subscribe();
                serve();
            } catch (Throwable failure) {
                StringWriter trace = new StringWriter();
                failure.printStackTrace(new PrintWriter(trace));
                tell(event("failed").put("error", trace.toString()));
            }
        }

        private Map<String, Object> configs() {
            Map<String, Object> configs = new HashMap<>();
            boolean classic = spec.get("protocol").asText().equals("classic");
            configs.put("bootstrap.servers", bootstrap);
            configs.put("group.id", spec.get("group").asText());
            configs.put("group.protocol", spec.get("protocol").asText());
            configs.put("max.poll.interval.ms", spec.get("max_poll_interval_ms").asInt());
            configs.put("auto.offset.reset", spec.get("offset_reset").asText());
            configs.put("enable.auto.commit", false);
            configs.put("fetch.max.wait.ms", 100);
            configs.put("metadata.max.age.ms", 1000);
            configs.put("reconnect.backoff.max.ms", 500);
            // Longer than a broker is away in any test, on however busy a machine: to give up is an error to the test.
            configs.put("default.api.timeout.ms", 120000);
            configs.put("client.id", name);
            if (!spec.get("instance_id").isNull()) {
                configs.put("group.instance.id", spec.get("instance_id").asText());
            }
            List<String> assignors = new ArrayList<>();
            spec.get("assignors").forEach(each -> assignors.add(classic ? ASSIGNORS.get(each.asText()) : each.asText()));
            if (classic) {
                configs.put("session.timeout.ms", spec.get("session_timeout_ms").asInt());
                configs.put("heartbeat.interval.ms", spec.get("heartbeat_interval_ms").asInt());
                configs.put("partition.assignment.strategy",
                    assignors.isEmpty() ? List.of(ASSIGNORS.get("range")) : assignors);
            } else if (!assignors.isEmpty()) {
                configs.put("group.remote.assignor", assignors.get(0));
            }
            return configs;
        }

        private void subscribe() {
            if (spec.get("pattern").isNull()) {
                List<String> topics = new ArrayList<>();
                spec.get("topics").forEach(topic -> topics.add(topic.asText()));
                consumer.subscribe(topics, this);
            } else if (spec.get("protocol").asText().equals("consumer")) {
                consumer.subscribe(new SubscriptionPattern(spec.get("pattern").asText()), this);
            } else {
                consumer.subscribe(Pattern.compile(spec.get("pattern").asText()), this);
            }
        }

        private void serve() throws InterruptedException {
            while (ending == null) {
                for (String command = commands.poll(); command != null; command = commands.poll()) {
                    obey(command);
                }
                if (polling) {
                    poll();
                } else {
                    Thread.sleep(POLL.toMillis());
                }
            }
            tell(event("leaving"));
            if (ending.equals("abandon")) {
                consumer.close(CloseOptions.groupMembershipOperation(
                    CloseOptions.GroupMembershipOperation.REMAIN_IN_GROUP));
            } else {
                consumer.close();
            }
            consumer = null;  // what it holds would stay in memory with its member, till all tests are done
            tell(event("closed"));
        }

        private void obey(String command) {
            switch (command) {
                case "stop_polling" -> {
                    polling = false;
                    tell(event("stalled"));
                }
                case "poll_again" -> polling = true;
                case "leave", "abandon" -> ending = command;
                case "status" -> tell(withMembership(event("status")));
                default -> throw new IllegalArgumentException(command);
            }
        }

        private void poll() {
            ConsumerRecords<byte[], byte[]> polled;
            try {
                polled = consumer.poll(POLL);
            } catch (KafkaException failure) {
                if (failure.getCause() instanceof IllegalStateException) {
                    throw failure;
                }
                tell(event("error").put("error", failure.getClass().getSimpleName() + ": " + failure.getMessage()));
                return;
            }
            if (!polled.isEmpty()) {
                ObjectNode event = event("records");
                ArrayNode records = event.putArray("records");
                for (ConsumerRecord<byte[], byte[]> record : polled) {
                    records.addArray().add(record.topic()).add(record.partition()).add(record.offset());
                    positions.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                }
                tell(event);
            }
            commit();
        }

        private void commit() {
            if (positions.isEmpty()) {
                return;
            }
            try {
                consumer.commitSync(positions);
                positions.clear();
            } catch (KafkaException failure) {
                tell(event("refused").put("error", failure.getClass().getSimpleName()));
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell(withPartitions(withMembership(event("assigned")), partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            commit();
            partitions.forEach(positions::remove);
            tell(withPartitions(withMembership(event("revoked")), partitions));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            partitions.forEach(positions::remove);
            tell(withPartitions(withMembership(event("lost")), partitions));
        }

        private ObjectNode event(String kind) {
            return JSON.createObjectNode().put("member", name).put("event", kind).put("at_ns", System.nanoTime());
        }

        private ObjectNode withMembership(ObjectNode event) {
            return event
                .put("generation", consumer.groupMetadata().generationId())
                .put("member_id", consumer.groupMetadata().memberId());
        }

        private static ObjectNode withPartitions(ObjectNode event, Collection<TopicPartition> partitions) {
            ArrayNode array = event.putArray("partitions");
            partitions.forEach(each -> array.addArray().add(each.topic()).add(each.partition()));
            return event;
        }

        private static void tell(ObjectNode event) {
            synchronized (System.out) {
                System.out.println(event);
                System.out.flush();
            }
        }
    }
}
