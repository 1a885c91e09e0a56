/*
 * refresh.js
 *		Measures the refresh of a dashboard over the profiles of a fleet: the time until its queries are answered, and until Grafana's
 *		own panels are drawn in Chromium. Queries run as in Grafana: variables that depend on the range, then panels and
 *		annotations, over ten connections that stay open. Also prints the processor time of the server, of the page's thread,
 *		of all of Chromium, and of this program, which stands for Grafana's server. Other load lengthens elapsed times, but not
 *		processor times. Of several runs, prints the one that was fastest. Ends with 1 if it is over a bound.
 *
 *	node refresh.js DATABASE ROLE HOURS DASHBOARD.json		environment: RUNS, WIDTH of the window, PROFILE: a file for Chromium's CPU
 *								profile of the last run
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { disconnect, expand, interpolate, run_copy } from "../datasource.js";
import { fleet_range, opened, SELECTIONS } from "../fleet.js";
import { mount, open_page } from "./browser.js";

const [database, role, hours, file] = process.argv.slice(2);
const ANSWERED_MS = 1000;
const DRAWN_MS = 1500;
const RUNS = Number(process.env.RUNS ?? 10);
const WIDTH = Number(process.env.WIDTH ?? 1920);
const CONNECTIONS = 10; // of the data source, maxOpenConns
const DRAWN_TYPES = new Set(["flamegraph", "timeseries", "table", "stat"]); // @grafana/ui has no panels of the others

const dashboard = JSON.parse(readFileSync(file, "utf8"));
const times = fleet_range(Number(hours));
const at_first = await opened(database, role, dashboard, times);

/* Runs commands over CONNECTIONS connections; further ones wait. */
const free = Array.from({ length: CONNECTIONS }, (_, number) => number);
const waiting = [];
const fields_of = new Map();
const query = async (sql) => {
	const number = free.shift() ?? (await new Promise((done) => waiting.push(done)));
	try {
		const answer = await run_copy(database, role, number, sql, fields_of.get(sql));
		fields_of.set(sql, answer.fields);
		return answer;
	} finally {
		const next = waiting.shift();
		if (next) {
			next(number);
		} else {
			free.unshift(number);
		}
	}
};

/* Answers a POST of an array of SQL commands with the array of their results, as Grafana's server does for a panel. */
let bytes = 0;
const server = createServer(async (request, response) => {
	const parts = [];
	for await (const part of request) {
		parts.push(part);
	}
	try {
		const text = JSON.stringify(await Promise.all(JSON.parse(Buffer.concat(parts)).map(query)));
		bytes += Buffer.byteLength(text);
		response.writeHead(200, { "Access-Control-Allow-Origin": "*" }).end(text);
	} catch (error) {
		response.writeHead(500, { "Access-Control-Allow-Origin": "*" }).end(String(error));
	}
}).listen(0, "127.0.0.1");
await new Promise((done) => server.once("listening", done));

