// What Apache Kafka's generated message classes make of bytes: prints one line for each line of the file given.
//
// class|version|hex -> the message read from the bytes and written again, in hex; or ERR and the exception; class is
//                      the name of a schema (FetchRequest)

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

public class ProtocolFacts {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws Exception {
        StringBuilder facts = new StringBuilder();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] f = line.split("\\|", -1);
            Message message = (Message) Class.forName("org.apache.kafka.common.message." + f[0] + "Data")
                .getDeclaredConstructor().newInstance();
            String fact;
            try {
                fact = again(message, Short.parseShort(f[1]), HEX.parseHex(f[2]));
            } catch (RuntimeException e) {
                fact = "ERR " + e;
            }
            facts.append(fact).append('\n');
        }
        System.out.print(facts);
    }

    static String again(Message message, short version, byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        message.read(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining()) return "LEFT " + buffer.remaining();
        ByteBuffer written = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] out = new byte[written.remaining()];
        written.get(out);
        return HEX.formatHex(out);
    }
}
