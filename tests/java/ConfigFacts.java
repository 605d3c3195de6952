// Prints, as JSON, what Apache Kafka's own classes say about the configuration keys: names, types,
// defaults, bounds, how values are parsed, how a server's keys become a topic's defaults, and how Java writes and reads
// .properties files. Compiled with KeyFacts.java and run with Apache Kafka's jars.

import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

import java.io.StringReader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;

import scala.jdk.javaapi.CollectionConverters;

public class ConfigFacts {
    private static final String[] NUMBERS = {
        "0", "-1", "+7", " 42 ", "\t42\n", "", " ", "1_000", "1.0", "0x10", "１２", "\u00a05", "32767", "32768", "-32768", "-32769",
        "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", "--1", "+", "-", "1L", "null"};
    private static final String[] DOUBLES = {
        "0", "-1", "+7", " .5 ", "5.", ".", "", "1e3", "1E-3", "1e", "1d", "2.5f", "1L", "NaN", "nan", "Infinity", "-Infinity",
        "inf", "infinity", "0x1.8p1", "0x1p-2d", "0x1", "1_0", "1e999", "１", "0x1p99999", "- 1"};
    private static final String[] BOOLEANS = {"true", "TRUE", " False ", "fAlSe", "yes", "1", "", "t rue"};
    private static final String[] LISTS = {
        "", "  ", "a", " a , b ", "a,,b", "a,", ",", " , ", "a\t,\nb", "a b", "a\u00a0, b", "a,a"};
    private static final String[] STRINGS = {"", " a ", "a b", "\u00a0a\u00a0", "\u0001a\u001f"};

    private static final String[][] SERVERS = {
        {},
        {"log.dir", "/a,/b"},
        {"log.dir", "/a", "log.dirs", "/b, /c"},
        {"log.dirs", ""},
        {"log.dirs", "/a,/a"},
        {"log.dirs", "/a,"},
        {"log.dir", ""},
        {"log.segment.bytes", "1048575"},
        {"log.segment.bytes", "1048576"},
        {"log.roll.hours", "2"},
        {"log.roll.hours", "2", "log.roll.ms", "77"},
        {"log.roll.ms", "0"},
        {"log.roll.jitter.hours", "3"},
        {"log.roll.jitter.hours", "3", "log.roll.jitter.ms", "5"},
        {"log.roll.jitter.ms", "-1"},
        {"log.retention.hours", "1"},
        {"log.retention.hours", "1", "log.retention.minutes", "7"},
        {"log.retention.hours", "1", "log.retention.minutes", "7", "log.retention.ms", "9"},
        {"log.retention.hours", "-1"},
        {"log.retention.minutes", "-5"},
        {"log.retention.ms", "-2", "log.retention.hours", "4"},
        {"log.retention.ms", "0"},
        {"log.retention.hours", "0"},
        {"log.flush.scheduler.interval.ms", "1000"},
        {"log.flush.scheduler.interval.ms", "1000", "log.flush.interval.ms", "2000"},
        {"log.flush.interval.ms", "-1"},
        {"log.cleanup.policy", "compact, delete"},
        {"log.cleanup.policy", ""},
        {"log.cleanup.policy", "delete,delete"},
        {"log.cleanup.policy", "Compact"},
        {"log.cleaner.threads", "0"},
        {"log.cleaner.threads", "127"},
        {"log.cleaner.threads", "128"},
        {"log.cleaner.min.compaction.lag.ms", "10", "log.cleaner.max.compaction.lag.ms", "9"},
        {"log.cleaner.min.compaction.lag.ms", "10", "log.cleaner.max.compaction.lag.ms", "10"},
        {"log.cleaner.min.cleanable.ratio", "NaN"},
        {"log.cleaner.min.cleanable.ratio", "1.01"},
        {"log.cleaner.delete.retention.ms", "1", "log.segment.delete.delay.ms", "2", "log.index.size.max.bytes", "4",
            "log.index.interval.bytes", "0", "message.max.bytes", "123", "compression.type", "zstd", "compression.zstd.level", "9",
            "compression.gzip.level", "-1", "compression.lz4.level", "17", "log.preallocate", "true",
            "log.message.timestamp.type", "LogAppendTime", "log.message.timestamp.before.max.ms", "5",
            "log.message.timestamp.after.max.ms", "6", "log.retention.bytes", "-7", "log.flush.interval.messages", "8",
            "min.insync.replicas", "2", "unclean.leader.election.enable", "true"},
        {"compression.type", "GZIP"},
        {"compression.gzip.level", "0"},
        {"compression.gzip.level", "-1"},
        {"log.message.timestamp.type", "createtime"},
    };

