/*
 * datasource.js
 *		What Grafana does between a dashboard and PostgreSQL: variables, macros, types of columns. Facts from the
 *		documentation and behaviour of the PostgreSQL data source; only what the dashboards use, anything else is an error.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export const quote = (text) => `'${text.replaceAll("'", "''")}'`;

/* A list becomes quoted texts joined by commas, a scalar has its quotes doubled, { raw } is "All" with an allValue. */
const interpolated = (value) => {
	if (Array.isArray(value)) {
		return value.map(quote).join(",");
	}
	return typeof value === "object" ? value.raw : value.replaceAll("'", "''");
};

/* As ${name:percentencode} stands: nothing but letters, digits, codes and - . _ ~ */
const percent_encoded = (value) => encodeURIComponent(value).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

const interpolate = (text, variables) =>
	text.replace(/\$(?!__)(\w+)|\$\{(?!__)(\w+)(:percentencode)?\}/g, (match, bare, braced, encoded) => {
		const name = bare ?? braced;
		if (!(name in variables)) {
			throw new Error(`no variable is named "${name}"`);
		}
		return encoded ? percent_encoded(variables[name]) : interpolated(variables[name]);
	});

const TIME_ZONE = "UTC";

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
	return sql.replaceAll("${__timezone}", TIME_ZONE).replace(/\$__\w+(\(\))?/g, (macro) => {
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

/* A connection that stays, as those of Grafana's pool do. */
const END = "=end=";

class Session {
	constructor(database, role) {
		this.psql = spawn("psql", ["-XqAt", "-v", "VERBOSITY=terse", "-d", database, "-U", role], { stdio: ["pipe", "pipe", "ignore"] });
		this.lines = createInterface({ input: this.psql.stdout })[Symbol.asyncIterator]();
		this.last = Promise.resolve();
	}

	/* What the server answers to one command, line by line; throws with its message. Commands wait for those before them. */
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
const session_of = (database, role) => {
	const key = `${database} ${role}`;
	if (!sessions.has(key)) {
		sessions.set(key, new Session(database, role));
	}
	return sessions.get(key);
};

/* Ends all connections, so that the program may end. */
export const disconnect = () => sessions.forEach(({ psql }) => psql.stdin.end());

/* What the server answers to a dashboard's query, without types: lines of text, as psql writes them. */
export const ask = (database, role, raw_sql, situation) =>
	session_of(database, role).ask(`${expand(interpolate(raw_sql, situation.variables), situation.range, situation.interval ?? "30s")};`);

/*
 * Runs a query as a role: { fields: [{ name, type }], rows: [[…]] }. Numbers are JavaScript's, as in Grafana. range and interval stand
 * for macros, as in expand(). Throws with the server's message.
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

/* Like run_sql(), but of a dashboard's query, with the variables of a situation. */
export const run = (database, role, raw_sql, situation) =>
	run_sql(database, role, interpolate(raw_sql, situation.variables), situation.range, situation.interval);
