/*
 * check.js
 *		Runs every query of every dashboard as Grafana would, and holds the results against what the panels need.
 *
 *	node check.js DATABASE ROLE DASHBOARD.json ...
 */
import { readFileSync } from "node:fs";
import * as contract from "./contract.js";
import { run } from "./datasource.js";
import { SITUATIONS } from "./situations.js";
import { check_structure } from "./structure.js";

const [database, role, ...dashboards] = process.argv.slice(2);

let count = 0;
let failed = 0;
const test = (name, check) => {
	let problems;
	try {
		problems = check();
	} catch (error) {
		problems = [String(error.stderr ?? error)];
	}
	count += 1;
	failed += problems.length > 0 ? 1 : 0;
	console.log(`${problems.length > 0 ? "not ok" : "ok"} ${count} - ${name}`);
	problems.slice(0, 10).forEach((problem) => console.log(`# ${problem.replaceAll("\n", "\n# ")}`));
};

const CHECKS = {
	flamegraph: contract.check_flame_graph,
	timeseries: contract.check_time_series,
	table: contract.check_table,
	stat: contract.check_share,
};

/* The root's value tells that variables and range reached the query. */
const check_root = (frame, expected) => {
	const [root] = contract.records(frame);
	const value = root.valueRight ?? root.value;
	return value === expected ? [] : [`the root is ${value}, not ${expected}`];
};

/* So does the share of it that focus keeps. */
const check_kept = (frame, { root, whole = root }) => {
	const expected = whole === 0 ? null : root / whole;
	return frame.rows[0][0] === expected ? [] : [`the share is ${frame.rows[0][0]}, not ${expected}`];
};

const check_target = (panel, target, situation) => {
	const frame = run(database, role, target.rawSql, situation);
	if (target.refId === "unit") {
		return contract.check_unit(frame);
	}
	const problems = CHECKS[panel.type](frame);
	if (target.format !== (panel.type === "timeseries" ? "time_series" : "table")) {
		problems.push(`format is ${target.format}`);
	}
	if (problems.length === 0 && panel.type === "flamegraph") {
		return check_root(frame, situation.root);
	}
	return problems.length === 0 && panel.type === "stat" ? check_kept(frame, situation) : problems;
};

for (const file of dashboards) {
	const dashboard = JSON.parse(readFileSync(file, "utf8"));
	test(`${dashboard.title}: structure`, () => check_structure(dashboard, "profstore"));
	for (const situation of SITUATIONS) {
		for (const variable of dashboard.templating.list.filter((each) => each.type === "query")) {
			test(`${dashboard.title}, ${situation.name}: variable ${variable.name}`, () =>
				contract.check_variable(run(database, role, variable.query, situation)),
			);
		}
		for (const panel of dashboard.panels.filter((each) => each.targets)) {
			for (const target of panel.targets) {
				test(`${dashboard.title}, ${situation.name}: "${panel.title}" ${target.refId}`, () =>
					check_target(panel, target, situation),
				);
			}
		}
	}
}
test("the role of the dashboards writes nothing", () => {
	try {
		run(database, role, "SELECT profstore.intern_mappings('{a}', '{b}')", SITUATIONS[0]);
		return ["it interned a mapping"];
	} catch (error) {
		return /permission denied|read-only transaction/.test(error.stderr) ? [] : [String(error.stderr)];
	}
});
console.log(`1..${count}`);
process.exit(failed > 0 ? 1 : 0);
