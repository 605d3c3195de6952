// Prints, as JSON, what Apache Kafka's clients make of each error code, and what its serializers make of some values.
// Run with Apache Kafka's jars: java -cp 'jars/*' ErrorFacts.java

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.*;

import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

public class ErrorFacts {
    public static void main(String[] args) throws Exception {
        Map<String, Object> errors = new LinkedHashMap<>();
        for (Errors error : Errors.values()) {
            if (error == Errors.NONE) continue;
            Exception exception = error.exception();
            Map<String, Object> fact = new LinkedHashMap<>();
            fact.put("name", error.name());
            fact.put("exception", exception.getClass().getSimpleName());
            fact.put("retriable", exception instanceof RetriableException);
            fact.put("invalid_metadata", exception instanceof InvalidMetadataException);
            errors.put(String.valueOf(error.code()), fact);
        }
        Map<String, String> bytes = new LinkedHashMap<>();
        put(bytes, "short -2", new ShortSerializer().serialize("t", (short) -2));
        put(bytes, "int 1234567", new IntegerSerializer().serialize("t", 1234567));
        put(bytes, "long -9000000000", new LongSerializer().serialize("t", -9000000000L));
        put(bytes, "float 1.5", new FloatSerializer().serialize("t", 1.5f));
        put(bytes, "double -0.1", new DoubleSerializer().serialize("t", -0.1));
        put(bytes, "boolean true", new BooleanSerializer().serialize("t", true));
        put(bytes, "str naïve ☃", new StringSerializer().serialize("t", "naïve ☃"));
        put(bytes, "uuid", new UUIDSerializer().serialize("t", new UUID(0x0123456789abcdefL, 0xfedcba9876543210L)));
        System.out.println(new ObjectMapper().writeValueAsString(Map.of("errors", errors, "bytes", bytes)));
    }

    private static void put(Map<String, String> out, String name, byte[] bytes) {
        out.put(name, HexFormat.of().formatHex(bytes));
    }
}
