// generated_churn.js SECONDS: generation after generation of functions that share the CPU time 60 : 30 : 10. Each is called by a function of
// its own generation, compiled, dropped and collected, so that later ones take its place in memory. Needs --expose-gc.
'use strict';

const bodies = { sixty: 6000, thirty: 3000, ten: 1000 };
const until = process.cpuUsage().user + Number(process.argv[2]) * 1e6;
let generation = 0;
let sum = 0;
while (process.cpuUsage().user < until) {
	generation++;
	const called = Object.entries(bodies).map(([name, rounds]) => new Function(`return function js_${generation}_${name}() {
		let value = ${generation};
		for (let i = 0; i < ${rounds}; i++)
			value = (Math.imul(value, 1664525) + 1013904223) | 0;
		return value;
	}`)());
	const call = new Function('called', `return function js_${generation}_call(times) {
		let sum = 0;
		for (let i = 0; i < times; i++)
			sum ^= called[0]() ^ called[1]() ^ called[2]();
		return sum;
	}`)(called);
	for (let i = 0; i < 400; i++)
		sum ^= call(20);
	if (generation % 2 === 0)
		gc();
}
console.log(sum & 1);
