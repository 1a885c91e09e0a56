// Processor time, allocations and a contended monitor, for the JDK's own recorder.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

public final class Record {
	private static final Object monitor = new Object();
	private static volatile int sink;

	private static int fibonacci(int n) {
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
	}

	private static void hold() {
		synchronized (monitor) {
			LockSupport.parkNanos(200000000);
		}
	}

	public static void main(String[] arguments) throws Exception {
		List<Thread> threads = new ArrayList<>();
		List<Object> kept = new ArrayList<>();

		for (int i = 0; i < 4; i++)
			threads.add(new Thread(Record::hold));
		for (Thread thread : threads)
			thread.start();
		for (long until = System.nanoTime() + 1500000000L; System.nanoTime() < until;) {
			sink = fibonacci(20);
			kept.add(new byte[100000]);
			if (kept.size() > 50)
				kept.clear();
		}
		for (Thread thread : threads)
			thread.join();
	}
}
