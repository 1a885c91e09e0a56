<?php
// generated.php SECONDS: functions that share the CPU time 60 : 30 : 10, each with a loop of its own: what PHP calls has no frame on the
// processor's stack.

function sixty(int $value): int {
	for ($i = 0; $i < 1200000; $i++)
		$value = ($value * 1664525 + 1013904223) & 0xFFFFFFF;
	return $value;
}

function thirty(int $value): int {
	for ($i = 0; $i < 600000; $i++)
		$value = ($value * 1664525 + 1013904223) & 0xFFFFFFF;
	return $value;
}

function ten(int $value): int {
	for ($i = 0; $i < 200000; $i++)
		$value = ($value * 1664525 + 1013904223) & 0xFFFFFFF;
	return $value;
}

function cpu_seconds(): float {
	$usage = getrusage();
	return $usage['ru_utime.tv_sec'] + $usage['ru_utime.tv_usec'] / 1e6;
}

$sum = 0;
// A turn of all three takes many periods of the sampler: in turns of one period, every sample may be at one place.
while (cpu_seconds() < (float) $argv[1])
	$sum ^= sixty(1) ^ thirty(1) ^ ten(1);
echo $sum & 1, "\n";
