/*
 * datasource.js
 *		What Grafana does between a dashboard and PostgreSQL: variables, macros, types of columns. Facts from the
 *		documentation and behaviour of the PostgreSQL data source; only what the dashboards use, anything else is an error.
 */
import { execFileSync } from "node:child_process";

const quote = (text) => `'${text.replaceAll("'", "''")}'`;

/* A list becomes quoted texts joined by commas, a scalar has its quotes doubled, { raw } is "All" with an allValue. */
const interpolated = (value) => {
	if (Array.isArray(value)) {
		return value.map(quote).join(",");
	}
	return typeof value === "object" ? value.raw : value.replaceAll("'", "''");
};

/* Dollar quotes look like a variable that there is not, which Grafana leaves alone. */
const DOLLAR_QUOTES = new Set(["one"]);

const interpolate = (text, variables) =>
	text.replace(/\$(?!__)(\w+)|\$\{(?!__)(\w+)(:raw)?\}/g, (match, bare, braced, raw) => {
		const name = bare ?? braced;
		if (DOLLAR_QUOTES.has(name)) {
			return match;
		}
		if (!(name in variables)) {
			throw new Error(`no variable is named "${name}"`);
		}
		return raw ? variables[name] : interpolated(variables[name]);
	});

/* range: { from, to } as Date, interval: text such as 30s */
const expand = (sql, range, interval) => {
	if (/--|\/\*/.test(sql)) {
		throw new Error("the data source strips comments, so there must be none");
	}
	const macros = {
		"$__timeFrom()": quote(range.from.toISOString()),
		"$__timeTo()": quote(range.to.toISOString()),
		$__interval: interval,
	};
	return sql.replace(/\$__\w+(\(\))?/g, (macro) => {
		if (!(macro in macros)) {
			throw new Error(`no macro is named "${macro}"`);
		}
		return macros[macro];
	});
};

/* How the data source hands a type on. Whatever is not here becomes text, or nothing that a panel can use. */
const FRAME_TYPES = {
	smallint: "number",
	integer: "number",
	bigint: "number",
	real: "number",
	"double precision": "number",
	numeric: "number",
	boolean: "boolean",
	text: "string",
	"timestamp with time zone": "time",
};

const psql = (database, role, commands) =>
	execFileSync("psql", ["-XqAt", "-d", database, "-U", role, "-v", "ON_ERROR_STOP=1"], {
		input: commands,
		encoding: "utf8",
		maxBuffer: 1 << 28,
		stdio: ["pipe", "pipe", "pipe"],
	});

/*
 * Runs a dashboard's query as its role: { fields: [{ name, type }], rows: [[…]] }. Numbers are JavaScript's, as in
 * Grafana. Throws with the server's message.
 */
export const run = (database, role, raw_sql, situation) => {
	const sql = expand(interpolate(raw_sql, situation.variables), situation.range, "30s");
	const [described, found] = psql(database, role, `${sql}\n\\gdesc\n\\echo\nSELECT to_jsonb(r) FROM (${sql}) r;\n`).split("\n\n");
	const fields = described.split("\n").map((line) => {
		const [name, type] = line.split("|");
		return { name, type: FRAME_TYPES[type] ?? `unusable (${type})` };
	});
	const rows = (found ?? "")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => {
			const record = JSON.parse(line);
			return fields.map((field) => (field.type === "time" ? Date.parse(record[field.name]) : record[field.name]));
		});
	return { fields, rows };
};
