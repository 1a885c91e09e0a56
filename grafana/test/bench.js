/*
 * bench.js
 *		Measures each query of each dashboard over the profiles of a fleet, warm: of all services, of one service, with a
 *		focus. Prints the least time of several runs and marks those over the bound. Also prints the size of the largest
 *		answer, as the JSON that Grafana's server sends to the browser and compressed.
 *
 *	node bench.js DATABASE ROLE HOURS DASHBOARD.json ...
 */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { ask, disconnect, run } from "./datasource.js";
import { fleet_range, opened, SELECTIONS } from "./fleet.js";
import { widened } from "./wide.js";

const [database, role, hours, ...files] = process.argv.slice(2);
const BOUND_MS = 300;
const RUNS = 5;

const times_of_fleet = fleet_range(Number(hours));

const timed = async (sql, situation) => {
	let least = Infinity;
	for (let i = 0; i <= RUNS; i += 1) {
		const begin = performance.now();
		await ask(database, role, sql, situation);
		least = i === 0 ? least : Math.min(least, performance.now() - begin);
	}
	return least;
};

/* The values of an answer by column. The format time_series has one column per metric, which has a value at each time. */
const columns_of = (answer, format) => (format === "time_series" ? widened(answer).map(({ values }) => values) : answer.fields.map((_, i) => answer.rows.map((row) => row[i])));

const weighed = async ({ rawSql, format }, situation) => {
	const text = JSON.stringify(columns_of(await run(database, role, rawSql, situation), format));
	return { bytes: Buffer.byteLength(text), packed: gzipSync(text).length };
};

const panels_of = (dashboard) => dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]).filter(({ targets }) => targets);

console.log(`${"least ms of elapsed time, warm".padEnd(78)}${Object.keys(SELECTIONS).map((name) => name.padStart(9)).join("")}       kB   packed`);
let slowest = 0;
for (const dashboard of files.map((file) => JSON.parse(readFileSync(file, "utf8")))) {
	const at_first = await opened(database, role, dashboard, times_of_fleet);
	for (const panel of panels_of(dashboard)) {
		const times = [];
		let largest = { bytes: 0, packed: 0 };
		for (const chosen of Object.values(SELECTIONS)) {
			const situation = { ...times_of_fleet, variables: { ...at_first, ...chosen } };
			let time = 0;
			for (const target of panel.targets) {
				time += await timed(target.rawSql, situation);
				const answer = await weighed(target, situation);
				largest = answer.bytes > largest.bytes ? answer : largest;
			}
			times.push(time);
		}
		slowest = Math.max(slowest, ...times);
		const sizes = [largest.bytes, largest.packed].map((bytes) => (bytes / 1000).toFixed(1).padStart(9)).join("");
		const mark = times.some((time) => time > BOUND_MS) ? `  over ${BOUND_MS}` : "";
		console.log(`${`${dashboard.title}: ${panel.title}`.padEnd(78)}${times.map((time) => time.toFixed(1).padStart(9)).join("")}${sizes}${mark}`);
	}
}
console.log(`slowest: ${slowest.toFixed(0)} ms (at most ${BOUND_MS})`);
disconnect();
