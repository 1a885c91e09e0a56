import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.Callable;

/** Spends 60, 30 and 10 % of its CPU time in three functions, the second of them with labels, for the seconds of its argument. */
public class Work {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static Object[] kept = new Object[64];

    static void spin(long milliseconds) {
        long end = THREADS.getCurrentThreadCpuTime() + milliseconds * 1_000_000;
        for (int i = 0; THREADS.getCurrentThreadCpuTime() < end; i++)
            kept[i % kept.length] = new byte[1000];
    }

    static Object much() {
        spin(6);
        return null;
    }

    static Object some() {
        spin(3);
        return null;
    }

    static Object few() {
        spin(1);
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000;
        while (System.nanoTime() < end) {
            much();
            Pyroscope.LabelsWrapper.run(new LabelsSet("job", "nightly, all"), (Callable<Object>) Work::some);
            few();
        }
    }
}
