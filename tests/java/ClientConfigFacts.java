// Prints, as JSON, what Apache Kafka's own clients say about their configuration: the keys' names, types, defaults and
// bounds, and what comes of values that depend on each other. Compiled with KeyFacts.java and run with Apache
// Kafka's jars.

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

public class ClientConfigFacts {
    private static final String[][] PRODUCERS = {
        {},
        {"acks", "1"}, {"acks", "0"}, {"acks", "-1"}, {"acks", "ALL"}, {"acks", "2"}, {"acks", " all "},
        {"acks", "1", "enable.idempotence", "true"}, {"acks", "1", "enable.idempotence", "false"},
        {"retries", "0"}, {"retries", "0", "enable.idempotence", "true"}, {"retries", "-1"},
        {"max.in.flight.requests.per.connection", "6"},
        {"max.in.flight.requests.per.connection", "6", "acks", "1"},
        {"max.in.flight.requests.per.connection", "6", "enable.idempotence", "false"},
        {"max.in.flight.requests.per.connection", "0"},
        {"transactional.id", "t"}, {"transactional.id", ""}, {"transactional.id", "t", "enable.idempotence", "false"},
        {"transactional.id", "t", "acks", "1"}, {"transactional.id", "t", "client.id", "c"},
        {"transaction.two.phase.commit.enable", "true", "transactional.id", "t"},
        {"transaction.two.phase.commit.enable", "true", "transactional.id", "t", "transaction.timeout.ms", "5"},
        {"delivery.timeout.ms", "30004"}, {"delivery.timeout.ms", "30005"}, {"linger.ms", "200000"},
        {"linger.ms", "1", "request.timeout.ms", "2", "delivery.timeout.ms", "2"},
        {"linger.ms", "9223372036854775807"},
        {"reconnect.backoff.ms", "7"}, {"reconnect.backoff.ms", "7", "reconnect.backoff.max.ms", "9"},
        {"retry.backoff.ms", "5000"},
        {"bootstrap.servers", ""}, {"bootstrap.servers", "localhost"}, {"bootstrap.servers", "localhost:x"},
        {"bootstrap.servers", "localhost:65536"}, {"bootstrap.servers", "PLAINTEXT://localhost:1"},
        {"bootstrap.servers", "[::1]:1, 127.0.0.1:2"}, {"bootstrap.servers", "127.0.0.1:1,127.0.0.1:1"},
        {"security.protocol", "plaintext"}, {"security.protocol", "TLS"},
        {"metadata.recovery.strategy", "NONE"}, {"metadata.recovery.strategy", "never"},
        {"compression.type", "gzip"}, {"compression.type", "GZIP"}, {"compression.gzip.level", "0"},
        {"batch.size", "0"}, {"batch.size", "-1"}, {"client.dns.lookup", "default"}, {"metadata.max.idle.ms", "4999"},
        {"sasl.login.refresh.window.factor", "0.4"}, {"sasl.login.refresh.window.factor", "0.5"},
        {"sasl.login.refresh.window.jitter", "0.26"},
    };
    private static final String[][] CONSUMERS = {
        {},
        {"group.id", "g"}, {"group.id", "g", "group.instance.id", "i"}, {"group.id", "g", "group.instance.id", ""},
        {"enable.auto.commit", "true"}, {"enable.auto.commit", "false"}, {"enable.auto.commit", "true", "group.id", "g"},
        {"group.protocol", "consumer", "group.id", "g"}, {"group.protocol", "Consumer", "group.id", "g"},
        {"group.protocol", "streams", "group.id", "g"},
        {"group.protocol", "consumer", "group.id", "g", "session.timeout.ms", "1000"},
        {"group.protocol", "consumer", "group.id", "g", "heartbeat.interval.ms", "1000"},
        {"group.protocol", "consumer", "group.id", "g", "group.remote.assignor", "range"},
        {"group.id", "g", "group.remote.assignor", "range"},
        {"group.id", "g", "share.acknowledgement.mode", "explicit"},
        {"group.id", "g", "heartbeat.interval.ms", "45000"}, {"group.id", "g", "heartbeat.interval.ms", "44999"},
        {"auto.offset.reset", "earliest"}, {"auto.offset.reset", "none"}, {"auto.offset.reset", "Earliest"},
        {"auto.offset.reset", "by_duration:P1D"}, {"auto.offset.reset", "by_duration:PT1H2M3.5S"},
        {"auto.offset.reset", "by_duration:-PT1H"}, {"auto.offset.reset", "by_duration:P-1DT25H"},
        {"auto.offset.reset", "by_duration:P-1DT23H"}, {"auto.offset.reset", "by_duration:"},
        {"auto.offset.reset", "by_duration"}, {"auto.offset.reset", "by_duration:P"},
        {"auto.offset.reset", "by_duration:P1DT"}, {"auto.offset.reset", "by_duration:p1dt1s"},
        {"auto.offset.reset", "by_duration:P1Y"}, {"auto.offset.reset", "by_duration:PT-0.5S"},
        {"isolation.level", "read_committed"}, {"isolation.level", "READ_COMMITTED"},
        {"max.poll.records", "0"}, {"client.id", ""}, {"client.id", "c", "group.id", "g"},
        {"security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", ""},
    };
    private static final String[][] ADMINS = {
        {},
        {"default.api.timeout.ms", "29999"}, {"default.api.timeout.ms", "30000"}, {"request.timeout.ms", "70000"},
        {"bootstrap.controllers", "127.0.0.1:9"}, {"bootstrap.servers", "", "bootstrap.controllers", "127.0.0.1:9"},
        {"bootstrap.servers", ""}, {"retries", "-1"}, {"metrics.num.samples", "0"}, {"send.buffer.bytes", "-2"},
    };

