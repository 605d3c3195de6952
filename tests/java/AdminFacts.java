import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;

/** Prints the names of what Apache's admin client can be asked, one a line. */
public class AdminFacts {
    public static void main(String[] args) {
        TreeSet<String> names = new TreeSet<>();
        for (Method method : Admin.class.getMethods()) {
            if (!Modifier.isStatic(method.getModifiers())) {
                names.add(method.getName());
            }
        }
        names.forEach(System.out::println);
    }
}
