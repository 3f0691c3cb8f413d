import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.maven.artifact.versioning.ComparableVersion;

/** Reads pairs of versions, a tab between them, one in a line; writes Maven's verdict of each, `<`, `=` or `>`. */
public class CompareVersions {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder verdicts = new StringBuilder();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] pair = line.split("\t", -1);
            int order = new ComparableVersion(pair[0]).compareTo(new ComparableVersion(pair[1]));
            verdicts.append("<=>".charAt(Integer.signum(order) + 1));
        }
        System.out.println(verdicts);
    }
}
