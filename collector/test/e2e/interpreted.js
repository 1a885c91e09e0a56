// interpreted.js SECONDS: functions at known lines that share the CPU time 60 : 30 : 10, whatever calls them.
'use strict';

function step(value) { return (Math.imul(value, 1664525) + 1013904223) | 0; } // is inlined

function sixty(rounds) {
	let value = 1;
	for (let i = 0; i < 60 * rounds; i++) value = step(value); // line 8
	return value;
}

function thirty(rounds) {
	let value = 1;
	for (let i = 0; i < 30 * rounds; i++) value = step(value); // line 14
	return value;
}

function ten(rounds) {
	let value = 1;
	for (let i = 0; i < 10 * rounds; i++) value = step(value); // line 20
	return value;
}

function deep(depth, work, rounds) { return depth > 0 ? deep(depth - 1, work, rounds) : work(rounds); }

// V8's own code stands between. Turns of all three differ in length: equal ones may keep in step with the sampler.
class Caller {
	static byMap(depth) {
		const rounds = 500 + Math.floor(1000 * Math.random());
		return [sixty, thirty, ten].map((each) => deep(depth, each, rounds)).length;
	}
	static *generates() { yield Caller.byMap(5); }
}

async function waitsAndCalls() {
	await null;
	return [...Caller.generates()].length;
}

async function main() {
	const until = process.cpuUsage().user + Number(process.argv[2]) * 1e6;
	while (process.cpuUsage().user < until) {
		for (let i = 0; i < 10; i++) await waitsAndCalls();
	}
	for (let i = 0; i < 10; i++) Caller.byMap(600);
}
main();
