// Time and heap, profiled by pprof for Node: recursion, closures, an async part, labels, a heap before and after.
//
//	work.js DIRECTORY      writes lines.pb.gz, labels.pb.gz, heap-base.pb.gz and heap.pb.gz there
'use strict';

const fs = require('fs');
const path = require('path');
const pprof = require('@datadog/pprof');

const directory = process.argv[2];
const kept = [];

function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function spin(milliseconds) {
	for (const end = Date.now() + milliseconds; Date.now() < end;) fibonacci(16);
}

function ping(depth, milliseconds) {
	if (depth > 0) pong(depth, milliseconds);
	else spin(milliseconds);
}

function pong(depth, milliseconds) {
	[depth].forEach((value) => ping(value - 1, milliseconds));
}

function keep(count, length) {
	for (let i = 0; i < count; i++) kept.push(new Array(length).fill(i));
}

function write(name, profile) {
	fs.writeFileSync(path.join(directory, name), pprof.encodeSync(profile));
}

async function main() {
	// lines of calls and labels exclude each other
	pprof.time.start({ durationMillis: 60000, intervalMicros: 1000, lineNumbers: true });
	ping(20, 300);
	await Promise.resolve().then(() => spin(50));
	write('lines.pb.gz', pprof.time.stop());
	pprof.time.start({ durationMillis: 60000, intervalMicros: 1000, withContexts: true });
	pprof.time.setContext({ worker: 'a' });
	ping(20, 200);
	pprof.time.setContext({ worker: 'b', requests: 7 });
	ping(3, 100);
	// a sample of the moment before the first has none
	write('labels.pb.gz', pprof.time.stop(false, ({ context }) => context?.context ?? {}));

	pprof.heap.start(8192, 64);
	keep(300, 100);
	write('heap-base.pb.gz', pprof.heap.profile());
	keep(50, 5000);
	write('heap.pb.gz', pprof.heap.profile());
	pprof.heap.stop();
}

main();
