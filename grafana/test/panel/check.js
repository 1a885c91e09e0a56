/*
 * check.js
 *		Draws the dashboards with Grafana's own panels in a browser and checks what they show. Keeps a picture of each page.
 *
 *	node check.js DATABASE ROLE PICTURES DASHBOARD.json ...
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { disconnect, run } from "../datasource.js";
import { SITUATIONS } from "../situations.js";
import { mount, open_page, WINDOWS } from "./browser.js";
import { becomes, callees, changed, choose, image, open_menu, tooltip } from "./hands.js";
import { HOSTILE, hostile_flame, large_flame } from "./made.js";

const [database, role, pictures, ...files] = process.argv.slice(2);
mkdirSync(pictures, { recursive: true });

let count = 0;
let failed = 0;
const test = (name, problems) => {
	count += 1;
	failed += problems.length > 0 ? 1 : 0;
	console.log(`${problems.length > 0 ? "not ok" : "ok"} ${count} - ${name}`);
	problems.forEach((problem) => console.log(`# ${problem.replaceAll("\n", "\n# ").slice(0, 1500)}`));
};

const { page, close } = await open_page();
let errors = [];
page.on("pageerror", (error) => errors.push(String(error)));

/* The panels that Grafana's packages contain. Heat maps and node graphs are not among them. */
const SHOWN = new Set(["flamegraph", "timeseries", "table", "stat"]);

const ROW = 36; // height of a row of the grid in pixels, as in mount.jsx

/* Returns the panels with all collapsed rows open, one below the other. */
const unfolded = (dashboard) => {
	let shift = 0;
	return dashboard.panels.flatMap((panel) => {
		const inner = (panel.panels ?? []).map((each) => ({ ...each, gridPos: { ...each.gridPos, y: each.gridPos.y + shift } }));
		const here = { ...panel, gridPos: { ...panel.gridPos, y: panel.gridPos.y + shift } };
		const tops = inner.map(({ gridPos }) => gridPos.y + gridPos.h);
		shift += inner.length > 0 ? Math.max(...tops) - here.gridPos.y - 1 : 0;
		return [here, ...inner];
	});
};

/* Replaces the variables of a title. */
const titled = (title, variables) => title.replace(/\$(\w+)|\$\{(\w+):text\}/g, (_, bare, braced) => String(variables[bare ?? braced]));

const with_result = async (panel, situation) => {
	const result = await run(database, role, panel.targets[0].rawSql, situation);
	const units = panel.targets.find(({ refId }) => refId === "unit");
	const unit = units ? (await run(database, role, units.rawSql, situation)).rows[0]?.[0] : undefined;
	const unitColumns = panel.transformations.find(({ id }) => id === "configFromData")?.options.applyTo.options;
	return { ...panel, title: titled(panel.title, situation.variables), result, unit: unit ?? "short", unitColumns, range: [situation.range.from, situation.range.to].map(Number) };
};

/* Returns the texts that a panel must show: of a table, the first cells of the first rows. */
const UNIT_TITLES = { ns: "Time", bytes: "RAM", short: "Count" };
const expected_texts = ({ type, result, unit, options }) => {
	const column = (name) => result.fields.findIndex((field) => field.name === name);
	switch (type) {
		case "flamegraph":
			return [`samples (${UNIT_TITLES[unit]})`];
		case "timeseries":
			return options.legend.showLegend === false ? [] : [...new Set(result.rows.map((row) => row[column("metric")]))].slice(0, 5);
		case "table":
			return result.rows.slice(0, 3).map(([first]) => first);
		default:
			return typeof result.rows[0][0] === "string" ? [result.rows[0][0]] : [];
	}
};
const squeezed = (text) => String(text).replace(/\s+/g, " ").trim();
const missing_of = (panel, text) => expected_texts(panel).filter((each) => each !== null && !squeezed(text).includes(squeezed(each)));

const look = () =>
	page.evaluate(() =>
		Object.fromEntries(
			[...document.querySelectorAll("[data-panel]")].map((section) => [
				section.dataset.panel,
				{
					thrown: section.querySelector(".thrown")?.textContent,
					text: section.querySelector(".body")?.innerText ?? "",
					/* pixels of columns that do not fit into the panel */
					cut: [...section.querySelectorAll("[role=grid]")].map((grid) => grid.scrollWidth - grid.clientWidth).find((pixels) => pixels > 1),
					/* dashes for null that have a colour */
					coloured: [...section.querySelectorAll("[role=gridcell], .body :not(:has(*))")].filter(
						(element) => ["-", "–"].includes(element.innerText?.trim()) && getComputedStyle(element).color !== getComputedStyle(section).color,
					).length,
					canvases: [...section.querySelectorAll("canvas")].filter((canvas) => canvas.getBoundingClientRect().width > 200).length,
				},
			]),
		),
	);

