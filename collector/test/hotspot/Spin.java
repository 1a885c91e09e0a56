/* Spin: says that it is ready, and spins for ever below calls that compilers inline. */
public class Spin {
	static int sum;

	interface Work {
		void run(int depth);
	}

	static void spins() {
		while (true)
			sum++;
	}

	static void inner() {
		sum = 1;
		spins();
	}

	static void recurses(int depth) {
		if (depth == 0)
			inner();
		else
			recurses(depth - 1);
	}

	public static void main(String[] arguments) {
		Work work = new Work() {
			public void run(int depth) {
				sum = depth;
				recurses(depth);
			}
		};

		System.out.println("ready");
		work.run(Integer.parseInt(arguments[0]));
	}
}
