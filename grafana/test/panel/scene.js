/*
 * scene.js
 *		Opens a dashboard as Grafana does, without a Grafana server: @grafana/scenes handles variables and addresses, @grafana/data
 *		handles links. The packages need a window, which jsdom must create before they are loaded. Therefore they are loaded with
 *		require(): imports would run first.
 */
import { quote } from "../datasource.js";

const { JSDOM } = require("jsdom");

const { window } = new JSDOM("", { url: "http://localhost/" });
window.matchMedia = () => ({ matches: false, addEventListener() {}, addListener() {} });
window.grafanaBootData = { settings: { featureToggles: {} }, user: {}, navTree: [] };
window.IntersectionObserver = window.ResizeObserver = class {
	observe() {}
};
globalThis.window = window;
for (const name of Object.getOwnPropertyNames(window)) {
	if (!(name in globalThis) || ["navigator", "Event", "CustomEvent"].includes(name)) {
		Object.defineProperty(globalThis, name, { configurable: true, writable: true, value: window[name] });
	}
}
console.log = console.info = console.warn = console.debug = () => {}; // messages of the packages while they load
const data = require("@grafana/data");
const { setDataSourceSrv } = require("@grafana/runtime");
const scenes = require("@grafana/scenes");
const { sceneGraph } = scenes;

/* Formats values of variables as Grafana's SQL data sources do. */
const quoted = (value, { multi, includeAll }) => {
	if (Array.isArray(value)) {
		return value.map(quote).join(",");
	}
	return typeof value === "string" ? (multi || includeAll ? quote(value) : value.replaceAll("'", "''")) : value;
};

export const range_of = (context) => {
	const { from, to } = sceneGraph.getTimeRange(context).state.value;
	return { from: from.toDate(), to: to.toDate() };
};

/* Replaces the variables of a query, but not its macros. */
export const sql_of = (context, sql) => sceneGraph.interpolate(context, sql, { __interval: { text: "30s", value: "30s" } }, quoted);

/* run(sql, range) returns the same as run_sql() of datasource.js. */
export const use_data_source = (run) => {
	const source = {
		uid: "profstore",
		name: "profstore",
		type: "grafana-postgresql-datasource",
		meta: { id: "grafana-postgresql-datasource" },
		getRef: () => ({ uid: "profstore" }),
		query() {},
		metricFindQuery: async (sql, { scopedVars }) => {
			const page = scopedVars.__sceneObject.value.valueOf();
			const { fields, rows } = await run(sql_of(page, sql), range_of(page));
			const place = (name) => Math.max(0, fields.findIndex((field) => field.name === name));
			return rows.map((row) => ({ text: String(row[place("__text")]), value: String(row[place("__value")]) }));
		},
	};
	setDataSourceSrv({ get: async () => source, getList: () => [source], getInstanceSettings: () => source });
};

/* Makes a variable of scenes. Grafana's own function for this is in no package. */
const variable_of = ({ type, name, label, hide, skipUrlSync, current, query, datasource, regex, ...of }) => {
	const common = { name, label, hide, skipUrlSync };
	const list = { isMulti: of.multi, includeAll: of.includeAll, defaultToAll: Boolean(of.includeAll), allValue: of.allValue || undefined };
	const choice = { ...common, ...list, value: current?.value ?? "", text: current?.text ?? "" };
	switch (type) {
		case "custom":
			return new scenes.CustomVariable({ ...choice, query });
		case "query":
			return new scenes.QueryVariable({ ...choice, query, datasource, regex, sort: of.sort, refresh: of.refresh, definition: of.definition });
		case "datasource":
			return new scenes.DataSourceVariable({ ...choice, pluginId: query, regex });
		case "textbox":
			return new scenes.TextBoxVariable({ ...common, value: current?.value || query });
		case "constant":
			return new scenes.ConstantVariable({ ...common, value: query });
		default:
			throw new Error(`variable ${name} is of type ${type}`);
	}
};

