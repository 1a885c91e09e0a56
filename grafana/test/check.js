/*
 * check.js
 *		Runs every query of every dashboard and alert rule as Grafana does, and compares the results with the needs of the panels
 *		(contract.js) and with known values.
 *
 *	COLLECTORS=FOLDER REPOSITORY=FOLDER node check.js DATABASE ROLE ALERTING.json DASHBOARD.json ...		of profstore-collector; of the sources
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as contract from "./contract.js";
import { disconnect, run } from "./datasource.js";
import { NASTY, SITUATIONS, WAITS } from "./situations.js";
import { check_rule, check_structure } from "./structure.js";

const [database, role, alerting, ...dashboards] = process.argv.slice(2);
const COLLECTORS = process.env.COLLECTORS; // the folder of profstore-collector
const REPOSITORY = process.env.REPOSITORY; // of the sources

let count = 0;
let failed = 0;
const test = async (name, check) => {
	let problems;
	try {
		problems = await check();
	} catch (error) {
		problems = [String(error)];
	}
	count += 1;
	failed += problems.length > 0 ? 1 : 0;
	console.log(`${problems.length > 0 ? "not ok" : "ok"} ${count} - ${name}`);
	problems.slice(0, 10).forEach((problem) => console.log(`# ${problem.replaceAll("\n", "\n# ")}`));
};

const CHECKS = {
	flamegraph: contract.check_flame_graph,
	timeseries: contract.check_time_series,
	heatmap: contract.check_time_series,
	table: contract.check_table,
	stat: contract.check_stat,
};
const IN_TIME = new Set(["timeseries", "heatmap"]);

/* The root's value shows that the query used variables and range. Trees of one function, and of a fixed type, have another root. */
const check_root = (frame, sql, { root: whole, traced = whole, queried = 0 }) => {
	const expected = sql.includes("query_id =>") ? queried : sql.includes("trace =>") ? traced : whole;
	const [root] = contract.records(frame);
	const value = root.valueRight ?? root.value;
	return value === expected || !sql.includes("ARRAY[$value]") || !sql.includes("$type") || sql.includes("sandwich") ? [] : [`the root is ${value}, not ${expected}`];
};

const check_words = (frame, sql, { words: of_selection, trace_words }) => {
	const said = frame.rows[0][0];
	const words = sql.includes("trace_samples") ? (trace_words ?? of_selection) : of_selection;
	return !words || !sql.includes("ARRAY[$value]") || words.test(said) ? [] : [`it says "${said}"`];
};

const check_target = async (panel, target, situation) => {
	const frame = await run(database, role, target.rawSql, situation);
	if (target.refId === "unit") {
		return contract.check_unit(frame);
	}
	const problems = CHECKS[panel.type](frame, target.rawSql.includes("side = 'callers'"));
	if (target.format !== (IN_TIME.has(panel.type) ? "time_series" : "table")) {
		problems.push(`format is ${target.format}`);
	}
	if (frame.rows.length === 0) {
		problems.push("there is no row: the panel would not say why");
	}
	if (problems.length === 0 && panel.type === "flamegraph") {
		return check_root(frame, target.rawSql, situation);
	}
	return problems.length === 0 && panel.title === "Selection" ? check_words(frame, target.rawSql, situation) : problems;
};

const check_graph = async (panel, situation) => {
	const [nodes, edges] = panel.targets;
	const problems = contract.check_node_graph(
		await run(database, role, nodes.rawSql, situation),
		await run(database, role, edges.rawSql, situation),
	);
	return panel.targets.length === 2 ? problems : [...problems, "it needs two queries, of nodes and of edges"];
};

/* Returns all panels, also those of collapsed rows. */
const panels_of = (dashboard) => dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);

