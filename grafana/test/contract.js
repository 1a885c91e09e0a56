/*
 * contract.js
 *		Checks the result of a query against the needs of each kind of panel. Every function returns a list of problems.
 */
const FLAME = { level: "number", value: "number", self: "number", label: "string" };
const FLAME_OPTIONAL = { valueRight: "number", selfRight: "number" };
const CRASHING = new Set(["constructor", "__proto__", "toString", "valueOf", "hasOwnProperty"]);
const MAX_ROWS = 16384;

const wrong_fields = (fields, needed, optional) => {
	const problems = [];
	for (const [name, type] of Object.entries(needed)) {
		if (!fields.some((field) => field.name === name)) {
			problems.push(`field ${name} is missing`);
		}
	}
	for (const field of fields) {
		const wanted = needed[field.name] ?? optional[field.name];
		if (wanted === undefined) {
			problems.push(`field ${field.name} is not the panel's`);
		} else if (wanted !== field.type) {
			problems.push(`field ${field.name} is ${field.type}, not ${wanted}`);
		}
	}
	return problems;
};

export const records = ({ fields, rows }) =>
	rows.map((row) => Object.fromEntries(fields.map((field, i) => [field.name, row[i]])));

const check_levels = (rows) => {
	const problems = [];
	if (rows[0].level !== 0 || rows.filter((row) => row.level === 0).length !== 1) {
		problems.push("the first row must be the only one of level 0");
	}
	rows.slice(1).forEach((row, i) => {
		if (row.level > rows[i].level + 1) {
			problems.push(`level jumps from ${rows[i].level} to ${row.level} in row ${i + 1}`);
		}
	});
	return problems;
};

/* The label of a frame that stands for truncated frames. No function has this name. */
export const LEFT_OUT = "other";

/* In every row, value = self + the children's values. Self values and truncated frames add up to the root's value. */
const check_sums = (rows, value, self) => {
	const problems = [];
	const below = rows.map(() => 0);
	const path = [];
	rows.forEach((row, i) => {
		path.length = row.level;
		if (row.level > 0) {
			below[path[row.level - 1]] += row[value];
		}
		path[row.level] = i;
	});
	rows.forEach((row, i) => {
		const own = row.label === LEFT_OUT ? row[value] : row[self];
		if (!(row[self] >= 0 && row[value] === own + below[i])) {
			problems.push(`${value} ${row[value]} of row ${i} is not ${own} + ${below[i]}`);
		}
	});
	if (rows.reduce((sum, row) => sum + (row.label === LEFT_OUT ? row[value] : row[self]), 0) !== rows[0][value]) {
		problems.push(`${self} does not add up to the root's ${value}`);
	}
	return problems;
};

const check_labels = (rows) =>
	rows
		.filter((row) => !row.label || CRASHING.has(row.label) || /[\n\r]/.test(row.label) || row.label.length > 1024)
		.map((row) => `label ${JSON.stringify(row.label)} breaks the panel`);

/* In a tree of callers no frame has a self value, because self values would not add up to the function's. */
const check_selfless = (rows) => rows.filter(({ self }) => self !== 0).map(({ label }) => `${label} has a value of its own`);

export const check_flame_graph = (frame, of_callers = false) => {
	const problems = wrong_fields(frame.fields, FLAME, FLAME_OPTIONAL);
	const sides = [["value", "self"]];
	if (frame.fields.some((field) => field.name.endsWith("Right"))) {
		sides.push(["valueRight", "selfRight"]);
	}
	const rows = records(frame);
	if (rows.length === 0 || rows.length > MAX_ROWS) {
		problems.push(`${rows.length} rows`);
	}
	if (problems.length > 0) {
		return problems;
	}
	const sums = of_callers ? [check_selfless(rows)] : sides.map(([value, self]) => check_sums(rows, value, self));
	return [check_levels(rows), ...sums, check_labels(rows)].flat();
};

/* A profile type as in selectors; legends show titles instead. */
const RAW_TYPE = /^\w+:\w+:\w+:\w+:\w+/;

