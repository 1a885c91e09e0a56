import java.util.Random;

/* Generated SECONDS: methods that are compiled as they run, and share the CPU time 60 : 30 : 10. */
public class Generated {
	static int rounds;

	static int sixty() { return work(60 * rounds); }
	static int thirty() { return work(30 * rounds); }
	static int ten() { return work(10 * rounds); }

	static int work(int rounds) {
		int value = 1;
		for (int i = 0; i < rounds; i++)
			value = value * 1664525 + 1013904223;
		return value;
	}

	public static void main(String[] arguments) {
		long until = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
		Random random = new Random();
		int sum = 0;
		while (System.nanoTime() < until)
			for (int i = 0; i < 100; i++) {
				// turns of all three differ in length: equal ones may keep in step with the sampler
				rounds = 500 + random.nextInt(1000);
				sum ^= sixty() ^ thirty() ^ ten();
			}
		System.out.println(sum & 1);
	}
}