    public static void main(String[] args) throws Exception {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("producer", keys(ProducerConfig.configDef()));
        facts.put("consumer", keys(ConsumerConfig.configDef()));
        facts.put("admin", keys(AdminClientConfig.configDef()));
        facts.put("producers", outcomes(PRODUCERS, ClientConfigFacts::producer));
        facts.put("consumers", outcomes(CONSUMERS, ClientConfigFacts::consumer));
        facts.put("admins", outcomes(ADMINS, ClientConfigFacts::admin));
        System.out.println(KeyFacts.json(facts, 2));
        System.exit(0);
    }

    private static String text(Object value, ConfigDef.Type type) {
        String text = ConfigDef.convertToString(value, type);
        return text == null ? null : text.replace("class org.", "org.");
    }

    private static Map<String, Object> keys(ConfigDef config) {
        return KeyFacts.keys(config.configKeys(), ClientConfigFacts::text);
    }

    private static List<Object> outcomes(String[][] cases, Function<Map<String, Object>, AbstractConfig> client) {
        return KeyFacts.outcomes(cases, given -> {
            Map<String, Object> props = new TreeMap<>(given);
            props.putIfAbsent("bootstrap.servers", "127.0.0.1:1");
            AbstractConfig config = client.apply(props);
            Map<String, Object> values = new TreeMap<>();
            config.values().forEach((name, value) -> values.put(name, text(value, config.typeOf(name))));
            values.computeIfPresent("client.id", (name, id) -> id.toString().replaceFirst("[0-9]+$", "N"));
            return values;
        });
    }

    private static AbstractConfig producer(Map<String, Object> props) {
        props.put("key.serializer", ByteArraySerializer.class.getName());
        props.put("value.serializer", ByteArraySerializer.class.getName());
        new KafkaProducer<byte[], byte[]>(props).close(Duration.ZERO);
        return new ProducerConfig(props);
    }

    private static AbstractConfig consumer(Map<String, Object> props) {
        props.put("key.deserializer", ByteArrayDeserializer.class.getName());
        props.put("value.deserializer", ByteArrayDeserializer.class.getName());
        new KafkaConsumer<byte[], byte[]>(props).close();
        return new ConsumerConfig(props);
    }

    private static AbstractConfig admin(Map<String, Object> props) {
        Admin.create(props).close(Duration.ZERO);
        return new AdminClientConfig(props);
    }
}
