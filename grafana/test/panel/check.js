/*
 * check.js
 *		Shows every flame graph of the dashboards in Grafana's own panel, in a real browser.
 *
 *	node check.js DATABASE ROLE SCREENSHOT.png DASHBOARD.json ...
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { disconnect, run } from "../datasource.js";
import { SITUATIONS } from "../situations.js";

const [database, role, screenshot, ...dashboards] = process.argv.slice(2);

let count = 0;
let failed = 0;
const test = (name, passed, detail) => {
	count += 1;
	failed += passed ? 0 : 1;
	console.log(`${passed ? "ok" : "not ok"} ${count} - ${name}${passed ? "" : ` # ${detail}`}`);
};

const directory = mkdtempSync(join(tmpdir(), "profstore-chromium-"));
const PATIENCE_MS = 180_000; // a busy machine takes its time
const browser = await chromium.launchPersistentContext(directory, {
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	headless: true,
	args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"],
	viewport: { width: 1400, height: 900 },
	timeout: PATIENCE_MS,
});
browser.setDefaultTimeout(PATIENCE_MS);

/* The line above the graph tells the total in its unit. */
const UNIT_TITLES = { ns: "Time", bytes: "RAM", short: "Count" };
const missing_of = (frame, seen) => [`samples (${UNIT_TITLES[frame.unit]})`].filter((text) => !seen.text.includes(text));

/* One dashboard's panels are shown in all situations, the others', which are asked the same way, in the first and the last. */
const situations_of = (dashboard) => (dashboard.uid === "profstore-profiles" ? SITUATIONS : [SITUATIONS[0], SITUATIONS.at(-1)]);
const panels_of = (dashboard) => dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]).filter(({ type }) => type === "flamegraph");

const page = await browser.newPage();
let errors = [];
page.on("pageerror", (error) => errors.push(String(error)));
await page.goto(new URL("panel.html", import.meta.url).href);

/* What a person sees, once all of it is there: the graph, all text, or what the panel threw. */
const show = async (frame, picture) => {
	errors = [];
	await page.evaluate((data) => window.mount(data), frame);
	await page.waitForSelector("[data-testid=flameGraph], #thrown", { timeout: PATIENCE_MS });
	let seen;
	for (let tries = 0; tries < 300; tries += 1) {
		await page.waitForTimeout(100);
		seen = await page.evaluate(() => ({
			thrown: document.querySelector("#thrown")?.textContent,
			canvas: document.querySelector("[data-testid=flameGraph]")?.getBoundingClientRect().width ?? 0,
			text: document.body.innerText,
		}));
		if (seen.thrown || (seen.canvas > 300 && missing_of(frame, seen).length === 0)) {
			break;
		}
	}
	if (picture) {
		await page.screenshot({ path: picture });
	}
	return { ...seen, errors };
};

try {
	for (const file of dashboards) {
		const dashboard = JSON.parse(readFileSync(file, "utf8"));
		for (const panel of panels_of(dashboard)) {
			for (const situation of situations_of(dashboard)) {
				const rows = await run(database, role, panel.targets[0].rawSql, situation);
				const units = await run(database, role, panel.targets[1].rawSql, situation);
				const frame = { ...rows, unit: units.rows[0]?.[0] ?? "short", options: panel.options };
				const seen = await show(frame, situation === SITUATIONS[0] && panel.title === "Difference" ? screenshot : null);
				const name = `${dashboard.title}, ${situation.name}: "${panel.title}"`;
				test(`${name} is drawn`, !seen.thrown && seen.canvas > 300 && seen.errors.length === 0, JSON.stringify(seen));
				const missing = missing_of(frame, seen);
				test(`${name} tells total and unit`, missing.length === 0, `missing: ${missing.join()}`);
			}
		}
	}
} finally {
	disconnect();
	await browser.close();
	rmSync(directory, { recursive: true, force: true });
}
console.log(`1..${count}`);
process.exit(failed > 0 ? 1 : 0);
