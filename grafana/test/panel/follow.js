/*
 * follow.js
 *		Opens every dashboard with each of its choices, and follows the links of its panels and of the alerts for its data, with
 *		Grafana's own variables and links (scene.js). No query may fail, and no panel Selection may report an error. Prints TAP.
 *
 *	node follow.cjs DATABASE ROLE FROM TO EXPAND ALERTING.json DASHBOARD.json ...
 *		FROM, TO: the range of the first pages; EXPAND: the program of ../alerts
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { disconnect, run_sql } from "../datasource.js";
import { NASTY } from "../situations.js";
import { contexts_of, head_links_of, links_of, open, options_of, range_of, sql_of, use_data_source, variable_errors } from "./scene.js";

const [database, role, from, to, expand, alerting, ...files] = process.argv.slice(2);
const dashboards = new Map(files.map((file) => JSON.parse(readFileSync(file, "utf8"))).map((dashboard) => [dashboard.uid, dashboard]));
const panels_of = ({ panels }) => panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]).filter(({ targets }) => targets);
const print = (line) => process.stdout.write(`${line}\n`);

/* Many pages run the same query, so answers are kept. */
const answers = new Map();
const ask = (sql, range) => {
	const key = JSON.stringify([sql, range]);
	if (!answers.has(key)) {
		answers.set(
			key,
			run_sql(database, role, sql, range).then(
				(answer) => ({ answer }),
				(error) => ({ error }),
			),
		);
	}
	return answers.get(key).then(({ answer, error }) => {
		if (error) {
			throw error;
		}
		return answer;
	});
};
use_data_source(ask);

/* Returns the options that Grafana parses differently than the dashboard intends. */
const misread_options = (page, { templating }) =>
	templating.list
		.filter(({ type }) => type === "custom")
		.flatMap(({ name, options }) =>
			options_of(page, name)
				.map(({ label, value }, i) => (label === options[i]?.text && value === options[i]?.value ? null : `variable ${name}: Grafana reads an option as "${label}" of value "${value}"`))
				.filter(Boolean),
		);

/*
 * Status panels are green if something is selected. One of two sides may have no samples, or no stack that passes the filters, and a selection may
 * add up to 0. Every other status that is not green is a problem of the address.
 */
const WITHOUT_SAMPLES = /^No (samples in this range|stack passes)/;
const OF_ZEROS = /^The samples in this range add up to 0/;
const status_of = ({ title, fieldConfig }, said) => {
	const green = fieldConfig?.defaults?.mappings?.find(({ type, options }) => type === "regex" && options.result.color === "green");
	return green ? [{ title, said, is_green: new RegExp(green.options.pattern).test(said) }] : [];
};
const faults_of = (statuses, may_be_empty) => {
	const is_selected = may_be_empty || statuses.some(({ said, is_green }) => is_green || OF_ZEROS.test(said));
	return statuses.filter(({ said, is_green }) => !is_green && !OF_ZEROS.test(said) && !(is_selected && WITHOUT_SAMPLES.test(said))).map(({ title, said }) => `"${title}" says: ${said}`);
};

/* If nothing is stored, nothing can be selected, but no query may fail. may_be_empty: the function of a link may have no samples in the range. */
const problems_of = async (page, is_empty, may_be_empty) => {
	const dashboard = dashboards.get(page.state.uid);
	const problems = [...variable_errors(page), ...misread_options(page, dashboard)];
	const statuses = [];
	for (const panel of panels_of(dashboard)) {
		for (const context of contexts_of(page, panel)) {
			for (const { rawSql } of panel.targets) {
				try {
					const { rows } = await ask(sql_of(context, rawSql), range_of(context));
					statuses.push(...status_of(panel, rows[0]?.[0]));
				} catch (error) {
					problems.push(`"${panel.title}" fails: ${error.message.split("\n")[0]}`);
				}
			}
		}
	}
	return is_empty ? problems : [...problems, ...faults_of(statuses, may_be_empty)];
};

let count = 0;
let failed = 0;
const test = async (name, page, address, is_empty, may_be_empty = false, faults = []) => {
	const problems = [...faults, ...(await problems_of(page, is_empty, may_be_empty))];
	count += 1;
	failed += problems.length > 0;
	print(`${problems.length > 0 ? "not ok" : "ok"} ${count} - ${name}`);
	if (problems.length > 0) {
		[address, ...problems].forEach((line) => print(`# ${line}`));
	}
};

const uid_of = (address) => new URL(address, "http://localhost/").pathname.split("/")[2];

