// made.js SECONDS: makes functions, calls them, and drops them, so that later ones take their place in memory. Needs --expose-gc.
//
// While a function runs, the thread has its name. Prints how many there were.
'use strict';

const fs = require('fs');
const threadName = fs.openSync('/proc/self/comm', 'w');
const until = process.cpuUsage().user + Number(process.argv[2]) * 1e6;
let made = 0;
while (process.cpuUsage().user < until) {
	const name = ++made % 41;
	const outer = new Function(`
		function made_${name}_inner(rounds) {
			let value = 1;
			for (let i = 0; i < rounds; i++)
				value = (Math.imul(value, 1664525) + 1013904223) | 0;
			return value;
		}
		return function made_${name}_outer(rounds) { return made_${name}_inner(rounds) + 1; }`)();
	fs.writeSync(threadName, `made_${name}`);
	outer([100000, 500000, 2000000, 8000000][made % 4]);
	fs.writeSync(threadName, 'none');
	if (made % 4 === 0)
		gc();
}
console.log(made);