export const check_time_series = (frame) => {
	const problems = wrong_fields(frame.fields, { time: "time", metric: "string", value: "number" }, {});
	const times = records(frame).map((row) => row.time);
	if (times.some((time, i) => i > 0 && time < times[i - 1])) {
		problems.push("rows are not in the order of time");
	}
	const raw = records(frame).find(({ metric }) => RAW_TYPE.test(metric));
	if (raw) {
		problems.push(`the legend says ${raw.metric}`);
	}
	return problems;
};

const NODES = { id: "string", title: "string", mainstat: "string", secondarystat: "string", noderadius: "number" };
const EDGES = { id: "string", source: "string", target: "string", mainstat: "string", thickness: "number", strokedasharray: "string" };

/* The parts of a ring, in fields named arc__*, add up to 1; ids are unique. */
const check_nodes = (frame) => {
	const nodes = records(frame);
	const arcs = Object.fromEntries(frame.fields.filter(({ name }) => name.startsWith("arc__")).map(({ name }) => [name, "number"]));
	const problems = wrong_fields(frame.fields, { ...NODES, ...arcs }, {});
	if (new Set(nodes.map(({ id }) => id)).size !== nodes.length) {
		problems.push("a node is there twice");
	}
	for (const node of nodes) {
		const ring = Object.keys(arcs).reduce((sum, name) => sum + node[name], 0);
		if (!(Math.abs(ring - 1) < 1e-9)) {
			problems.push(`the ring of ${node.id} is ${ring}`);
		}
	}
	return problems;
};

/* Both ends of an edge are nodes; otherwise the panel breaks. */
export const check_node_graph = (nodes, edges) => {
	const ids = new Set(records(nodes).map(({ id }) => id));
	const lost = records(edges).filter(({ source, target }) => !ids.has(source) || !ids.has(target));
	return [...check_nodes(nodes), ...wrong_fields(edges.fields, EDGES, {}), ...lost.map(({ id }) => `edge ${id} leads nowhere`)];
};

export const check_table = (frame) =>
	frame.fields.filter((field) => field.type.startsWith("unusable")).map((field) => `field ${field.name} is ${field.type}`);

/* One value: a number or a text. */
export const check_stat = (frame) => {
	const shaped = frame.fields.length === 1 && ["number", "string"].includes(frame.fields[0].type) && frame.rows.length === 1;
	return shaped && frame.rows[0][0] !== "" ? [] : [`it is ${JSON.stringify(frame)}`];
};

/* One number column, and texts that are unique for each alert. */
export const check_alerts = (frame) => {
	const numbers = frame.fields.filter((field) => field.type === "number");
	const texts = frame.rows.map((row) => JSON.stringify(row.filter((_, i) => frame.fields[i].type === "string")));
	const shaped = numbers.length === 1 && frame.fields.every((field) => ["number", "string"].includes(field.type));
	return shaped && new Set(texts).size === texts.length ? [] : [`alerts ${JSON.stringify(frame)}`];
};

export const check_annotations = (frame) => wrong_fields(frame.fields, { time: "time", text: "string", tags: "string" }, { timeend: "time" });

/* One row with the unit of the other query's columns. */
export const check_unit = (frame) => {
	const units = new Set(["ns", "bytes", "Bps", "short", "suffix:cores", "suffix:threads", "suffix:GPUs", "suffix:kernels", "suffix:copies", "suffix:/s", "mwatt"]);
	const known = frame.rows.every(([unit]) => units.has(unit));
	return frame.fields.length === 1 && frame.fields[0].name === "unit" && known ? [] : [`units ${JSON.stringify(frame.rows)}`];
};

/* One text column, or __text and __value: Grafana would take the values of all other columns as choices. */
export const check_variable = ({ fields }) => {
	const names = fields.map(({ name }) => name).join();
	const shaped = (fields.length === 1 || names === "__text,__value") && fields.every(({ type }) => type === "string");
	return shaped ? [] : [`fields ${JSON.stringify(fields)}`];
};
