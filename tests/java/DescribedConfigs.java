// Changes configurations of a running broker and prints, as JSON, what DescribeConfigs then says of its resources and
// whether it takes other changes. Arguments: bootstrap servers, and a plan:
// {"topic": {"name": …, "configs": {…}}, "changes": [[type, name, key, value], …], "tried": [as changes],
//  "described": [[type, name], …]}

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;

public class DescribedConfigs {
    private static final long PATIENCE_MS = 20_000;

    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        JsonNode plan = mapper.readTree(args[1]);
        Map<String, Object> answers = new LinkedHashMap<>();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            Map<String, String> configs = mapper.convertValue(plan.get("topic").get("configs"), Map.class);
            NewTopic topic = new NewTopic(plan.get("topic").get("name").asText(), 1, (short) 1).configs(configs);
            admin.createTopics(List.of(topic)).all().get();
            for (JsonNode change : plan.get("changes")) {
                alter(admin, change);
                await(admin, change);
            }
            for (JsonNode resource : plan.get("described")) {
                Map<String, Object> entries = new TreeMap<>();
                describe(admin, resource(resource)).entries().forEach(e -> entries.put(e.name(), entry(e)));
                answers.put(resource.get(0).asText() + "/" + resource.get(1).asText(), entries);
            }
            List<Object> outcomes = new ArrayList<>();
            for (JsonNode change : plan.get("tried")) {
                try {
                    alter(admin, change);
                    outcomes.add(null);
                } catch (ExecutionException e) {
                    outcomes.add(List.of(e.getCause().getClass().getSimpleName(), e.getCause().getMessage()));
                }
            }
            answers.put("tried", outcomes);
        }
        System.out.println(mapper.writeValueAsString(answers));
    }

    private static ConfigResource resource(JsonNode named) {
        return new ConfigResource(ConfigResource.Type.valueOf(named.get(0).asText()), named.get(1).asText());
    }

    private static void alter(Admin admin, JsonNode change) throws Exception {
        ConfigEntry entry = new ConfigEntry(change.get(2).asText(), change.get(3).asText());
        AlterConfigOp op = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource(change), List.of(op))).all().get();
    }

    /** A change is applied when the broker has read the metadata log that far. */
    private static void await(Admin admin, JsonNode change) throws Exception {
        ConfigEntry.ConfigSource source = change.get(1).asText().isEmpty()
            ? ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG : ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG;
        boolean broker = change.get(0).asText().equals("BROKER");
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (System.currentTimeMillis() < deadline) {
            ConfigEntry found = describe(admin, resource(change)).get(change.get(2).asText());
            if (found != null && (broker ? found.synonyms().stream().anyMatch(s -> s.source() == source)
                : change.get(3).asText().equals(found.value()))) return;
            Thread.sleep(20);
        }
        throw new IllegalStateException("not applied: " + change);
    }

    private static Config describe(Admin admin, ConfigResource resource) throws Exception {
        DescribeConfigsOptions options = new DescribeConfigsOptions().includeSynonyms(true);
        return admin.describeConfigs(List.of(resource), options).all().get().get(resource);
    }

    private static Map<String, Object> entry(ConfigEntry entry) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("value", entry.value());
        out.put("source", entry.source().name());
        out.put("sensitive", entry.isSensitive());
        out.put("read_only", entry.isReadOnly());
        out.put("type", entry.type().name());
        List<Object> synonyms = new ArrayList<>();
        for (ConfigEntry.ConfigSynonym s : entry.synonyms()) {
            List<String> each = new ArrayList<>();
            each.add(s.name());
            each.add(s.value());
            each.add(s.source().name());
            synonyms.add(each);
        }
        out.put("synonyms", synonyms);
        return out;
    }
}
