<?php
// interpreted.php SECONDS: functions at known lines that share the CPU time 60 : 30 : 10, whatever calls them.

function sixty($rounds) {
	$value = 1;
	for ($i = 0, $n = 6 * $rounds; $i < $n; $i++) $value = ($value * 1664525 + 1013904223) & 0xFFFFFFF; // line 6
	return $value;
}

function thirty($rounds) {
	$value = 1;
	for ($i = 0, $n = 3 * $rounds; $i < $n; $i++) $value = ($value * 1664525 + 1013904223) & 0xFFFFFFF; // line 12
	return $value;
}

function ten($rounds) {
	$value = 1;
	for ($i = 0, $n = $rounds; $i < $n; $i++) $value = ($value * 1664525 + 1013904223) & 0xFFFFFFF; // line 18
	return $value;
}

function deep($depth, $work, $rounds) {
	return $depth > 0 ? deep($depth - 1, $work, $rounds) : $work($rounds);
}

class Caller {
	static $rounds;

	static function byMap($work) { // the machine's frames of array_map() stand between
		return deep(5, $work, self::$rounds);
	}

	function generates() {
		self::$rounds = mt_rand(100000, 300000); // turns last longer than the sampler's period and differ, so that they do not keep in step with it
		for ($i = 0; $i < 1; $i++)
			yield array_map('Caller::byMap', ['sixty', 'thirty', 'ten']);
	}
}

function cpu_seconds() {
	$usage = getrusage();
	return $usage['ru_utime.tv_sec'] + $usage['ru_utime.tv_usec'] / 1e6;
}

while (cpu_seconds() < (float) $argv[1])
	foreach ((new Caller)->generates() as $each)
		eval('$sum = $each;');
for ($i = 0; $i < 10; $i++)
	foreach (['sixty', 'thirty', 'ten'] as $work)
		deep(600, $work, 1000);
