/*
 * structure.js
 *		A dashboard's own consistency, whatever its queries return.
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
		problems.push(`panel ${panel.id} is too small for a flame graph beside its table`);
	}
	return problems;
};

export const check_structure = (dashboard, datasource_uid) => {
	const problems = dashboard.panels.flatMap(check_panel);
	const ids = dashboard.panels.map((panel) => panel.id);
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
	const names = dashboard.templating.list.map((variable) => variable.name);
	for (const [, name] of JSON.stringify(dashboard).matchAll(/\$\{(?!__)(\w+)(?::\w+)?\}/g)) {
		if (!names.includes(name)) {
			problems.push(`no variable is named "${name}"`);
		}
	}
	return problems;
};