    private static final String[] COMBINED = {
        "node.id", "1", "process.roles", "broker,controller", "controller.listener.names", "CONTROLLER",
        "listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "controller.quorum.voters", "1@localhost:9093"};
    private static final String[] BROKER = {
        "node.id", "2", "process.roles", "broker", "controller.listener.names", "CONTROLLER",
        "controller.quorum.bootstrap.servers", "localhost:9093"};
    private static final String[] CONTROLLER = {
        "node.id", "1", "process.roles", "controller", "controller.listener.names", "CONTROLLER",
        "listeners", "CONTROLLER://:9093", "controller.quorum.voters", "1@localhost:9093"};

    /** Nodes: a base, what it is with, and null for what it is without. */
    private static final String[][][] NODES = {
        {COMBINED, {}}, {BROKER, {}}, {CONTROLLER, {}},
        {COMBINED, {"node.id", null}},
        {COMBINED, {"node.id", null, "broker.id", "1"}},
        {COMBINED, {"broker.id", "2"}},
        {COMBINED, {"process.roles", null}},
        {COMBINED, {"process.roles", "observer"}},
        {COMBINED, {"process.roles", ""}},
        {COMBINED, {"controller.listener.names", null}},
        {COMBINED, {"controller.listener.names", "controller"}},
        {COMBINED, {"controller.listener.names", "OTHER"}},
        {COMBINED, {"controller.listener.names", "CONTROLLER,OTHER"}},
        {COMBINED, {"controller.listener.names", "PLAINTEXT,CONTROLLER"}},
        {COMBINED, {"controller.quorum.voters", null}},
        {COMBINED, {"controller.quorum.voters", null, "controller.quorum.bootstrap.servers", "h:1, [::1]:2"}},
        {COMBINED, {"controller.quorum.voters", "2@localhost:9093"}},
        {COMBINED, {"controller.quorum.voters", "1@localhost"}},
        {COMBINED, {"controller.quorum.voters", "a@localhost:1"}},
        {COMBINED, {"controller.quorum.voters", "1@2@localhost:1"}},
        {COMBINED, {"controller.quorum.voters", "1@local host:1"}},
        {COMBINED, {"controller.quorum.voters", "1@[::1]:1,2@h:65535"}},
        {COMBINED, {"controller.quorum.voters", "1@h:65536"}},
        {COMBINED, {"controller.quorum.bootstrap.servers", "nowhere"}},
        {COMBINED, {"listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT://h:9092,CONTROLLER://0.0.0.0:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT://h:9092,CONTROLLER://0.0.0.0:9093", "controller.quorum.voters", null,
            "controller.quorum.bootstrap.servers", "h:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT://:9092,PLAINTEXT://:9094,CONTROLLER://:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT://:9092,CONTROLLER://:9092"}},
        {COMBINED, {"listeners", "PLAINTEXT://:0,CONTROLLER://:0"}},
        {COMBINED, {"listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092"}},
        {COMBINED, {"listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.2:9092"}},
        {COMBINED, {"listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://h:9092"}},
        {COMBINED, {"listeners", "plaintext://h:9092,CONTROLLER://h:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT://[fe80::b1da:69ca%eth0]:9092,CONTROLLER://h:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT:h:9092,CONTROLLER://h:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT://h,CONTROLLER://h:9093"}},
        {COMBINED, {"listeners", "PLAINTEXT"}},
        {COMBINED, {"listeners", ""}},
        {COMBINED, {"listeners", "INSIDE://h:1,CONTROLLER://h:2"}},
        {COMBINED, {"listeners", "INSIDE://h:1,CONTROLLER://h:2", "listener.security.protocol.map", "INSIDE:PLAINTEXT"}},
        {COMBINED, {"listeners", "INSIDE://h:1,CONTROLLER://h:2",
            "listener.security.protocol.map", "INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"}},
        {COMBINED, {"listeners", "INSIDE://h:1,CONTROLLER://h:2", "inter.broker.listener.name", "inside",
            "listener.security.protocol.map", "inside:plaintext , CONTROLLER:PLAINTEXT"}},
        {COMBINED, {"listener.security.protocol.map", "PLAINTEXT:TLS,CONTROLLER:PLAINTEXT"}},
        {COMBINED, {"listener.security.protocol.map", "PLAINTEXT"}},
        {COMBINED, {"inter.broker.listener.name", "PLAINTEXT", "security.inter.broker.protocol", "PLAINTEXT"}},
        {COMBINED, {"inter.broker.listener.name", "NOWHERE"}},
        {COMBINED, {"inter.broker.listener.name", "CONTROLLER"}},
        {COMBINED, {"security.inter.broker.protocol", "TLS"}},
        {COMBINED, {"advertised.listeners", "PLAINTEXT://public:19092"}},
        {COMBINED, {"advertised.listeners", "PLAINTEXT://public:19092,CONTROLLER://public:19092"}},
        {COMBINED, {"advertised.listeners", "CONTROLLER://public:19093"}},
        {COMBINED, {"advertised.listeners", "PLAINTEXT://0.0.0.0:9092"}},
        {COMBINED, {"advertised.listeners", "CONTROLLER://0.0.0.0:9092,PLAINTEXT://h:1"}},
        {COMBINED, {"advertised.listeners", "SSL://public:19092,PLAINTEXT://h:1"}},
        {COMBINED, {"advertised.listeners", ""}},
        {COMBINED, {"early.start.listeners", "PLAINTEXT"}},
        {COMBINED, {"early.start.listeners", ""}},
        {COMBINED, {"early.start.listeners", "OTHER"}},
        {COMBINED, {"replica.fetch.wait.max.ms", "30001"}},
        {COMBINED, {"replica.fetch.wait.max.ms", "400", "replica.lag.time.max.ms", "399"}},
        {COMBINED, {"replica.socket.timeout.ms", "499"}},
        {COMBINED, {"broker.heartbeat.interval.ms", "9000"}},
        {COMBINED, {"queued.max.request.bytes", "104857599"}},
        {COMBINED, {"queued.max.request.bytes", "104857600"}},
        {COMBINED, {"queued.max.request.bytes", "0"}},
        {COMBINED, {"max.connections.per.ip", "0"}},
        {COMBINED, {"max.connections.per.ip", "0", "max.connections.per.ip.overrides", "h:1, ::1:2"}},
        {COMBINED, {"max.connections.per.ip.overrides", "h"}},
        {COMBINED, {"max.connections.per.ip.overrides", "h!:1"}},
        {COMBINED, {"connections.max.idle.ms", "100"}},
        {COMBINED, {"connections.max.idle.ms", "101"}},
        {COMBINED, {"connections.max.idle.ms", "-1"}},
        {COMBINED, {"cordoned.log.dirs", "/a"}},
        {COMBINED, {"cordoned.log.dirs", "/a", "log.dirs", "/b,/a"}},
        {COMBINED, {"cordoned.log.dirs", "*", "log.dirs", "/b,/a"}},
        {COMBINED, {"cordoned.log.dirs", "*,/a", "log.dirs", "/b,/a"}},
        {COMBINED, {"metadata.log.dir", "/m"}},
        {COMBINED, {"no.such.key", "1", "listener.name.plaintext.max.connections", "7"}},
        {BROKER, {"node.id", "1", "controller.quorum.voters", "1@localhost:9093"}},
        {BROKER, {"controller.quorum.bootstrap.servers", null}},
        {BROKER, {"controller.quorum.auto.join.enable", "true"}},
        {BROKER, {"controller.listener.names", "CONTROLLER,OTHER"}},
        {BROKER, {"controller.listener.names", "PLAINTEXT"}},
        {BROKER, {"controller.listener.names", "SSL"}},
        {BROKER, {"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT"}},
        {BROKER, {"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"}},
        {CONTROLLER, {"listeners", "CONTROLLER://:9093,PLAINTEXT://:9092"}},
        {CONTROLLER, {"listeners", "PLAINTEXT://:9092"}},
        {CONTROLLER, {"inter.broker.listener.name", "CONTROLLER"}},
        {CONTROLLER, {"inter.broker.listener.name", "PLAINTEXT"}},
        {CONTROLLER, {"node.id", "9"}},
        {CONTROLLER, {"advertised.listeners", "CONTROLLER://public:1"}},
        {CONTROLLER, {"controller.quorum.auto.join.enable", "true"}},
    };

    private static final String[][] TOPICS = {
        {},
        {"segment.bytes", "1048575"},
        {"internal.segment.bytes", "100"},
        {"internal.segment.bytes", "100", "segment.bytes", "1048576"},
        {"cleanup.policy", ""},
        {"cleanup.policy", "compact,delete"},
        {"cleanup.policy", "delete,delete"},
        {"cleanup.policy", "compact,"},
        {"cleanup.policy", "Delete"},
        {"retention.ms", "-1"},
        {"retention.ms", "-2"},
        {"retention.bytes", "-9"},
        {"min.compaction.lag.ms", "5", "max.compaction.lag.ms", "4"},
        {"min.compaction.lag.ms", "5", "max.compaction.lag.ms", "5"},
        {"max.compaction.lag.ms", "0"},
        {"min.cleanable.dirty.ratio", "-0.1"},
        {"compression.type", "uncompressed"},
        {"compression.type", "none"},
        {"compression.gzip.level", "0"},
        {"compression.gzip.level", "10"},
        {"compression.lz4.level", "0"},
        {"compression.zstd.level", "23"},
        {"compression.zstd.level", "-131073"},
        {"leader.replication.throttled.replicas", "*"},
        {"leader.replication.throttled.replicas", "0:1, 2:3"},
        {"leader.replication.throttled.replicas", "0:1,"},
        {"leader.replication.throttled.replicas", "0:a"},
        {"leader.replication.throttled.replicas", "*,*"},
        {"remote.storage.enable", "true"},
        {"remote.storage.enable", "false"},
        {"message.timestamp.type", "LogAppendTime"},
        {"no.such.key", "1"},
        {"preallocate", "yes"},
    };

    private static final String PROPERTIES_TEXT =
        "# comment = not a key\n! neither\n\n  \t \nplain=value\n  indented = spaced value  \ncolon: c\nspace s p a c e\n"
        + "tab\tt\nempty=\nalone\nequals=a=b:c\nkey\\ with\\=all\\:of=x\nlong=one,\\\n   two,\\\r\n\tthree\n"
        + "esc=\\t\\n\\r\\f\\\\\\q\\u00e9\\u0041\nbackslash=a\\\\\nnext=after\nunicode=é\ncr=1\rlf=2\r\n#c\\\nafter=comment\n"
        + "sep  =  :twice\n:nokey\ntwice=1\ntwice=2\nend=open\\";
    private static final String[][] STORED = {
        {"directory.id", "DtCUMcZ6QYG9BFNl0aD32Q"}, {"version", "1"}, {"cluster.id", "a=b:c #d!e"}, {"a b", "  lead  "},
        {"#k", "tab\tnl\ncr\rff\f"}, {"é", "naïve \u0001 ☃"}, {"back\\slash", "c:\\x"}, {"empty", ""}};

    public static void main(String[] args) throws Exception {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("topic", keys(LogConfig.configKeys()));
        facts.put("server", keys(AbstractKafkaConfig.CONFIG_DEF.configKeys()));
        facts.put("broker_quotas", keys(QuotaConfig.brokerQuotaConfigs().configKeys()));
        facts.put("group", keys(GroupConfig.CONFIG_DEF.configKeys()));
        facts.put("client_metrics", keys(ClientMetricsConfigs.configDef().configKeys()));
        facts.put("dynamic", new TreeMap<>(DynamicBrokerConfig.dynamicConfigUpdateModes()));
        facts.put("synonyms", synonyms());
        facts.put("group_synonyms", groupSynonyms());
        facts.put("parse", parses());
        facts.put("topics", KeyFacts.outcomes(TOPICS, ConfigFacts::topic));
        facts.put("servers", KeyFacts.outcomes(SERVERS, ConfigFacts::server));
        facts.put("nodes", nodes());
        facts.put("properties", properties());
        System.out.println(KeyFacts.json(facts, 2));
    }

    private static Map<String, Object> keys(Map<String, ConfigDef.ConfigKey> keys) {
        return KeyFacts.keys(keys, ConfigDef::convertToString);
    }

    private static Map<String, Object> synonyms() {
        Map<String, Object> out = new TreeMap<>();
        ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.forEach((topic, list) -> {
            List<Object> each = new ArrayList<>();
            list.forEach(s -> each.add(List.of(s.name(), Long.parseLong(s.converter().apply("1")))));
            out.put(topic, each);
        });
        return out;
    }

    private static Map<String, Object> groupSynonyms() {
        Map<String, Object> out = new TreeMap<>();
        GroupConfig.ALL_GROUP_CONFIG_SYNONYMS.forEach((group, broker) -> out.put(group, broker.orElse(null)));
        return out;
    }

    private static List<Object> parses() {
        List<Object> out = new ArrayList<>();
        for (String v : NUMBERS)
            for (ConfigDef.Type t : List.of(ConfigDef.Type.SHORT, ConfigDef.Type.INT, ConfigDef.Type.LONG)) out.add(parse(t, v));
        for (String v : DOUBLES) out.add(parse(ConfigDef.Type.DOUBLE, v));
        for (String v : BOOLEANS) out.add(parse(ConfigDef.Type.BOOLEAN, v));
        for (String v : LISTS) out.add(parse(ConfigDef.Type.LIST, v));
        for (String v : STRINGS) out.add(parse(ConfigDef.Type.STRING, v));
        return out;
    }

    private static Map<String, Object> parse(ConfigDef.Type type, String value) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("type", type.name());
        out.put("value", value);
        try {
            Object parsed = ConfigDef.parseType("k", value, type);
            out.put("parsed", parsed instanceof Double ? Double.toHexString((Double) parsed) : parsed);
        } catch (ConfigException e) {
            out.put("error", true);
        }
        return out;
    }