const all = dashboards.map((file) => JSON.parse(readFileSync(file, "utf8")));
for (const dashboard of all) {
	await test(`${dashboard.title}: structure`, () => check_structure(dashboard, "profstore", all));
	for (const situation of SITUATIONS) {
		for (const annotation of dashboard.annotations.list) {
			await test(`${dashboard.title}, ${situation.name}: annotations ${annotation.name}`, async () =>
				contract.check_annotations(await run(database, role, annotation.target.rawSql, situation)),
			);
		}
		for (const variable of dashboard.templating.list.filter((each) => each.type === "query")) {
			await test(`${dashboard.title}, ${situation.name}: variable ${variable.name}`, async () =>
				contract.check_variable(await run(database, role, variable.query, situation)),
			);
		}
		for (const panel of panels_of(dashboard).filter((each) => each.targets)) {
			if (panel.type === "nodeGraph") {
				await test(`${dashboard.title}, ${situation.name}: "${panel.title}"`, () => check_graph(panel, situation));
				continue;
			}
			for (const target of panel.targets) {
				await test(`${dashboard.title}, ${situation.name}: "${panel.title}" ${target.refId}`, () =>
					check_target(panel, target, situation),
				);
			}
		}
	}
}
const rules = JSON.parse(readFileSync(alerting, "utf8")).groups.flatMap((group) => group.rules);
for (const rule of rules) {
	await test(`rule ${rule.uid}: structure`, () => check_rule(rule, all));
	for (const situation of SITUATIONS) {
		await test(`rule ${rule.uid}, ${situation.name}`, async () => contract.check_alerts(await run(database, role, rule.data[0].model.rawSql, situation)));
	}
}
/* Rules also have to fire: profiles.sql contains data for that. */
const NOW = { from: new Date("2026-02-02T10:00:00Z"), to: new Date("2026-02-02T11:00:00Z") };
const alerts = async (uid, range = NOW) => {
	const rule = rules.find((each) => each.uid === `profstore-${uid}`);
	const bound = rule.data[1].model.conditions[0].evaluator.params[0];
	return contract.records(await run(database, role, rule.data[0].model.rawSql, { range, variables: {} })).filter((row) => row.value > bound);
};
const finds = (uid, expected, range, words = "fires for the data that it describes") =>
	test(`rule ${uid} ${words}`, async () => {
		const found = (await alerts(uid, range))
			.map(({ value, ...labels }) => Object.values(labels).join(" "))
			.sort();
		return JSON.stringify(found) === JSON.stringify(expected) ? [] : [`it found ${JSON.stringify(found)}`];
	});
await finds("function-share", ["service api busy", "service quiet rest"]);
await finds("service-up", ["service api"]);
await finds("silent", ["gone profstore_grafana_writer", "job http://host:1 profstore_grafana_writer"]);
await finds("lost", ["a"]);
await finds(
	"health",
	["postgres", "profstore_grafana_writer"].map(
		(writer) => `clock skewed ${writer} SELECT name, clock, reported FROM profstore.collectors WHERE name = 'skewed' AND role = '${writer}'`,
	),
);
const after_deploy = (minutes) => ({ from: new Date("2026-03-02T04:00:00Z"), to: new Date(Date.UTC(2026, 2, 2, 4, minutes)) });
await finds("regression", ["render shop-2 shop service shop"], after_deploy(65));
await finds("regression", [], after_deploy(64), "waits for an hour");
await finds("regression", [], { ...after_deploy(24 * 60 + 1) }, "ends after a day");

