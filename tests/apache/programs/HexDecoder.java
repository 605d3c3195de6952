import org.apache.kafka.tools.api.Decoder;

import java.util.HexFormat;

/** Shows keys and payloads in hexadecimal, so that a dump of any bytes at all can be parsed. */
public class HexDecoder implements Decoder<String> {
    @Override
    public String fromBytes(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