    /** What a topic with these properties gets from a broker with all defaults, as a broker validates it. */
    private static Map<String, ?> topic(Map<String, String> props) {
        LogConfig.validate(Map.of(), props, broker(Map.of()).extractLogConfigMap(), false);
        Properties overrides = new Properties();
        overrides.putAll(props);
        LogConfig config = LogConfig.fromProps(Map.of(), overrides);
        Map<String, Object> out = new TreeMap<>(strings(config.values()));
        out.put("segmentSize", config.segmentSize());
        out.put("compact", config.compact);
        out.put("delete", config.delete);
        out.put("maxSegmentMs", config.maxSegmentMs());
        out.put("initFileSize", config.initFileSize());
        return out;
    }

    private static Map<String, ?> server(Map<String, String> props) {
        kafka.server.KafkaConfig config = broker(props);
        Map<String, Object> out = new TreeMap<>(strings(new LogConfig(config.extractLogConfigMap()).values()));
        out.put("logDirs", config.logDirs());
        return out;
    }

    private static kafka.server.KafkaConfig broker(Map<String, String> props) {
        Properties all = new Properties();
        all.put("node.id", "1");
        all.put("process.roles", "broker,controller");
        all.put("listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093");
        all.put("controller.listener.names", "CONTROLLER");
        all.put("controller.quorum.voters", "1@localhost:9093");
        all.putAll(props);
        kafka.server.KafkaConfig config = new kafka.server.KafkaConfig(all, false);
        LogConfig.validateBrokerLogConfigValues(config.extractLogConfigMap(), false);
        return config;
    }

