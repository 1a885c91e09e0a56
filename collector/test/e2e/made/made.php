<?php
// made.php SECONDS: makes functions, calls them, and drops them, so that later ones take their place in memory.
//
// While a function runs, the thread has its name. A function that PHP can drop has no name of its own, so its line stands for the name:
// the outer function of number N is at line 10 * N + 1, the inner one at line 10 * N + 5. Prints how many there were.
$comm = fopen('/proc/self/comm', 'w');
stream_set_write_buffer($comm, 0);
$made = 0;
while (getrusage()['ru_utime.tv_sec'] + getrusage()['ru_utime.tv_usec'] / 1e6 < $argv[1]) {
	$name = ++$made % 41;
	$outer = eval(str_repeat("\n", 10 * $name) . 'return function ($rounds, $inner) { return $inner($rounds); };');
	$inner = eval(str_repeat("\n", 10 * $name + 4) .
		'return function ($rounds) { for ($value = 1, $i = 0; $i < $rounds; $i++) $value = ($value * 1664525 + 1013904223) & 0xFFFFFFF; return $value; };');
	fwrite($comm, "made_$name");
	$outer([20000, 100000, 400000, 1600000][$made % 4], $inner);
	fwrite($comm, 'none');
	unset($outer, $inner);
}
echo "$made\n";