const problems_of = (panel, { thrown, text, cut, coloured, canvases }) => [
	...(thrown ? [thrown] : []),
	...missing_of(panel, text).map((each) => `"${each}" is missing in "${squeezed(text).slice(0, 300)}"`),
	...(cut ? [`${cut} pixels of the columns are cut off`] : []),
	...(coloured > 0 ? [`${coloured} dashes for no value are coloured`] : []),
	...(["flamegraph", "timeseries"].includes(panel.type) && canvases === 0 ? ["there is no drawing"] : []),
];

/* Shows panels until they have no problem, at most for half a minute. Returns the problems by the panels' ids. */
const show = async (panels, mode, picture, width = 1400) => {
	errors = [];
	/* the page is not laid out outside the viewport */
	await page.setViewportSize({ width, height: ROW * Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) });
	await mount(page, panels, mode, width);
	let problems;
	for (let tries = 0; tries < 300; tries += 1) {
		const seen = await look();
		problems = new Map(panels.map((panel) => [panel.id, problems_of(panel, seen[panel.id])]));
		if ([...problems.values()].every((each) => each.length === 0) || errors.length > 0) {
			break;
		}
		await page.waitForTimeout(100);
	}
	await page.screenshot({ path: join(pictures, picture) });
	panels.forEach(({ id }) => problems.get(id).push(...errors));
	return problems;
};

const missing_in = (text, wanted) =>
	wanted.filter((each) => !squeezed(text).includes(squeezed(each))).map((each) => `"${squeezed(each).slice(0, 100)}" is missing in "${squeezed(text).slice(-300)}"`);

/* The tooltip shows a frame's name and value, a focused frame fills the width, the sandwich view shows it, and a reset restores the drawing. */
const problems_of_hands = async (frame, name, total) => {
	const said = [name, `Total: ${total}`];
	const problems = missing_in(await tooltip(page, frame), said);
	const before = await image(page);
	await open_menu(page, frame);
	await choose(page, "Focus block");
	await changed(page, before);
	for (const share of [0.02, 0.98]) {
		problems.push(...missing_in(await tooltip(page, { level: frame.level, share }), said));
	}
	await open_menu(page, frame);
	await choose(page, "Sandwich view");
	problems.push(...missing_in(await tooltip(page, { level: 0, share: 0.5 }, await callees(page)), [name]));
	await page.getByRole("button", { name: "Reset focus and sandwich state" }).click();
	await becomes(page, before);
	return [...problems, ...errors];
};

/* A timeout fails this test, but does not stop the others. */
const handled = async (version, frame, name, total) => {
	const problems = await problems_of_hands(frame, name, total).catch((error) => [String(error), ...errors]);
	test(`the flame graph of ${version} answers to hands on ${JSON.stringify(name.slice(0, 40))}`, problems);
};

/* Profiles is shown in all situations. The others build their queries in the same way, so three situations suffice. */
const SOME = ["all", "wrong matchers", "empty range"];
const situations_of = (dashboard) => SITUATIONS.filter(({ name }) => dashboard.uid === "profstore-profiles" || SOME.includes(name));
const MODES = ["dark", "light"];
const looks_of = (situation, i) => (situation.name === "all" ? MODES.flatMap((mode) => WINDOWS.map((width) => [mode, width])) : [[MODES[i % 2], WINDOWS[0]]]);
const name_of_file = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-");

try {
	for (const dashboard of files.map((file) => JSON.parse(readFileSync(file, "utf8")))) {
		for (const [i, situation] of situations_of(dashboard).entries()) {
			const panels = [];
			for (const panel of unfolded(dashboard).filter(({ type }) => SHOWN.has(type))) {
				panels.push(await with_result(panel, situation));
			}
			for (const [mode, width] of looks_of(situation, i)) {
				const problems = await show(panels, mode, `${name_of_file(`${dashboard.title} ${situation.name} ${mode} ${width}`)}.png`, width);
				panels.forEach(({ id, title }) => test(`${dashboard.title}, ${situation.name}, ${mode}, ${width} wide: "${title}" is shown`, problems.get(id)));
			}
		}
	}
	for (const before of [false, true]) {
		const version = before ? "the version before" : "the newest";
		const [hostile] = (await show([hostile_flame(before)], "dark", `hostile-names-${before ? "before" : "now"}.png`)).values();
		test(`the flame graph of ${version} shows hostile names`, hostile);
		for (const [i, name] of HOSTILE.entries()) {
			await handled(version, { level: 1, share: (i + 0.5) / HOSTILE.length }, name, "1 ms");
		}
		const [large] = (await show([large_flame(before, 16384)], "dark", `large-${before ? "before" : "now"}.png`)).values();
		test(`the flame graph of ${version} shows 16,384 frames`, large);
		await handled(version, { level: 1, share: 0.1 }, "function_1", "7.43 s");
	}
} finally {
	disconnect();
	await close();
}
console.log(`1..${count}`);
process.exit(failed > 0 ? 1 : 0);