    private static List<Object> nodes() {
        List<Object> out = new ArrayList<>();
        for (String[][] node : NODES) {
            Map<String, String> props = new TreeMap<>();
            for (String[] pairs : node) for (int i = 0; i < pairs.length; i += 2) props.put(pairs[i], pairs[i + 1]);
            props.values().removeIf(Objects::isNull);
            Map<String, Object> fact = new LinkedHashMap<>();
            fact.put("props", props);
            try {
                Properties all = new Properties();
                all.putAll(props);
                kafka.server.KafkaConfig config = new kafka.server.KafkaConfig(all, false);
                fact.put("node_id", config.nodeId());
                fact.put("listeners", endpoints(config.listeners()));
                fact.put("controller", endpoints(config.controllerListeners()));
                fact.put("broker", endpoints(config.dataPlaneListeners()));
                fact.put("advertised_controller", endpoints(config.effectiveAdvertisedControllerListeners()));
                fact.put("advertised_broker", endpoints(config.effectiveAdvertisedBrokerListeners()));
                fact.put("inter_broker", config.interBrokerListenerName().value());
                fact.put("early_start", CollectionConverters.asJava(config.earlyStartListeners()).stream()
                    .map(ListenerName::value).sorted().toList());
                fact.put("metadata_log_dir", config.metadataLogDir());
                fact.put("cordoned", config.cordonedLogDirs());
            } catch (RuntimeException e) {
                fact.put("error", String.valueOf(e.getMessage()).replaceFirst("^requirement failed: ", ""));
            }
            out.add(fact);
        }
        return out;
    }

