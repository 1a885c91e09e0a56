/*
 * Made SECONDS: makes classes, calls their methods, and drops them, so that later ones take their place in memory.
 *
 * While a method runs, the thread has its name. All classes have one name, so only the names of their methods differ. Prints how many
 * there were.
 */
import java.io.FileOutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.function.IntUnaryOperator;

public class Made {
	static class Loader extends ClassLoader {
		Class<?> make(byte[] bytes) {
			return defineClass("Made$Part", bytes, 0, bytes.length);
		}
	}

	/* The bytes of the class, with the number of its methods. */
	static byte[] numbered(byte[] bytes, int number) {
		byte[] from = "made_000_".getBytes(StandardCharsets.ISO_8859_1);
		byte[] to = String.format("made_%03d_", number).getBytes(StandardCharsets.ISO_8859_1);
		byte[] result = bytes.clone();

		for (int i = 0; i + from.length <= result.length; i++) {
			int same = 0;

			while (same < from.length && result[i + same] == from[same])
				same++;
			if (same == from.length)
				System.arraycopy(to, 0, result, i, to.length);
		}
		return result;
	}

	public static void main(String[] arguments) throws Exception {
		byte[] template = Files.readAllBytes(Paths.get(Made.class.getResource("Made$Part.class").toURI()));
		String thread = Paths.get("/proc/thread-self").toRealPath().toString();
		FileOutputStream name = new FileOutputStream(thread + "/comm");
		int[] rounds = { 20000, 200000, 1000000, 4000000 };
		ThreadMXBean clock = ManagementFactory.getThreadMXBean();
		long until = clock.getCurrentThreadCpuTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
		int made = 0;

		while (clock.getCurrentThreadCpuTime() < until) {
			int number = ++made % 41;
			IntUnaryOperator outer = (IntUnaryOperator) new Loader().make(numbered(template, number)).getDeclaredConstructor().newInstance();

			name.write(("made_" + number).getBytes());
			outer.applyAsInt(rounds[made % 4]);
			name.write("none".getBytes());
			outer = null;
			if (made % 4 == 0)
				System.gc();
		}
		System.out.println(made);
	}

	public static class Part implements IntUnaryOperator {
		public Part() {}

		public int applyAsInt(int rounds) {
			return made_000_outer(rounds);
		}

		static int made_000_outer(int rounds) {
			return made_000_inner(rounds) + 1;
		}

		static int made_000_inner(int rounds) {
			int value = 1;

			for (int i = 0; i < rounds; i++)
				value = value * 1664525 + 1013904223;
			return value;
		}
	}
}
