import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.utils.Exit;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs one main class after another in this one JVM, because starting a JVM costs more than most of them take.
 *
 * A request is a line of JSON: {"main": class, "args": [...], "classes": [directory, ...]}.
 * An answer is a line "status stdoutBytes stderrBytes", then those bytes. An exception of the main class goes to its
 * stderr, with status 1, as java itself would do.
 */
public class Workbench {
    private static final class Exited extends Error {
        final int status;

        Exited(int status) {
            super("exit " + status, null, false, false);
            this.status = status;
        }
    }

    /** How the program under way ended: some catch what exit throws here, and go on where they would be dead. */
    private static Integer firstExit;

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        PrintStream realErr = System.err;
        Exit.setExitProcedure((status, message) -> {
            if (firstExit == null) {
                firstExit = status;
                System.setOut(new PrintStream(OutputStream.nullOutputStream()));
                System.setErr(new PrintStream(OutputStream.nullOutputStream()));
            }
            throw new Exited(status);
        });
        ObjectMapper json = new ObjectMapper();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setIn(InputStream.nullInputStream());
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            int status;
            try (PrintStream capturedOut = new PrintStream(out, false, StandardCharsets.UTF_8);
                 PrintStream capturedErr = new PrintStream(err, false, StandardCharsets.UTF_8)) {
                System.setOut(capturedOut);
                System.setErr(capturedErr);
                firstExit = null;
                status = run(json.readTree(line));
                if (firstExit != null) {
                    status = firstExit;
                }
            } finally {
                System.setOut(answers);
                System.setErr(realErr);
            }
            answers.println(status + " " + out.size() + " " + err.size());
            out.writeTo(answers);
            err.writeTo(answers);
            answers.flush();
        }
    }

    private static int run(JsonNode request) throws Exception {
        List<String> args = new ArrayList<>();
        request.get("args").forEach(arg -> args.add(arg.asText()));
        List<URL> classes = new ArrayList<>();
        for (JsonNode directory : request.get("classes")) {
            classes.add(Path.of(directory.asText()).toUri().toURL());
        }
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try (URLClassLoader loader = new URLClassLoader(classes.toArray(new URL[0]), before)) {
            thread.setContextClassLoader(loader);
            loader.loadClass(request.get("main").asText())
                .getMethod("main", String[].class)
                .invoke(null, (Object) args.toArray(new String[0]));
            return 0;
        } catch (InvocationTargetException wrapped) {
            if (wrapped.getCause() instanceof Exited exited) {
                return exited.status;
            }
            wrapped.getCause().printStackTrace();
            return 1;
        } catch (ReflectiveOperationException error) {
            error.printStackTrace();
            return 1;
        } finally {
            thread.setContextClassLoader(before);
        }
    }
}
