/*
 * fleet.js
 *		Dashboards over the profiles of a fleet (extension/test/bench): range, variables, and three selections to measure.
 */
import { ask } from "./datasource.js";

/* The range of a fleet of that many hours; a graph 1,000 pixels wide gets as many points. */
export const fleet_range = (hours) => {
	const from = new Date("2026-01-01T00:00:00Z");
	return { range: { from, to: new Date(from.getTime() + hours * 3_600_000) }, interval: `${Math.max(10, Math.round((hours * 3600) / 1000))}s` };
};

export const SELECTIONS = { all: {}, service: { label: "service", value: ["service4"], matchers: 'service="service4"' }, focus: { focus: "function12" } };

/* The value of a variable when Grafana opens the dashboard: its default, or otherwise the first value of its query. */
const value_at_first = async (database, role, { type, query, current, multi, allValue }, situation) => {
	if (type !== "query") {
		return current.value;
	}
	const lines = await ask(database, role, query, situation);
	const values = query.includes("__value") ? lines.map((line) => line.split("|").at(-1)) : lines;
	if (current?.value?.[0] === "$__all") {
		return allValue ? { raw: allValue } : (values[0] ?? "");
	}
	return multi ? (current?.value ?? []) : (values[0] ?? "");
};

/* The values of all variables of a dashboard, by name. */
export const opened = async (database, role, dashboard, times) => {
	const variables = {};
	for (const variable of dashboard.templating.list) {
		variables[variable.name] = await value_at_first(database, role, variable, { variables, ...times });
	}
	return variables;
};