/* Follows the links of all panels of a page. Opens the page again for each link to the same dashboard, because following it changes the page. */
const follow_links = async (start, address, is_empty) => {
	const dashboard = dashboards.get(start.state.uid);
	for (const panel of panels_of(dashboard).filter(({ links, fieldConfig }) => JSON.stringify([links, fieldConfig]).includes('"title"'))) {
		for (const context of contexts_of(start, panel)) {
			const answer = await ask(sql_of(context, panel.targets[0].rawSql), range_of(context)).catch(() => null); // the page's own test reports it
			const links = [...head_links_of(context, panel), ...(answer ? links_of(context, panel, answer) : [])];
			// other links lead to a forge
			for (const { title, href } of links.filter((link) => link.href.startsWith("/d/"))) {
				const before = uid_of(href) === start.state.uid ? await open(dashboard, address) : undefined;
				const page = await open(dashboards.get(uid_of(href)), href, before);
				await test(`${dashboard.title}, "${panel.title}": ${title}`, page, href, is_empty, panel.title === "What changed");
			}
		}
	}
};

/* Returns an address for each option that is not a variable's default. */
const others_of = (page, { templating }, first) =>
	templating.list
		.filter(({ type }) => type === "custom" || type === "query")
		.flatMap(({ name, multi }) => options_of(page, name).slice(multi ? 0 : 1).map(({ value }) => `${first}&var-${name}=${encodeURIComponent(value)}`));

const check_dashboard = async (dashboard) => {
	const first = `/d/${dashboard.uid}?from=${from}&to=${to}`;
	const page = await open(dashboard, first);
	const { rows } = await ask("SELECT pg_catalog.count(*) FROM profstore.profile_types()", range_of(page));
	const is_empty = rows[0][0] === 0;
	await test(`${dashboard.title} as it is opened first`, page, first, is_empty);
	for (const address of others_of(page, dashboard, first)) {
		await test(`${dashboard.title} with ${address.replace(/.*&var-/, "")}`, await open(dashboard, address), address, is_empty);
	}
	await follow_links(page, first, is_empty);
	// A link that does not set Value keeps the value selected here.
	const values = dashboard.templating.list.some(({ name }) => name === "value") ? options_of(page, "value") : [];
	if (values.length > 0) {
		const chosen = `${first}&var-value=${encodeURIComponent(values.at(-1).value)}`;
		await follow_links(await open(dashboard, chosen), chosen, is_empty);
	}
};

/* The root_url of Grafana's server. */
const SERVER = "http://grafana.example/at/";

/* Expands the texts of alerts as Grafana's server does; throws if one cannot be expanded. */
const expanded = (texts, labels, value) => {
	const lines = texts.map((text) => JSON.stringify({ Text: text, Labels: labels, Values: { A: { Labels: labels, Value: value } } }));
	const answers = execFileSync(expand, [SERVER], { input: lines.join("\n"), encoding: "utf8" }).trim().split("\n");
	return answers.map((line) => JSON.parse(line)).map(({ text, error }) => {
		if (error || text.includes("<no value>")) {
			throw new Error(error ?? `a label is missing in "${text}"`);
		}
		return text;
	});
};

/* The summary of an alert and its page name the same subject. The page is opened with the range of the test data. */
const check_alert = async ({ uid, annotations }, { value, ...labels }, range) => {
	const [summary, address] = expanded([annotations.summary, annotations.page], labels, value);
	const page_of = (label) => new URLSearchParams(address.slice(address.indexOf("?"))).get(`var-${label}`);
	const subject = labels.name ?? labels.node;
	const href = address.slice(SERVER.length - 1).replace("from=now-1h&to=now", `from=${range.from.toISOString()}&to=${range.to.toISOString()}`);
	const page = await open(dashboards.get(uid_of(href)), href);
	const faults = [
		...(address.startsWith(SERVER) ? [] : [`the address is ${address}`]),
		...(summary.includes(subject) && /\d/.test(summary) ? [] : [`the summary is "${summary}", of ${subject}`]),
		...([null, subject].includes(page_of("value")) ? [] : [`the page is of ${page_of("value")}, not of ${subject}`]),
	];
	await test(`${uid}: "${summary}"`, page, href, false, false, faults);
};

const check_alerts = async () => {
	const range = { from: new Date("2026-02-02T10:00:00Z"), to: new Date("2026-02-02T11:00:00Z") };
	for (const rule of JSON.parse(readFileSync(alerting, "utf8")).groups.flatMap(({ rules }) => rules)) {
		const { fields, rows } = await ask(rule.data[0].model.rawSql, range);
		const alerts = rows.map((row) => Object.fromEntries(fields.map(({ name }, i) => [name, row[i]])));
		for (const alert of alerts.filter(({ value }) => value > rule.data[1].model.conditions[0].evaluator.params[0])) {
			await check_alert(rule, alert, range);
			if (alert.label) {
				await check_alert(rule, { ...alert, label: "comm", name: NASTY }, { from: new Date(from), to: new Date(to) });
			}
		}
	}
};

(async () => {
	await check_alerts();
	for (const dashboard of dashboards.values()) {
		await check_dashboard(dashboard);
	}
	print(`1..${count}`);
	disconnect();
	process.exit(failed > 0 ? 1 : 0);
})();
