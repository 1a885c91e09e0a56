// generated.js SECONDS [more]: functions whose code is generated, and which share the CPU time 60 : 30 : 10; with "more" it goes on
// making others, that take no time.
'use strict';

// One function each, or the tiers would share what they know of it. A turn of all three takes many periods of the
// sampler: in turns of one period, every sample may be at one place.
const bodies = { sixty: 6000000, thirty: 3000000, ten: 1000000 };
const functions = Object.entries(bodies).map(([name, rounds]) =>
	new Function(`return function js_${name}() {
		let value = 1;
		for (let i = 0; i < ${rounds}; i++)
			value = (Math.imul(value, 1664525) + 1013904223) | 0;
		return value;
	}`)());

const until = process.cpuUsage().user + Number(process.argv[2]) * 1e6;
let sum = 0;
let others = 0;
while (process.cpuUsage().user < until) {
	for (const f of functions)
		sum ^= f();
	for (let i = 0; i < 10 && process.argv[3] === 'more'; i++)
		sum ^= new Function(`return ${others++}`)();
}
console.log(sum & 1);
