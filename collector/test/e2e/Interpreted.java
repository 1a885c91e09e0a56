import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Random;

/* Interpreted SECONDS: functions at known lines that share the CPU time 60 : 30 : 10, whatever calls them, and a thread that waits. */
public class Interpreted {
	interface Work {
		int run(int rounds);
	}

	static int sixty(int rounds) {
		int value = 1;
		for (int i = 0, n = 6 * rounds; i < n; i++) value = value * 1664525 + 1013904223; // line 13
		return value;
	}

	static int thirty(int rounds) {
		int value = 1;
		for (int i = 0, n = 3 * rounds; i < n; i++) value = value * 1664525 + 1013904223; // line 19
		return value;
	}

	static int ten(int rounds) {
		int value = 1;
		for (int i = 0, n = rounds; i < n; i++) value = value * 1664525 + 1013904223; // line 25
		return value;
	}

	static int deep(int depth, Work work, int rounds) {
		return depth > 0 ? deep(depth - 1, work, rounds) : work.run(rounds);
	}

	static void waits() {
		try {
			while (true)
				Thread.sleep(20);
		} catch (InterruptedException e) {
			return;
		}
	}

	public static void main(String[] arguments) {
		Work[] works = { Interpreted::sixty, rounds -> thirty(rounds), new Work() {
			public int run(int rounds) {
				return ten(rounds);
			}
		} };
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		long until = threads.getCurrentThreadCpuTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
		Thread waiting = new Thread(() -> waits());
		Random random = new Random();
		int sum = 0;

		waiting.setDaemon(true);
		waiting.start();
		while (threads.getCurrentThreadCpuTime() < until)
			for (int i = 0; i < 10; i++) {
				// turns of all three differ in length: equal ones may keep in step with the sampler
				int rounds = 2500 + random.nextInt(5000);
				for (Work work : works)
					sum ^= deep(i == 0 ? 600 : 5, work, rounds);
			}
		System.out.println(sum & 1);
	}
}
