// What the programs that tell facts about configuration keys share: ConfigFacts.java and ClientConfigFacts.java are
// compiled beside this.

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;

final class KeyFacts {
    private KeyFacts() {}

    /** JSON with a line for each entry of the outer levels, so that changes show in a diff. */
    static String json(Object value, int levels) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        mapper.getFactory().enable(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature());
        List<String> entries = new ArrayList<>();
        if (levels > 0 && value instanceof Map<?, ?> map) {
            for (Map.Entry<?, ?> entry : map.entrySet())
                entries.add(mapper.writeValueAsString(entry.getKey()) + ": " + json(entry.getValue(), levels - 1));
            return "{\n" + String.join(",\n", entries) + "\n}";
        }
        if (levels > 0 && value instanceof List<?> list) {
            for (Object entry : list) entries.add(json(entry, levels - 1));
            return "[\n" + String.join(",\n", entries) + "\n]";
        }
        return mapper.writeValueAsString(value);
    }

    /** What is known of each key; `text` writes a default. */
    static Map<String, Object> keys(
            Map<String, ConfigDef.ConfigKey> keys, BiFunction<Object, ConfigDef.Type, String> text) {
        Map<String, Object> out = new TreeMap<>();
        keys.forEach((name, key) -> {
            Map<String, Object> fact = new LinkedHashMap<>();
            fact.put("type", key.type.name());
            fact.put("required", !key.hasDefault());
            fact.put("default", key.hasDefault() ? text.apply(key.defaultValue, key.type) : null);
            fact.put("valid", key.validator == null ? null : key.validator.toString());
            fact.put("importance", key.importance.name());
            fact.put("internal", key.internalConfig);
            fact.put("null_allowed", accepts(key, null));
            if (key.type == ConfigDef.Type.LIST) fact.put("empty_allowed", accepts(key, List.of()));
            out.put(name, fact);
        });
        return out;
    }

    private static boolean accepts(ConfigDef.ConfigKey key, Object value) {
        if (key.validator == null) return true;
        try {
            key.validator.ensureValid(key.name, value);
            return true;
        } catch (ConfigException | NullPointerException e) {
            return false;
        }
    }

    interface Outcome {
        Map<String, ?> of(Map<String, String> props);
    }

    /** What comes of each case; after the first, which sets nothing, only what differs from it. */
    static List<Object> outcomes(String[][] cases, Outcome outcome) {
        List<Object> out = new ArrayList<>();
        Map<String, Object> first = new TreeMap<>();
        for (String[] pairs : cases) {
            Map<String, String> props = new TreeMap<>();
            for (int i = 0; i < pairs.length; i += 2) props.put(pairs[i], pairs[i + 1]);
            Map<String, Object> fact = new LinkedHashMap<>();
            fact.put("props", props);
            try {
                Map<String, Object> values = new TreeMap<>(outcome.of(props));
                if (!first.isEmpty()) values.entrySet().removeAll(first.entrySet());
                else first.putAll(values);
                fact.put("values", values);
            } catch (RuntimeException e) {
                fact.put("error", true);
            }
            out.add(fact);
        }
        return out;
    }
}
