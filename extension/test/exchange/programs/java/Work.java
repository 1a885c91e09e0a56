// Processor time and allocations, profiled by async-profiler: recursion, lambdas, an interface, two threads.
//
//	Work DIRECTORY      writes cpu.jfr and alloc.jfr there
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

import one.profiler.AsyncProfiler;

public final class Work {
	private static volatile int sink;

	private static int fibonacci(int n) {
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
	}

	private interface Step {
		void run(int depth, long until);
	}

	private static final class Ping implements Step {
		public void run(int depth, long until) {
			if (depth > 0) {
				new Pong().run(depth - 1, until);
				return;
			}
			IntUnaryOperator operator = n -> fibonacci(n) + 1;
			while (System.nanoTime() < until)
				sink = operator.applyAsInt(15);
		}
	}

	private static final class Pong implements Step {
		public void run(int depth, long until) {
			new Ping().run(depth, until);
		}
	}

	private static List<Object> keep(int count, int length) {
		List<Object> kept = new ArrayList<>();
		for (int i = 0; i < count; i++)
			kept.add(length % 2 == 0 ? new byte[length] : new String(new char[length]));
		return kept;
	}

	private static long soon(long milliseconds) {
		return System.nanoTime() + milliseconds * 1000000;
	}

	public static void main(String[] arguments) throws Exception {
		AsyncProfiler profiler = AsyncProfiler.getInstance();

		profiler.execute("start,jfr,event=itimer,interval=1ms,file=" + arguments[0] + "/cpu.jfr");
		Thread other = new Thread(() -> new Ping().run(3, soon(400)), "other thread");
		other.start();
		new Ping().run(20, soon(400));
		other.join();
		profiler.execute("stop");

		profiler.execute("start,jfr,event=alloc,alloc=16k,file=" + arguments[0] + "/alloc.jfr");
		sink = keep(2000, 1000).size() + keep(300, 20001).size();
		profiler.execute("stop");
	}
}