    private static List<String> endpoints(scala.collection.Seq<Endpoint> endpoints) {
        return CollectionConverters.asJava(endpoints).stream()
            .map(e -> e.listener() + "|" + e.host() + "|" + e.port() + "|" + e.securityProtocol()).toList();
    }

    private static Map<String, Object> strings(Map<String, ?> values) {
        Map<String, Object> out = new TreeMap<>();
        values.forEach((k, v) -> out.put(k, ConfigDef.convertToString(v, LogConfig.configType(k).orElseThrow())));
        return out;
    }

    private static Map<String, Object> properties() throws Exception {
        Properties loaded = new Properties();
        loaded.load(new StringReader(PROPERTIES_TEXT));
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("text", PROPERTIES_TEXT);
        out.put("loaded", new TreeMap<>(loaded));
        // One pair a file: Properties.store writes in the order of its hash table.
        List<Object> stored = new ArrayList<>();
        for (String[] pair : STORED) {
            Properties one = new Properties();
            one.put(pair[0], pair[1]);
            StringWriter writer = new StringWriter();
            one.store(writer, "");
            String[] lines = writer.toString().split("\n", 3);
            stored.add(new TreeMap<>(Map.of("key", pair[0], "value", pair[1], "comment", lines[0], "line", lines[2])));
        }
        out.put("stored", stored);
        return out;
    }
}