/* Processor time in milliseconds, from /proc: fields 14 and 15 of stat; 16 and 17 are those of children that have ended. */
const TICK_MS = 10;
const stat = (pid) => {
	try {
		const text = readFileSync(`/proc/${pid}/stat`, "utf8");
		const [, parent, ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
		const [user, system, ended_user, ended_system] = rest.slice(9, 13).map(Number);
		return { name: text.slice(text.indexOf("(") + 1, text.lastIndexOf(")")), parent, own: (user + system) * TICK_MS, ended: (ended_user + ended_system) * TICK_MS };
	} catch {
		return null; // it has ended
	}
};
const processes = () => new Map(readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((pid) => [pid, stat(pid)]).filter(([, each]) => each));
const [[backend]] = (await query("SELECT pg_catalog.pg_backend_pid()")).rows;
const postmaster = stat(backend)?.parent; // none: the server runs on another machine

/* Parallel workers are children of the postmaster, and are counted in its ended children when they are done. */
const processor_times = () => {
	const all = processes();
	const is_chromium = (pid) => all.get(pid) && (/chrom/.test(all.get(pid).name) || is_chromium(all.get(pid).parent)) && is_ours(pid);
	const is_ours = (pid) => pid === String(process.pid) || (all.has(pid) && is_ours(all.get(pid).parent));
	const sum = (chosen, of) => [...all].reduce((total, [pid, each]) => total + (chosen(pid, each) ? of(each) : 0), 0);
	return {
		server: sum((pid, { parent }) => pid === postmaster || parent === postmaster, ({ own }) => own) + (all.get(postmaster)?.ended ?? 0),
		browser: sum(is_chromium, ({ own, ended }) => own + ended),
	};
};

const { page, close } = await open_page();
await page.setViewportSize({ width: WIDTH, height: 2000 });
const devtools = await page.context().newCDPSession(page);
await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
const thread_time = async () => (await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;

const profiled = async (action) => {
	await devtools.send("Profiler.enable");
	await devtools.send("Profiler.setSamplingInterval", { interval: 500 });
	await devtools.send("Profiler.start");
	const result = await action();
	writeFileSync(process.env.PROFILE, JSON.stringify((await devtools.send("Profiler.stop")).profile));
	return result;
};

const measured_refresh = async (commands, is_last) => {
	bytes = 0;
	const [before, thread, node] = [processor_times(), await thread_time(), process.cpuUsage()];
	const refresh = () => page.evaluate((data) => window.refresh(data), { url: `http://127.0.0.1:${server.address().port}/`, commands });
	const { answered, drawn, panels } = await (is_last && process.env.PROFILE ? profiled(refresh) : refresh());
	const [used, thread_after, after] = [process.cpuUsage(node), await thread_time(), processor_times()];
	return {
		answered,
		drawn,
		panels,
		bytes,
		server: after.server - before.server,
		thread: thread_after - thread,
		browser: after.browser - before.browser,
		node: (used.user + used.system) / 1000,
	};
};

const range = [times.range.from, times.range.to].map(Number);
const shown = dashboard.panels.filter(({ targets }) => targets);
const titles = new Map(shown.map(({ id, title }) => [id, title]));

const measured = async (chosen) => {
	const variables = { ...at_first, ...chosen };
	const sql_of = (raw_sql) => expand(interpolate(raw_sql, variables), times.range, times.interval);
	const commands = {
		first: dashboard.templating.list.filter(({ type, refresh }) => type === "query" && refresh === 2).map((variable) => sql_of(variable.query)),
		panels: shown.map(({ id, targets }) => ({ id, sql: targets.map(({ rawSql }) => sql_of(rawSql)) })),
		others: dashboard.annotations.list.map(({ target }) => sql_of(target.rawSql)),
	};
	const empty = { fields: [], rows: [] };
	const drawn = shown.filter(({ type }) => DRAWN_TYPES.has(type)).map((panel) => ({
		...panel,
		range,
		unit: "short",
		unitColumns: panel.transformations.find(({ id }) => id === "configFromData")?.options.applyTo.options,
		result: empty,
	}));
	for (const panel of drawn) {
		panel.result = await query(commands.panels.find(({ id }) => id === panel.id).sql[0]);
	}
	await mount(page, drawn, "dark", WIDTH);
	const runs = [];
	for (let i = 0; i <= RUNS; i += 1) {
		runs.push(await measured_refresh(commands, i === RUNS));
	}
	return runs.slice(1);
};

const row = (...cells) => cells.map((cell, i) => (i === 0 ? String(cell).padEnd(34) : (typeof cell === "number" ? cell.toFixed(0) : cell).padStart(10))).join("");
let is_over = false;
console.log(row("ms of the fastest of several runs", "answered", "drawn", "server", "page", "Chromium", "node", "kB", "load"));
try {
	for (const [name, chosen] of Object.entries(SELECTIONS)) {
		const runs = await measured(chosen);
		const fastest = runs.reduce((a, b) => (b.drawn < a.drawn ? b : a));
		const { answered, drawn, server: of_server, thread, browser, node, panels } = fastest;
		is_over ||= answered > ANSWERED_MS || drawn > DRAWN_MS;
		const [load] = readFileSync("/proc/loadavg", "utf8").split(" ");
		console.log(row(`${dashboard.title}, ${name}`, answered, drawn, of_server, thread, browser, node, fastest.bytes / 1000, load));
		for (const { id, came, done } of panels) {
			console.log(row(`  ${titles.get(id)}`, came, done ?? "-"));
		}
	}
} finally {
	disconnect();
	server.close();
	await close();
}
console.log(`bounds: answered ${ANSWERED_MS} ms, drawn ${DRAWN_MS} ms${is_over ? "; over them" : ""}`);
process.exit(is_over ? 1 : 0);