/* The rules for Prometheus use metrics that the collectors export, and counters only by their increase. */
const figures_of = (directory) =>
	readdirSync(join(REPOSITORY, "collector", directory))
		.filter((file) => file.endsWith(".c") || file.endsWith(".h"))
		.flatMap((file) => {
			const text = readFileSync(join(REPOSITORY, "collector", directory, file), "utf8");
			const added = [...text.matchAll(/figures_add_(counter|gauge)\(\s*[^,"]+,\s*"(\w+)"/g)].map(([, type, name]) => [name, type]);
			const by_reason = [...text.matchAll(/add_losses_of\(\s*figures,\s*losses,\s*\w+,\s*"(\w+)"/g)].map(([, name]) => [name, "counter"]);
			const listed = [...text.matchAll(/X\((\w+_total), "/g)].map(([, name]) => [name, "counter"]);
			return [...added, ...by_reason, ...listed];
		});
const COMMON = [...figures_of("metrics"), ...figures_of("program")];
const FIGURES = {
	agent: new Map([...COMMON, ...figures_of("agent")]),
	scrape: new Map([...COMMON, ...figures_of("scrape")]),
	receive: new Map([...COMMON, ...figures_of("receive"), ...figures_of("http_server")]),
};
const prometheus = JSON.parse(readFileSync(join(REPOSITORY, "grafana/prometheus/rules.yaml"), "utf8")).groups.flatMap((group) => group.rules);
await test("the rules for Prometheus have names of their own", () => {
	const names = prometheus.map(({ alert }) => alert);
	return names.length > 10 && new Set(names).size === names.length ? [] : [names.join()];
});
for (const { alert, expr, annotations, labels, for: wait } of prometheus) {
	await test(`${alert} uses metrics that collectors export`, () => {
		const used = [...expr.matchAll(/(\w+\()?profstore_([a-z]+)_(\w+)/g)];
		const wrong = used.filter(([, by, program, name]) => {
			const type = FIGURES[program]?.get(name);
			return type === undefined || (type === "counter") !== (by === "rate(" || by === "increase(");
		});
		const complete = annotations.summary && annotations.description && ["warning", "critical"].includes(labels.severity) && /^\d+m$/.test(wait);
		const balanced = [...expr].reduce((depth, sign) => depth + (sign === "(") - (sign === ")"), 0) === 0;
		return used.length > 0 && wrong.length === 0 && complete && balanced ? [] : [expr, ...wrong.map(([each]) => each)];
	});
}
const query_of = (dashboard, panel) => panels_of(all.find(({ uid }) => uid === `profstore-${dashboard}`)).find(({ title }) => title === panel).targets[0].rawSql;
const answer_of = async (dashboard, panel, situation, changes = {}) =>
	contract.records(await run(database, role, query_of(dashboard, panel), { ...situation, variables: { ...situation.variables, ...changes } }));
const [ALL] = SITUATIONS;

for (const [dashboard, panel] of [["overview", "Every $label"], ["labels", "By $split"]]) {
	await test(`${panel} has means over the whole range`, async () => {
		const means = (await answer_of(dashboard, panel, ALL)).map(({ mean }) => mean);
		const sum = means.reduce((a, b) => a + b, 0) * (ALL.range.to - ALL.range.from) * 1e6;
		return means.length === 3 && Math.abs(sum - ALL.root) < 1 ? [] : [`${means.join(" + ")} are ${sum}, not ${ALL.root}`];
	});
}
const value_of = (value) => (value === "$__all" ? { raw: "NULL" } : [value]);
/* Returns the values of the variables that an address sets. */
const variables_of = (url, variables) => {
	const expanded = url.replace(/\$\{(\w+):(queryparam|percentencode)\}/g, (_, name, how) => {
		const value = [variables[name]].flat()[0];
		const text = encodeURIComponent(value.raw === "NULL" ? "$__all" : value);
		return how === "queryparam" ? `var-${name}=${text}` : text;
	});
	const set = [...new URLSearchParams(expanded.slice(expanded.indexOf("?")))].filter(([name]) => name.startsWith("var-"));
	return Object.fromEntries(set.map(([name, value]) => [name.slice("var-".length), ["var-value", "var-only"].includes(name) ? value_of(value) : value]));
};
await test("a graph of Overview leads to the profile, and to a comparison, of its value", async () => {
	const graph = panels_of(all.find(({ uid }) => uid === "profstore-overview")).find(({ title }) => title === "$each");
	const [profile, comparison] = graph.fieldConfig.defaults.links.map(({ url }) => variables_of(url, { ...ALL.variables, each: NASTY }));
	const [{ value: root }] = await answer_of("profiles", "Flame graph", ALL, profile);
	const [{ valueRight: compared }] = await answer_of("compare", "Difference", ALL, comparison);
	return root === 5_060_000_000 && compared === root ? [] : [`they show ${root} and ${compared}`];
});
for (const [dashboard, panel] of [["overview", "Every $label"], ["labels", "By $split"]]) {
	await test(`a click on any value of ${panel} opens a profile with the mean of its row`, async () => {
		const column = panels_of(all.find(({ uid }) => uid === `profstore-${dashboard}`)).find(({ title }) => title === panel).fieldConfig.overrides;
		const { url } = column.flatMap(({ properties }) => properties.find(({ id }) => id === "links")?.value ?? []).find(({ title }) => title === "Its profile");
		const problems = [];
		for (const row of await answer_of(dashboard, panel, ALL)) {
			const of_row = url.replace(/\$\{__data\.fields\.(\w+):percentencode\}/g, (_, field) => encodeURIComponent(row[field]));
			const [{ value: root }] = await answer_of("profiles", "Flame graph", ALL, variables_of(of_row, ALL.variables));
			const expected = row.mean * (ALL.range.to - ALL.range.from) * 1e6;
			problems.push(...(Math.abs(root - expected) < 1 ? [] : [`${row.value}: the root is ${root}, not ${expected}`]));
		}
		return problems;
	});
}
await test("a graph has the ten largest lines, and one of all others", async () => {
	const rows = await answer_of("overview", "By $label", ALL, { type: "lines:n:count:n:count:delta" });
	const names = [...new Set(rows.map(({ metric }) => metric))].sort().join(" ");
	const [first, ...others] = rows.filter(({ metric }) => metric === "others").map(({ value }) => value);
	return names === "l03 l04 l05 l06 l07 l08 l09 l10 l11 l12 others" && Math.abs(first * 30 - 3) < 1e-9 && others.length === 1 ? [] : [`${names}; ${first} ${others}`];
});
await test("a pause ends the lines of a graph", async () => {
	const rows = await answer_of("labels", "All that is selected", ALL, { type: "wallclock:wall:nanoseconds:wall:nanoseconds:delta" });
	const ends = rows.filter(({ value }) => value === null).map(({ time }) => new Date(time).toISOString());
	return JSON.stringify(ends) === '["2026-01-01T10:05:05.000Z"]' ? [] : [`they end at ${ends}`];
});
for (const [begin, same] of [["2026-01-01 09:00Z", true], [String(Date.UTC(2026, 0, 1, 9)), true], ["noon-ish", false]]) {
	await test(`Compare ${same ? "accepts" : "refuses"} ${begin} as the begin of the baseline`, async () => {
		const [{ status: said }] = await answer_of("compare", "Baseline", ALL, { begin });
		const [{ value: base, valueRight: value }] = await answer_of("compare", "Difference", ALL, { begin });
		const expected = same ? ["13 series", 9_010_000_000, ALL.root] : ['no time is "noon-ish"; type one such as 2026-11-01 12:00', 0, 0];
		const found = [said, base, value];
		return JSON.stringify(found) === JSON.stringify(expected) ? [] : [`it shows ${JSON.stringify(found)}`];
	});
}
await test("the largest change comes first, as a share of the total", async () => {
	const changes = (await answer_of("profiles", "What changed", ALL)).map((row) => row["self, change"]);
	const size = changes.map((change) => Math.round(Math.abs(change) * 1e4));
	return size[0] === 4105 && size.every((each, i) => i === 0 || size[i - 1] >= each) && changes.some((change) => change < 0) ? [] : [changes.join()];
});
for (const [dashboard, panel] of [["profiles", "Flame graph"], ["profiles", "Difference"], ["compare", "Difference"]]) {
	await test(`truncated frames of ${panel} of ${dashboard} have no self value, so that they do not lead a table`, async () => {
		const frame = await run(database, role, query_of(dashboard, panel).replace("max_nodes => 16384", "max_nodes => 4"), ALL);
		const left_out = contract.records(frame).filter(({ label }) => label === contract.LEFT_OUT);
		const own = left_out.filter(({ self, selfRight = 0 }) => self !== 0 || selfRight !== 0);
		const both = ({ value, valueRight = 0 }) => value + valueRight;
		const [root] = contract.records(frame);
		const share = Math.round((100 * left_out.reduce((sum, row) => sum + both(row), 0)) / both(root));
		return [
			...contract.check_flame_graph(frame),
			...(left_out.length === 0 || own.length > 0 ? [JSON.stringify(left_out)] : []),
			...(root.label.endsWith(` (${share} % of it lies in frames too small to be drawn)`) ? [] : [`the root is called ${root.label}, of ${share} %`]),
		];
	});
}
for (const [dashboard, base] of [["profiles", "the range before"], ["compare", "the baseline"]]) {
	await test(`Difference of ${dashboard} has only a root if there are no samples before`, async () => {
		const range = { from: new Date("2026-02-01T10:00:00Z"), to: new Date("2026-02-01T11:00:00Z") };
		const frame = await run(database, role, query_of(dashboard, "Difference"), { ...ALL, range });
		const rows = contract.records(frame);
		const expected = { level: 0, label: `nothing in ${base}: no difference to show`, value: 0, self: 0, valueRight: 4e12, selfRight: 4e12 };
		return JSON.stringify(rows) === JSON.stringify([expected]) ? contract.check_flame_graph(frame) : [JSON.stringify(rows)];
	});
}
await test("Queries lists queries with their texts, and what is outside of them", async () => {
	const of = async (changes) => (await answer_of("queries", "Most expensive queries", ALL, changes)).map((row) => Object.values(row).map((value) => value ?? "").join("|"));
	const found = [...(await of({})), ...(await of({ type: WAITS, statements: '"texts; of shop"' })), ...(await of({ matchers: 'node="c"' })), ...(await of({ type: "memory:inuse_space:bytes:space:bytes" }))];
	const server = "7000000000000000001";
	const expected = [
		`outside of queries||||8180000000|${8.18 / 12.18}|||`,
		`text unknown|42|||2500000000|${2.5 / 12.18}|||${server}`,
		`text unknown|-7|||1500000000|${1.5 / 12.18}|||${server}`,
		`outside of queries||||22000000000|${22 / 26}|||`,
		`SELECT $1|42|shop|shop|4000000000|${4 / 26}|8|2.5|${server}`,
		"outside of queries||||70000000|1|||",
		"no samples: see Selection||||||||",
	];
	return JSON.stringify(found) === JSON.stringify(expected) ? [] : [JSON.stringify(found)];
});
await test("Queries says which query its flame graph shows, or that samples have none", async () => {
	const of = async (changes) => (await answer_of("queries", "Selection", ALL, changes))[0].status;
	const found = [await of({}), await of({ query: "-7" }), await of({ matchers: 'node="c"' })];
	const expected = ["13 series; below: query 42", "13 series; below: query -7", "1 series; no sample has a query id: set profstore.query_labels in the server"];
	return JSON.stringify(found) === JSON.stringify(expected) ? [] : [JSON.stringify(found)];
});
const of_gpu = async (panel, situation, changes = {}) => (await answer_of("gpu", panel, situation, changes)).map((row) => Object.values(row).map((value) => value ?? "").join("|"));
await test("GPU lists kernels by their time, also those that Parca's agents have measured", async () => {
	const found = [...(await of_gpu("Kernels", ALL)), ...(await of_gpu("Kernels", ALL, { focus: "cuLaunchKernel" })), ...(await of_gpu("Kernels", ALL, { only: ['node="b"'] }))];
	const gemm = "void gemm<float, 4>(float*)";
	const [focus] = (await answer_of("gpu", "Kernels", ALL)).filter(({ kernel }) => kernel === gemm).map((row) => row.focus);
	const type = "gpu:kernel_time:nanoseconds:gpu:nanoseconds:delta";
	const of_parca = "gemm|5000000000|1|Parca|^gemm$|parca_agent:gpu_kernel_time:nanoseconds:gpu_kernel_time:nanoseconds:delta";
	const expected = [
		of_parca,
		`${gemm}|3000000000|0.75|profstore|${focus}|${type}`,
		`relu|1000000000|0.25|profstore|^relu$|${type}`,
		`${gemm}|3000000000|1|profstore|${focus}|${type}`,
		of_parca,
	];
	const [{ value: kept }] = await answer_of("gpu", "GPU", ALL, { type, focus });
	return JSON.stringify(found) === JSON.stringify(expected) && kept === 3_000_000_000 ? [] : [JSON.stringify(found), `a click keeps ${kept}`];
});
await test("GPU adds up the bytes and the time of each kind of copy", async () => {
	const found = await of_gpu("Copies by kind", ALL);
	const lines = await Promise.all(["Copy time", "Bytes copied"].map(async (panel) => [...new Set((await answer_of("gpu", panel, ALL)).map(({ metric }) => metric))].join()));
	const expected = ["host to device|60000000000|3|20000000000", "memory set|500000000000|0.5|1000000000000"];
	return JSON.stringify(found) === JSON.stringify(expected) && lines.join(";") === "htod,set;htod,set" ? [] : [JSON.stringify(found), lines.join(";")];
});
await test("GPU begins with kernels, and lists what Parca's agents send", async () => {
	const { query } = all.find(({ uid }) => uid === "profstore-gpu").templating.list.find(({ name }) => name === "type");
	const names = contract.records(await run(database, role, query, ALL)).map(({ __value }) => __value.split(":").slice(0, 2).join(":"));
	const expected = "gpu:kernel_time parca_agent:gpu_kernel_time gpu:launches gpu:active gpu:copy gpu:copy_time gpu:energy parca_agent:gpu_pcsample gpu:memory";
	return names.join(" ") === expected ? [] : [names.join(" ")];
});
await test("panels of GPU name the flag of the agent if nothing is stored", async () => {
	const empty = SITUATIONS.find(({ name }) => name === "empty range");
	const found = await Promise.all(
		["Busy", "Power", "Memory", "Kernels", "Copy time", "Bytes copied", "Copies by kind"].map(async (panel) => {
			const rows = await answer_of("gpu", panel, empty);
			return rows.length === 1 ? (rows[0].metric ?? rows[0].kernel ?? rows[0].copies) : `${rows.length} rows`;
		}),
	);
	const said = (flag) => `nothing stored: start agents with --${flag}`;
	const expected = [...Array(3).fill(said("gpu")), ...Array(4).fill(said("probe gpu-kernels"))];
	return JSON.stringify(found) === JSON.stringify(expected) ? [] : [JSON.stringify(found)];
});
await test("rates of GPUs have units of their own", async () => {
	const { rawSql } = panels_of(all.find(({ uid }) => uid === "profstore-profiles")).find(({ type }) => type === "timeseries").targets.find(({ refId }) => refId === "unit");
	const types = ["gpu:active:nanoseconds:gpu:nanoseconds:delta", "gpu:kernel_time:nanoseconds:gpu:nanoseconds:delta", "gpu:copy_time:nanoseconds:copy:nanoseconds:delta",
		"gpu:copy:bytes:copy:bytes:delta", "gpu:energy:millijoules:energy:millijoules:delta", "gpu:memory:bytes:space:bytes", WAITS];
	const found = await Promise.all(types.map(async (type) => (await run(database, role, rawSql, { ...ALL, variables: { ...ALL.variables, type } })).rows.flat().join()));
	return found.join(" ") === "suffix:GPUs suffix:kernels suffix:copies Bps mwatt bytes suffix:threads" ? [] : [found.join(" ")];
});
await test("deploys of values that are not selected are left out", async () => {
	const { target } = all.find(({ uid }) => uid === "profstore-profiles").annotations.list[0];
	const of = async (value) => contract.records(await run(database, role, target.rawSql, { ...ALL, variables: { ...ALL.variables, value } })).map(({ text }) => text);
	const found = [await of({ raw: "NULL" }), await of(["web"]), await of([NASTY])];
	return JSON.stringify(found) === JSON.stringify([['web 1.1 "quoted"', "7"], ['web 1.1 "quoted"', "7"], ["7"]]) ? [] : [JSON.stringify(found)];
});
await test("consecutive minutes of losses are one annotation", async () => {
	const { target } = all.find(({ uid }) => uid === "profstore-profiles").annotations.list[1];
	const found = contract.records(await run(database, role, target.rawSql, ALL)).map(({ time, timeend, text }) => [new Date(time).toISOString(), (timeend - time) / 60_000, text].join());
	return found.join("; ") === "2026-01-01T10:30:00.000Z,2,a lost 30 samples; 2026-01-01T10:40:00.000Z,1,a lost 10 samples" ? [] : found;
});
await test("a label of most series comes first", async () => {
	const { query } = all.find(({ uid }) => uid === "profstore-overview").templating.list.find(({ name }) => name === "label");
	const range = { from: new Date("2026-02-02T10:00:00Z"), to: new Date("2026-02-02T11:00:00Z") };
	const names = async (situation) => (await run(database, role, query, situation)).rows.flat();
	const found = [await names(ALL), await names({ ...ALL, range })];
	return JSON.stringify(found) === '[["comm","node"],["service","node"]]' ? [] : [JSON.stringify(found)];
});
await test("Start here names missing data", async () => {
	const empty = SITUATIONS.find(({ name }) => name === "empty range");
	const sql = query_of("start", "What to look at").replace("FROM profstore.deploys", "FROM (SELECT * FROM profstore.deploys LIMIT 0) AS d");
	const answers = contract.records(await run(database, role, sql, empty)).map(({ answer }) => answer);
	const expected = ["no CPU time in this range", "no CPU time in this range", "any two times or versions can be compared; deploys can be recorded"];
	return JSON.stringify(answers.slice(0, 3)) === JSON.stringify(expected) ? [] : answers;
});
for (const granularity of ["function", "line", "file", "mapping", "mapping_function", "address"]) {
	await test(`a click on a frame keeps only its stacks, and opens its function, by ${granularity}`, async () => {
		const chosen = { type: "places:n:count:n:count:delta", granularity };
		const rows = await answer_of("profiles", "Hottest functions", ALL, chosen);
		const problems = rows.length < 2 ? ["there are hardly any rows"] : [];
		for (const row of rows) {
			const [{ value: kept }] = await answer_of("profiles", "Flame graph", ALL, { ...chosen, focus: row.focus });
			const [{ label, value }] = await answer_of("function", "Callers", ALL, { ...chosen, function: row.named ?? "", focus: row.within });
			problems.push(...(kept === row.total ? [] : [`${row.function}: ${row.focus} keeps ${kept}, not ${row.total}`]));
			problems.push(...(value > 0 && [null, label].includes(row.named) ? [] : [`${row.function}: the function is ${label} of ${value}, not ${row.named}`]));
		}
		return problems;
	});
}
await test("Function names the hottest function if none is chosen, and says if no stack has the chosen one", async () => {
	const of = async (name) => (await answer_of("function", "Selection", ALL, { function: name }))[0].status;
	const found = [await of(""), await of("parse"), await of("pars")];
	const expected = ["13 series; the hottest function: std::vector<int>::push_back(int&&)", "13 series", "No stack has this function. Type its whole name, as tables show it."];
	return JSON.stringify(found) === JSON.stringify(expected) ? [] : [JSON.stringify(found)];
});
await test("Its source has the text around the function's lines, with the cost of each, or says that none is stored", async () => {
	const of = async (name) => (await answer_of("function", "Its source", ALL, { type: "places:n:count:n:count:delta", function: name })).map(({ line, text, total }) => `${line?.trim()} ${text} ${total}`);
	const found = await of("serve");
	const problems = found.length === 7 && found[0] === '1 #include "web.h" 0' && found[5] !== "6 \treturn a; 0" && found[5].startsWith("6 \treturn a; ") ? [] : [JSON.stringify(found)];
	const other = await of("parse");
	return other.join() === "no text is stored for it null null" ? problems : [...problems, JSON.stringify(other)];
});
await test("Its source counts the lines of one program's file if the path is relative", async () => {
	const found = (await answer_of("function", "Its source", ALL, { type: "paths:n:count:n:count:delta", function: "only" })).map(({ line, text, total }) => `${line.trim()} ${text} ${total}`);
	return found.join() === "1 of web 100" ? [] : [JSON.stringify(found)];
});
await test("a page without labels names the samples that are stored, and has no error", async () => {
	const empty = SITUATIONS.find(({ name }) => name === "empty range");
	const [{ status }] = await answer_of("profiles", "Selection", empty, { label: "", value: [""] });
	return status.startsWith("No samples in this range; the first") ? [] : [status];
});
const DEPLOYED = { ...ALL, range: after_deploy(90), variables: { ...ALL.variables, label: "service", value: ["shop"], hide: "" } };
await test("Deploys shows what a deploy changed, largest loss first, and what that rests on", async () => {
	const rows = (await answer_of("deploys", "What the deploy changed", DEPLOYED)).map(({ function: name, status, note }) => [name, status, note].join(" ").trim());
	const [basis] = await answer_of("deploys", "What the answer rests on", DEPLOYED);
	const found = [rows.join(), basis.version, basis.hosts, basis.reason, basis.detectable > 0.005 && basis.detectable < 0.05];
	const expected = ["walk moved,render regression explains serve,fresh new,find renamed was look_up,encode improvement,obsolete gone,scan moved", "shop-2", 6, null, true];
	return JSON.stringify(found) === JSON.stringify(expected) ? [] : [JSON.stringify(found)];
});
await test("a click on a changed function compares before and after, in which the function's stacks are", async () => {
	const overrides = panels_of(all.find(({ uid }) => uid === "profstore-deploys")).find(({ title }) => title === "What the deploy changed").fieldConfig.overrides;
	const { url } = overrides.find(({ matcher }) => matcher.options === "function").properties.find(({ id }) => id === "links").value[0];
	const row = (await answer_of("deploys", "What the deploy changed", DEPLOYED)).find(({ function: name }) => name === "render");
	const of_row = url.replace(/\$\{__data\.fields\.(\w+)(:percentencode)?\}/g, (_, field) => encodeURIComponent(row[field]));
	const [, from, to] = of_row.match(/from=(\d+)&to=(\d+)/);
	const variables = variables_of(of_row, DEPLOYED.variables);
	const range = { from: new Date(Number(from)), to: new Date(Number(to)) };
	const [{ value, valueRight }] = await answer_of("compare", "Difference", { ...DEPLOYED, range }, variables);
	return value > 0 && Math.abs(valueRight / value - 1.1) < 0.1 ? [] : [`${value} and ${valueRight}`];
});
await test("Deploys says if no deploy fits", async () => {
	const none = { type: "no:such:type:at:all" };
	const [{ function: words }] = await answer_of("deploys", "What the deploy changed", DEPLOYED, none);
	const [{ version }] = await answer_of("deploys", "What the answer rests on", DEPLOYED, none);
	return words.startsWith("no change was found") && version.startsWith("no deploy fits") ? [] : [words, version];
});
await test("Storage shows the bytes of all tables", async () => {
	const sum = (await answer_of("agents", "Storage", ALL)).reduce((bytes, row) => bytes + row.bytes, 0);
	const tables = "SELECT pg_catalog.sum(pg_catalog.pg_total_relation_size(pg_catalog.format('%I.%I', schemaname, tablename)))::int8 AS bytes FROM pg_catalog.pg_tables WHERE schemaname = 'profstore'";
	const [[expected]] = (await run(database, role, tables, ALL)).rows;
	return sum === expected ? [] : [`${sum} of ${expected} bytes`];
});
await test("Symbols shows a share of 0 for a mapping without names", async () => {
	const range = { from: new Date("2026-02-02T12:00:00Z"), to: new Date("2026-02-02T13:00:00Z") };
	const rows = await answer_of("agents", "Symbols", { ...ALL, range });
	return JSON.stringify(rows) === '[{"mapping":"/usr/lib/libx.so","total":1001,"named":0}]' ? [] : [JSON.stringify(rows)];
});
await test("Symbols to find has the build of code without names, with the state of the search", async () => {
	const range = { from: new Date("2026-02-02T12:00:00Z"), to: new Date("2026-02-02T13:00:00Z") };
	const rows = (await answer_of("agents", "Symbols to find", { ...ALL, range })).map((row) => ({ ...row, "next try": typeof row["next try"] }));
	const [row] = rows;
	const shown = [row.file, row["build ID"], row["without names"], row.state, row.open, row.source, row.error, row["next try"] === "undefined"];
	return rows.length === 1 && JSON.stringify(shown) === '["/usr/lib/libx.so","bb",1001,"missing",3,null,"no debug information found",false]' ? [] : [JSON.stringify(rows)];
});
await test("points of Compare's baseline, which is drawn at the times of the comparison, have no links with their time", async () => {
	const { fieldConfig } = panels_of(all.find(({ uid }) => uid === "profstore-compare")).find(({ title }) => title === "Both over time");
	const of = (name) => fieldConfig.overrides.find(({ matcher }) => matcher.options === name)?.properties.find(({ id }) => id === "links")?.value ?? fieldConfig.defaults.links;
	const timed = (name) => of(name).filter(({ url }) => url.includes("${__value.time}")).length;
	return timed("Comparison") === 2 && timed("Baseline") === 0 ? [] : [`${timed("Comparison")} and ${timed("Baseline")} links`];
});
await test("a graph of zeros does not say that there are no samples", async () => {
	const names = (await answer_of("profiles", "Rate", ALL, { type: "zeros:n:count:n:count:delta" })).map(({ metric }) => metric);
	return names.join() === "nothing to draw: see Selection" ? [] : names;
});
await test("a graph of waits counts threads", async () => {
	const rate = panels_of(all.find(({ uid }) => uid === "profstore-profiles")).find(({ title }) => title === "Rate");
	const { rawSql } = rate.targets.find(({ refId }) => refId === "unit");
	const units = [];
	for (const type of [ALL.variables.type, "wallclock:wall:nanoseconds:wall:nanoseconds:delta"]) {
		units.push((await run(database, role, rawSql, { ...ALL, variables: { ...ALL.variables, type } })).rows[0][0]);
	}
	return units.join() === "suffix:cores,suffix:threads" ? [] : units;
});
await test("a graph has no line that is always 0", async () => {
	const names = new Set((await answer_of("function", "Stacks with the function", ALL, { function: "parse" })).map(({ metric }) => metric));
	return [...names].join() === "web" ? [] : [...names];
});
await test("callers of a function have no self values", async () => {
	const rows = await answer_of("function", "Callers", ALL, { function: "parse" });
	const found = rows.map(({ level, label, value, self }) => `${level} ${label} ${value} ${self}`);
	return found.join() === "0 parse 4000000000 0,1 serve 4000000000 0,2 main 4000000000 0" ? [] : found;
});
await test("a heat map has all of its rows, and says that only the last 30 minutes are drawn", async () => {
	const names = (await answer_of("heatmap", "Offsets within each second", ALL)).map(({ metric }) => metric);
	const [{ status }] = await answer_of("heatmap", "Selection", ALL);
	const rows = new Set(names).size;
	return rows === 50 && status.includes("the last 30 minutes are drawn") ? [] : [`${rows} rows; ${status}`];
});
const commands = panels_of(all.find(({ uid }) => uid === "profstore-profiles")).find(({ title }) => title === "Files for other programs");
/* Runs the commands of a column and returns the files that they write, by name. */
const files_of = async (situation, column, execute) => {
	const directory = mkdtempSync(join(tmpdir(), "profstore-files-"));
	const answer = await run(database, role, commands.targets[0].rawSql, situation);
	execute(directory, contract.records(answer).map((row) => row[column]).filter((command) => command !== "").join("\n"));
	const files = Object.fromEntries(readdirSync(directory).map((file) => [file, readFileSync(join(directory, file))]));
	rmSync(directory, { recursive: true });
	return files;
};
const WAYS = {
	"in psql": [6, (cwd, input) => execFileSync("psql", ["-Xq", "-d", database, "-U", role, "-v", "ON_ERROR_STOP=1"], { cwd, input, stdio: "pipe" })],
	"in a shell": [5, (cwd, input) => execFileSync("sh", ["-e"], { cwd, input, env: { ...process.env, PGUSER: role, PATH: `${COLLECTORS}:${process.env.PATH}` }, stdio: "pipe" })],
};
for (const situation of SITUATIONS.filter(({ root }) => root > 0)) {
	for (const [column, [count, execute]] of Object.entries(WAYS)) {
		await test(`the commands of Profiles ${column} write files of the selection, ${situation.name}`, async () => {
			const files = await files_of(situation, column, execute);
			const sizes = Object.values(files).map(({ length }) => length);
			const folded = String(files["profile.folded"]).trim().split("\n");
			const sum = folded.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
			const expected = situation.traced ?? situation.root;
			const is_empty = expected === 0;
			return [
				...(sizes.length === count && sizes.every((size) => size > 20 || is_empty) ? [] : [`files of ${sizes.join()} bytes`]),
				...(sum === expected ? [] : [`the folded stacks are of ${sum}, not of ${expected}`]),
			];
		});
	}
}
await test("the role of the dashboards writes nothing", async () => {
	try {
		await run(database, role, "SELECT profstore.intern_mappings('{a}', '{b}')", SITUATIONS[0]);
		return ["it interned a mapping"];
	} catch (error) {
		return /permission denied|read-only transaction/.test(error.message) ? [] : [error.message];
	}
});
disconnect();
console.log(`1..${count}`);
process.exit(failed > 0 ? 1 : 0);
