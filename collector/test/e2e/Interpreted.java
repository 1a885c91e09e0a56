import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/* Interpreted SECONDS: functions at known lines that share the CPU time 60 : 30 : 10, whatever calls them, and a thread that waits. */
public class Interpreted {
	interface Work {
		int run(int rounds);
	}

	static int sixty(int rounds) {
		int value = 1;
		for (int i = 0; i < 6 * rounds; i++) value = value * 1664525 + 1013904223; // line 12
		return value;
	}

	static int thirty(int rounds) {
		int value = 1;
		for (int i = 0; i < 3 * rounds; i++) value = value * 1664525 + 1013904223; // line 18
		return value;
	}

	static int ten(int rounds) {
		int value = 1;
		for (int i = 0; i < rounds; i++) value = value * 1664525 + 1013904223; // line 24
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
		int sum = 0;

		waiting.setDaemon(true);
		waiting.start();
		while (threads.getCurrentThreadCpuTime() < until)
			for (int i = 0; i < 10; i++)
				for (Work work : works)
					sum ^= deep(i == 0 ? 600 : 5, work, 5000);
		System.out.println(sum & 1);
	}
}
