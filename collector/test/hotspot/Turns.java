/*
 * Turns FILE: says that it is ready, and runs methods of one form in turn. The first turn ends when the file exists, each later one after a
 * moment. At its end a method uses a class that its compiled code does not know, so HotSpot drops that code, and later methods take its
 * place. No class is unloaded.
 */
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

public class Turns {
	static class Zero { static int one = 1; }
	static class One { static int one = 1; }
	static class Two { static int one = 1; }
	static class Three { static int one = 1; }
	static class Four { static int one = 1; }

	static int sum;
	static volatile boolean ends;

	static void turn0() {
		while (!ends)
			sum++;
		sum += Zero.one;
	}

	static void turn1() {
		while (!ends)
			sum++;
		sum += One.one;
	}

	static void turn2() {
		while (!ends)
			sum++;
		sum += Two.one;
	}

	static void turn3() {
		while (!ends)
			sum++;
		sum += Three.one;
	}

	static void turn4() {
		while (!ends)
			sum++;
		sum += Four.one;
	}

	static void run(int turn) {
		switch (turn) {
			case 0: turn0(); break;
			case 1: turn1(); break;
			case 2: turn2(); break;
			case 3: turn3(); break;
			default: turn4();
		}
	}

	public static void main(String[] arguments) throws Exception {
		final Path file = Paths.get(arguments[0]);
		Thread clock = new Thread("clock") {
			public void run() {
				try {
					while (!Files.exists(file))
						sleep(10);
					while (true) {
						ends = true;
						sleep(100);
					}
				} catch (InterruptedException e) {
				}
			}
		};

		clock.setDaemon(true);
		clock.start();
		System.out.println("ready");
		for (int turn = 0;; turn++) {
			ends = false;
			run(turn);
			for (int i = 0; i < 4; i++)
				System.gc();
		}
	}
}
