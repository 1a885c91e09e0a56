/*
 * datasource.js
 *		Implements Grafana's PostgreSQL data source: variables, macros, types of columns. Follows its documentation and its
 *		behaviour. Features that the dashboards do not use are errors.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export const quote = (text) => `'${text.replaceAll("'", "''")}'`;

/* Quotes each value of a list and joins them by commas; doubles the quotes in a single value; { raw } is an allValue. */
const interpolated = (value) => {
	if (Array.isArray(value)) {
		return value.map(quote).join(",");
	}
	return typeof value === "object" ? value.raw : value.replaceAll("'", "''");
};

/* Returns the value of ${name:percentencode}: letters, digits, codes and - . _ ~ */
const percent_encoded = (value) => encodeURIComponent(value).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

export const interpolate = (text, variables) =>
	text.replace(/\$(?!__)(\w+)|\$\{(?!__)(\w+)(:percentencode)?\}/g, (match, bare, braced, encoded) => {
		const name = bare ?? braced;
		if (!(name in variables)) {
			throw new Error(`no variable is named "${name}"`);
		}
		return encoded ? percent_encoded(variables[name]) : interpolated(variables[name]);
	});

const TIME_ZONE = "UTC";

/* Replaces the macros. range: { from, to } as Date; interval: text such as 30s */
export const expand = (sql, range, interval) => {
	if (/--|\/\*/.test(sql)) {
		throw new Error("the data source strips comments, so there must be none");
	}
	const macros = {
		"$__timeFrom()": quote(range.from.toISOString()),
		"$__timeTo()": quote(range.to.toISOString()),
		$__interval: interval,
	};
	return sql.replaceAll("${__timezone}", TIME_ZONE).replace(/\$__\w+(\(\))?/g, (macro) => {
		if (!(macro in macros)) {
			throw new Error(`no macro is named "${macro}"`);
		}
		return macros[macro];
	});
};

/* Types of columns as panels get them. Values of other types are texts, or cannot be used by a panel. */
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

const END = "=end=";

/* A connection that stays open, as those of Grafana's pool. */

class Session {
	constructor(database, role) {
		this.psql = spawn("psql", ["-XqAt", "-v", "VERBOSITY=terse", "-d", database, "-U", role], { stdio: ["pipe", "pipe", "ignore"] });
		this.lines = createInterface({ input: this.psql.stdout })[Symbol.asyncIterator]();
		this.last = Promise.resolve();
	}

	/* Returns the lines of a command's output; throws the server's error message. Commands run one after the other. */
	ask(command) {
		const answer = this.last.then(() => this.ask_now(command));
		this.last = answer.catch(() => {});
		return answer;
	}

	async ask_now(command) {
		this.psql.stdin.write(`${command}\nSELECT '${END}' || json_build_array(:'ERROR', :'LAST_ERROR_MESSAGE');\n`);
		const answer = [];
		for (;;) {
			const { value: line, done } = await this.lines.next();
			if (done) {
				throw new Error("the connection is lost");
			}
			if (!line.startsWith(END)) {
				answer.push(line);
				continue;
			}
			const [failed, message] = JSON.parse(line.slice(END.length));
			if (failed === "true") {
				throw new Error(message);
			}
			return answer;
		}
	}
}

const sessions = new Map();
const session_of = (database, role, number = 0) => {
	const key = `${database} ${role} ${number}`;
	if (!sessions.has(key)) {
		sessions.set(key, new Session(database, role));
	}
	return sessions.get(key);
};

/* Closes all connections, so that the program can exit. */
export const disconnect = () => sessions.forEach(({ psql }) => psql.stdin.end());

/* Returns the output of a dashboard's query as lines of psql, without types. */
export const ask = (database, role, raw_sql, situation) =>
	session_of(database, role).ask(`${expand(interpolate(raw_sql, situation.variables), situation.range, situation.interval ?? "30s")};`);

/*
 * Runs a query as a role and returns { fields: [{ name, type }], rows: [[…]] }. Numbers are JavaScript's, as in Grafana. range and interval
 * are those of expand(). Throws the server's error message.
 */
export const run_sql = async (database, role, sql_with_macros, range, interval = "30s") => {
	const sql = expand(sql_with_macros, range, interval);
	const session = session_of(database, role);
	const fields = (await session.ask(`${sql}\n\\gdesc`)).map((line) => {
		const [name, type] = line.split("|");
		return { name, type: FRAME_TYPES[type] ?? `unusable (${type})` };
	});
	const rows = (await session.ask(`SELECT to_jsonb(r) FROM (${sql}) r;`)).map((line) => {
		const record = JSON.parse(line);
		return fields.map((field) => (field.type === "time" && record[field.name] !== null ? Date.parse(record[field.name]) : record[field.name]));
	});
	return { fields, rows };
};

const UNESCAPED = { "\\b": "\b", "\\f": "\f", "\\n": "\n", "\\r": "\r", "\\t": "\t", "\\v": "\v", "\\\\": "\\" };
const MADE_OF = {
	number: Number,
	boolean: (text) => text === "t",
	time: (text) => Date.parse(text.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00")),
	string: (text) => (text.includes("\\") ? text.replace(/\\./g, (escape) => UNESCAPED[escape]) : text),
};

/*
 * Like run_sql(), but for SQL without macros, on the connection of this number, and with COPY: the server writes values as text, as it does for
 * Grafana, and makes no JSON. fields: those of an earlier answer, because asking for them plans the query again.
 */
export const run_copy = async (database, role, number, sql, fields) => {
	if (!fields) {
		const answer = await session_of(database, role, number).ask(`${sql}\n\\gdesc`);
		fields = answer.map((line) => ({ name: line.slice(0, line.lastIndexOf("|")), type: FRAME_TYPES[line.slice(line.lastIndexOf("|") + 1)] }));
	}
	const lines = await session_of(database, role, number).ask(`COPY (${sql}) TO STDOUT;`);
	return { fields, rows: lines.map((line) => line.split("\t").map((text, i) => (text === "\\N" ? null : MADE_OF[fields[i].type](text)))) };
};

/* Like run_sql(), but for a dashboard's query, with the variables of a situation. */
export const run = (database, role, raw_sql, situation) =>
	run_sql(database, role, interpolate(raw_sql, situation.variables), situation.range, situation.interval);
