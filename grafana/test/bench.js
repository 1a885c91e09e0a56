/*
 * bench.js
 *		How long each query of each dashboard takes, warm, as somebody sees it who opens them over a fleet's profiles: of
 *		all, of one service, with a focus. The least of some runs; those over the bound are marked. Beside it how large the
 *		largest of its answers is, as the JSON that Grafana's server sends to the browser, and packed.
 *
 *	node bench.js DATABASE ROLE HOURS DASHBOARD.json ...
 */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { ask, disconnect, run } from "./datasource.js";
import { widened } from "./wide.js";

const [database, role, hours, ...files] = process.argv.slice(2);
const BOUND_MS = 300;
const RUNS = 5;

const from = new Date("2026-01-01T00:00:00Z");
const range = { from, to: new Date(from.getTime() + Number(hours) * 3_600_000) };
/* Grafana asks for as many points as the panel is wide. */
const interval = `${Math.max(10, Math.round((Number(hours) * 3600) / 1000))}s`;

/* What a variable holds when the page opens: what is chosen, else the first that its query finds. */
const at_first = async (variable, variables) => {
	if (variable.type !== "query") {
		return variable.current.value;
	}
	const lines = await ask(database, role, variable.query, { variables, range, interval });
	const values = variable.query.includes("__value") ? lines.map((line) => line.split("|").at(-1)) : lines;
	if (variable.current?.value?.[0] === "$__all") {
		return variable.allValue ? { raw: variable.allValue } : (values[0] ?? "");
	}
	return variable.multi ? [] : (values[0] ?? "");
};

const first_variables = async (dashboard) => {
	const variables = {};
	for (const variable of dashboard.templating.list) {
		variables[variable.name] = await at_first(variable, variables);
	}
	return variables;
};

const timed = async (sql, situation) => {
	let least = Infinity;
	for (let i = 0; i <= RUNS; i += 1) {
		const begin = performance.now();
		await ask(database, role, sql, situation);
		least = i === 0 ? least : Math.min(least, performance.now() - begin);
	}
	return least;
};

/* All values of a column together; of the format time_series, each time once and the values of each metric at all times. */
const columns_of = (answer, format) => (format === "time_series" ? widened(answer).map(({ values }) => values) : answer.fields.map((_, i) => answer.rows.map((row) => row[i])));

const weighed = async ({ rawSql, format }, situation) => {
	const text = JSON.stringify(columns_of(await run(database, role, rawSql, situation), format));
	return { bytes: Buffer.byteLength(text), packed: gzipSync(text).length };
};

const SITUATIONS = { all: {}, service: { label: "service", value: ["service4"], matchers: 'service="service4"' }, focus: { focus: "function12" } };
const panels_of = (dashboard) => dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]).filter(({ targets }) => targets);

console.log(`${"least ms of elapsed time, warm".padEnd(78)}${Object.keys(SITUATIONS).map((name) => name.padStart(9)).join("")}       kB   packed`);
let slowest = 0;
for (const dashboard of files.map((file) => JSON.parse(readFileSync(file, "utf8")))) {
	const opened = await first_variables(dashboard);
	for (const panel of panels_of(dashboard)) {
		const times = [];
		let largest = { bytes: 0, packed: 0 };
		for (const chosen of Object.values(SITUATIONS)) {
			const situation = { range, interval, variables: { ...opened, ...chosen } };
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
