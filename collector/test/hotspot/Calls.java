/* Calls: says that it is ready, and calls all the time: functions are entered and left, with and without a frame of their own. */
public class Calls {
	interface Step {
		int take(int depth, int[] counts);
	}

	static class Left implements Step {
		public int take(int depth, int[] counts) {
			return Calls.left(depth, counts);
		}
	}

	static class Right implements Step {
		public int take(int depth, int[] counts) {
			return Calls.right(depth, counts);
		}
	}

	static final Step[] steps = { new Left(), new Right() };

	static int left(int depth, int[] counts) {
		return depth <= 1 ? counts[depth & 7]++ : left(depth - 1, counts) + right(depth - 2, counts);
	}

	static int right(int depth, int[] counts) {
		return depth <= 1 ? counts[depth & 7]-- : steps[depth & 1].take(depth - 1, counts) + left(depth - 2, counts);
	}

	public static void main(String[] arguments) {
		int[] counts = new int[8];
		int sum = 0;

		for (int i = 0; i < 100; i++)
			sum += left(12, counts);
		System.out.println("ready");
		while (sum != 0x7fffffff)
			sum = left(12, counts) & 0xffff;
		System.out.println(sum);
	}
}
