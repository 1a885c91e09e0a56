/*
 * structure.js
 *		Checks that a dashboard is consistent, without running its queries.
 */
const overlap = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

const check_panel = (panel) => {
	const problems = [];
	const { x, w } = panel.gridPos;
	if (!(x >= 0 && x + w <= 24)) {
		problems.push(`panel ${panel.id} is beyond the grid`);
	}
	if (panel.type === "row") {
		return problems;
	}
	if (!panel.title || !panel.description) {
		problems.push(`panel ${panel.id} has no title or description`);
	}
	const ids = panel.targets.map((target) => target.refId);
	if (new Set(ids).size !== ids.length || ids[0] !== "A") {
		problems.push(`queries of panel ${panel.id} are ${ids.join()}; the first must be A`);
	}
	for (const transformation of panel.transformations) {
		if (transformation.id === "configFromData" && !ids.includes(transformation.options.configRefId)) {
			problems.push(`panel ${panel.id} takes its unit from a query that is not there`);
		}
	}
	if (panel.type === "flamegraph" && (panel.gridPos.w < 24 || panel.gridPos.h < 20)) {
		problems.push(`panel ${panel.id} is too small for a flame graph`);
	}
	/* In versions without defaultView, showFlameGraphOnly removes the search and the menu of frames. */
	if (panel.type === "flamegraph" && (panel.options.showFlameGraphOnly || panel.options.defaultView !== "flameGraph")) {
		problems.push(`panel ${panel.id} is not a flame graph that stands alone and answers to clicks`);
	}
	return problems;
};

const flatten = (panels) => panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);

/* Links lead to existing dashboards and set variables of these dashboards. */
const check_links = (dashboard, others) => {
	const problems = [];
	for (const [, url] of JSON.stringify(dashboard).matchAll(/"url":"(\/d\/[^"]+)"/g)) {
		const [, uid, query] = url.match(/^\/d\/([^?]+)\?(.*)$/) ?? [];
		const target = others.find((other) => other.uid === uid);
		if (!target) {
			problems.push(`${url} leads nowhere`);
			continue;
		}
		const [, viewed] = query.match(/&viewPanel=panel-(\d+)$/) ?? [];
		if (viewed && !flatten(target.panels).some(({ id, type }) => String(id) === viewed && type !== "row")) {
			problems.push(`${url} shows panel ${viewed}, which ${uid} does not have`);
		}
		const names = target.templating.list.map((variable) => variable.name);
		for (const [, set, passed] of query.matchAll(/var-(\w+)=|\$\{(?!__)(\w+):queryparam\}/g)) {
			if (!names.includes(set ?? passed)) {
				problems.push(`${url} sets "${set ?? passed}", which ${uid} does not have`);
			}
		}
	}
	return problems;
};

/* Each variable is used by a query, by another variable or by a title, and all used variables exist. */
const check_variables = (dashboard) => {
	const names = dashboard.templating.list.map((variable) => variable.name);
	const used = new Set();
	for (const [, bare, braced] of JSON.stringify(dashboard).matchAll(/\$(?!__)(\w+)|\$\{(?!__)(\w+)(?::\w+)?\}/g)) {
		used.add(bare ?? braced);
	}
	return [
		...names.filter((name) => !used.has(name)).map((name) => `variable "${name}" is not used`),
		...[...used].filter((name) => !names.includes(name)).map((name) => `no variable is named "${name}"`),
	];
};

export const check_structure = (dashboard, datasource_uid, others) => {
	const panels = flatten(dashboard.panels);
	const problems = panels.flatMap(check_panel);
	const ids = panels.map((panel) => panel.id);
	if (!dashboard.uid || dashboard.schemaVersion !== 39 || new Set(ids).size !== ids.length) {
		problems.push("uid, schema version or panel ids are wrong");
	}
	dashboard.panels.forEach((a, i) =>
		dashboard.panels.slice(i + 1).forEach((b) => {
			if (overlap(a.gridPos, b.gridPos)) {
				problems.push(`panels ${a.id} and ${b.id} overlap`);
			}
		}),
	);
	for (const uid of JSON.stringify(dashboard).match(/"uid":"[^"]+"/g)) {
		if (uid !== `"uid":"${datasource_uid}"` && uid !== `"uid":"${dashboard.uid}"`) {
			problems.push(`${uid} is neither the data source nor the dashboard`);
		}
	}
	return [...problems, ...check_links(dashboard, others), ...check_variables(dashboard)];
};

export const check_rule = (rule, dashboards) => {
	const [query, condition] = rule.data;
	const problems = [];
	if (query.refId !== "A" || query.datasourceUid !== "profstore" || condition.refId !== rule.condition || condition.model.expression !== query.refId) {
		problems.push("query and condition do not fit");
	}
	const { __dashboardUid__: uid, __panelId__: panel, page } = rule.annotations;
	const dashboard = dashboards.find((each) => each.uid === uid);
	if (!flatten(dashboard?.panels ?? []).some(({ id, type }) => String(id) === panel && type !== "row")) {
		problems.push(`dashboard ${uid} or its panel ${panel} is not there`);
	}
	const [, to, set_by] = page.match(/^\{\{ externalURL \}\}d\/([^?]+)\?(.*)$/) ?? [];
	const names = dashboards.find((each) => each.uid === to)?.templating.list.map(({ name }) => name) ?? [];
	for (const [, set] of (set_by ?? "").matchAll(/var-(\w+)=/g)) {
		if (!names.includes(set)) {
			problems.push(`${page} sets "${set}", which ${to} does not have`);
		}
	}
	if (names.length === 0 && set_by?.includes("var-")) {
		problems.push(`${page} leads nowhere`);
	}
	return problems;
};