class Page extends scenes.SceneObjectBase {}

const variables_of = (page) => page.state.$variables.state.variables;

/* Waits until all variables have their options and values. */
const settle = async (page) => {
	do {
		await new Promise((done) => setTimeout(done, 2));
	} while (variables_of(page).some((variable) => page.state.$variables.isVariableLoadingOrWaitingToUpdate(variable)));
	return page;
};

/*
 * Returns the page of an address. If a link leads from a page to the same dashboard, Grafana keeps the scene: variables that the address does
 * not set keep their values. before: the page with the link.
 */
export const open = (dashboard, address, before) => {
	const { uid, time, templating } = dashboard;
	const page =
		before?.state.uid === uid
			? before
			: new Page({
					uid,
					$timeRange: new scenes.SceneTimeRange({ from: time?.from, to: time?.to, timeZone: "utc" }),
					$variables: new scenes.SceneVariableSet({ variables: templating.list.map(variable_of) }),
				});
	scenes.sceneUtils.syncStateFromSearchParams(page, new URL(address, "http://localhost/").searchParams);
	if (page !== before) {
		page.activate();
	}
	return settle(page);
};

/* Returns the errors of variables' queries. */
export const variable_errors = (page) => variables_of(page).flatMap(({ state: { name, error } }) => (error ? [`variable ${name}: ${error}`] : []));

/* Returns the options of a variable as Grafana parses them: [{ label, value }] */
export const options_of = (page, name) => sceneGraph.lookupVariable(name, page).state.options ?? [];

/* Returns the page, or for a repeated panel a child of it for each value, in which the variable has this value. */
export const contexts_of = (page, { repeat }) => {
	if (!repeat) {
		return [page];
	}
	const variable = sceneGraph.lookupVariable(repeat, page);
	return [variable.getValue()].flat().map((value) => {
		const text = variable.state.options.find((option) => option.value === value)?.label ?? value;
		const own = new scenes.LocalValueVariable({ name: repeat, value, text });
		const context = new Page({ $variables: new scenes.SceneVariableSet({ variables: [own] }) });
		context._parent = page;
		return context;
	});
};

/* The options of fields that affect links. Grafana's own list of all options is in no package. */
const option = (id) => ({ id, path: id, name: id, process: data.identityOverrideProcessor, shouldApply: () => true });
const OPTIONS = new data.Registry(() => ["links", "noValue", "displayName", "unit", "decimals", "min", "max", "mappings", "thresholds", "color"].map(option));
const theme = data.createTheme();

/* Returns the links in the panel's title: [{ title, href }] */
export const head_links_of = (context, { links }) => (links ?? []).map(({ title, url }) => ({ title, href: sceneGraph.interpolate(context, url) }));

/* Returns the links of the first, middle and last row of a table, or of the middle point of a graph: [{ title, href }] */
export const links_of = (context, panel, { fields, rows }) => {
	const columns = fields.map(({ name, type }, i) => ({ name, type, config: {}, values: rows.map((row) => row[i]) }));
	const [frame] = data.applyFieldOverrides({
		data: [data.createDataFrame({ refId: "A", fields: columns })],
		fieldConfig: panel.fieldConfig,
		fieldConfigRegistry: OPTIONS,
		replaceVariables: (text, scoped, format) => sceneGraph.interpolate(context, text, scoped, format),
		theme,
		timeZone: "utc",
	});
	const middle = frame.length >> 1;
	const places = panel.type === "table" ? [0, middle, frame.length - 1] : [middle];
	const linked = frame.fields.filter(({ type }) => frame.length > 0 && (panel.type === "table" || type === "number"));
	const links = linked.flatMap((field) => places.flatMap((valueRowIndex) => field.getLinks({ valueRowIndex })));
	return [...new Map(links.map((link) => [link.href, link])).values()];
};
