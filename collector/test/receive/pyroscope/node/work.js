// 60, 30 and 10 % of the time in three functions: work.js ADDRESS NAME SECONDS
const Pyroscope = require('@pyroscope/nodejs');

function spin(milliseconds) {
	const end = process.hrtime.bigint() + BigInt(milliseconds) * 1000000n;
	while (process.hrtime.bigint() < end);
}

function much() { spin(600); }
function some() { spin(300); }
function few() { spin(100); }

const [address, name, seconds] = process.argv.slice(2);
Pyroscope.init({ serverAddress: address, appName: name, tags: { zone: 'eu' }, flushIntervalMs: 10000, wall: { collectCpuTime: true } });
Pyroscope.start();
const end = Date.now() + Number(seconds) * 1000;
function round() {
	much();
	Pyroscope.wrapWithLabels({ job: 'nightly' }, some);
	few();
	if (Date.now() < end)
		setTimeout(round, 0); // sends in between
	else
		Pyroscope.stop().then(() => process.exit(0));
}
round();
