/*
 * check.js
 *		Checks of flame-graph pages in a real browser: node check.js PAGE FUNCTION [SCREENSHOT] | --all DIR
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { check_lines, check_nothing, check_report, check_weight, check_without_scripts } from "./report.js";
import { check_d3, check_speedscope } from "./viewers.js";

const [first, second, screenshot] = process.argv.slice(2);
const all = first === "--all";
const hottest = all ? "hottest" : second;
const PATIENCE_MS = 180_000; // a busy machine takes its time
const ARGUMENTS = [
	"--no-sandbox",
	"--disable-gpu",
	"--enable-unsafe-swiftshader",
	"--disable-quic",
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
];

let count = 0;
let failed = 0;
const test = (name, passed, detail = "") => {
	count += 1;
	failed += passed ? 0 : 1;
	console.log(`${passed ? "ok" : "not ok"} ${count} - ${name}${passed ? "" : ` # ${detail}`}`);
};

const directory = mkdtempSync(join(tmpdir(), "profstore-chromium-"));
const browser = await chromium.launchPersistentContext(directory, {
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	headless: true,
	args: ARGUMENTS,
	viewport: { width: 1280, height: 900 },
	timeout: PATIENCE_MS,
});
browser.setDefaultTimeout(PATIENCE_MS);

/* Until nothing moves any more: d3 keeps what is to change at the nodes for as long as it lasts. */
const settled = (page) => page.waitForFunction(() => [...document.querySelectorAll("*")].every((node) => !node.__transition));
const frames = (page) => page.locator("#chart g.frame");
const frame_named = (page, name) => page.locator(`#chart g.frame[name=${JSON.stringify(name)}]`);
const colours = (page) => page.$$eval("#chart g.frame rect", (rects) => rects.map((rect) => rect.getAttribute("fill")));

const check_drawing = async (page) => {
	const names = await page.$$eval("#chart g.frame", (all) => all.map((g) => g.getAttribute("name")));
	test("frames are drawn", names.length > 1, `${names.length} frames`);
	test("the root is \"total\"", names.includes("total"), names.slice(0, 5).join());
	const width = await frame_named(page, "total").first().locator("rect").evaluate((r) => r.getBoundingClientRect().width);
	test("the root is as wide as the page", width > 1000, `${width} px`);
};

const check_search = async (page) => {
	const before = await colours(page);
	await page.fill("#search", hottest);
	await page.waitForFunction(() => document.querySelector("#matches").textContent !== "");
	const found = await page.textContent("#matches");
	test("search counts the hottest function", /^[1-9]\d* frames, (?!0\.00)\d/.test(found), found);
	const marked = await page.$$eval("#chart g.frame", (all) => {
		const match = getComputedStyle(document.documentElement).getPropertyValue("--match").trim();
		return all.filter((g) => g.querySelector("rect").getAttribute("fill") === match).map((g) => g.getAttribute("name"));
	});
	test("search marks its frames", marked.includes(hottest), marked.slice(0, 5).join());
	await page.fill("#search", "no such function anywhere");
	await page.waitForFunction(() => document.querySelector("#matches").textContent.startsWith("0 frames"));
	await page.fill("#search", "(");
	await page.waitForFunction(() => !document.querySelector("#matches").textContent.startsWith("0 frames, no"));
	await page.fill("#search", "");
	await page.waitForFunction(() => document.querySelector("#matches").textContent === "");
	test("an empty search unmarks", JSON.stringify(await colours(page)) === JSON.stringify(before));
};

const check_zoom = async (page) => {
	const frame = frame_named(page, hottest).first();
	const width = () => frame.locator("rect").evaluate((rect) => rect.getBoundingClientRect().width);
	const before = await width();
	await frame.locator("rect").click();
	await settled(page);
	const zoomed = await width();
	test("a click zooms in", zoomed >= before && zoomed > 1000, `${before} to ${zoomed} px`);
	await page.keyboard.press("Escape");
	await settled(page);
	test("Escape zooms out", Math.abs((await width()) - before) < 1, `${before}, then ${await width()} px`);
};

const check_tip = async (page) => {
	await page.mouse.move(5, 5);
	test("no tooltip stays behind", await page.locator("#tip").isHidden());
	await frame_named(page, hottest).first().locator("rect").hover();
	const tip = (await page.locator("#tip").isVisible()) ? await page.textContent("#tip") : "hidden";
	test("the tooltip names the function and its share", tip.includes(hottest) && tip.includes("%"), tip);
	if (screenshot) {
		await page.screenshot({ path: screenshot });
	}
	await page.mouse.move(5, 5);
};

/* Title, search and buttons beside each other, and what the page is of below them: each one line on a usual screen. */
const check_header = async (page) => {
	const usual = page.viewportSize();
	await page.setViewportSize({ width: 1500, height: usual.height });
	const [title, subtitle, form, nav] = await page.$$eval("#title, #subtitle, #search-form, nav", (parts) =>
		["title", "subtitle", "search-form", ""].map((id) => {
			const part = parts.find((candidate) => candidate.id === id);
			const { top, bottom } = part.getBoundingClientRect();
			return { top, bottom, lines: Math.round((bottom - top) / parseFloat(getComputedStyle(part).lineHeight)) };
		}),
	);
	const beside = (a, b) => a.top < b.bottom && b.top < a.bottom;
	const detail = JSON.stringify({ title, subtitle, form, nav });
	test("title, search and buttons are one line", beside(title, form) && beside(form, nav) && title.lines === 1, detail);
	test("what the page is of is one line", subtitle.lines === 1 && subtitle.top >= nav.bottom - 1, detail);
	await page.setViewportSize(usual);
};

const check_table = async (page) => {
	const names = await page.$$eval("#functions tbody tr td:first-child span", (cells) => cells.map((cell) => cell.textContent));
	test("the table of functions has it", names.includes(hottest), names.slice(0, 5).join());
};

const check_direction = async (page) => {
	const top = () => frame_named(page, "total").first().evaluate((g) => g.getBoundingClientRect().top);
	const before = await top();
	await page.click("#direction");
	await settled(page);
	test("the graph can be turned round", (await top()) !== before);
	await page.click("#theme");
	test("the theme can be changed", (await frames(page).count()) > 1);
};

/* --- sandwich: against the rows of profstore.sandwich() --- */

/* A side as SQL has it: levels, names, values; siblings in one order, since those of equal value may stand either way. */
const by_path = (rows) => {
	const path = [];
	return rows
		.map(({ level, name, value }) => {
			path.length = level;
			path.push(name);
			return `${path.join(";")} ${value}`;
		})
		.sort();
};

const side = (page, id) =>
	page.$$eval(`#${id} g.frame`, (found) =>
		found.map((g) => {
			const nodes = g.__data__.ancestors().reverse();
			return `${nodes.map((node) => node.data.name).join(";")} ${g.__data__.data.now ?? g.__data__.data.value}`;
		}).sort(),
	);

const check_sandwich = async (page, expected) => {
	for (const [name, sides] of Object.entries(expected)) {
		await page.evaluate((hash) => {
			location.hash = hash;
		}, `#function=${encodeURIComponent(name)}`);
		await page.waitForSelector("#callees g.frame");
		await page.waitForFunction((text) => document.querySelector("#callers g.frame")?.__data__.ancestors().at(-1).data.name === text, name);
		for (const id of ["callers", "callees"]) {
			const drawn = (await side(page, id)).join("\n");
			test(`${id} of ${name} are those of SQL`, drawn === by_path(sides[id]).join("\n"), drawn);
		}
	}
	const edge = (id, name) => page.locator(`#${id} g.frame[name=${JSON.stringify(name)}]`).first().evaluate((g) => g.getBoundingClientRect().top);
	const name = Object.keys(expected)[0];
	await page.evaluate((hash) => {
		location.hash = hash;
	}, `#function=${encodeURIComponent(name)}`);
	await page.waitForSelector(`#callers g.frame[name=${JSON.stringify(name)}]`);
	await settled(page);
	test("callers stand above the function", (await edge("callers", "main")) < (await edge("callers", name)));
	test("callees stand below it", (await edge("callees", "memcpy")) > (await edge("callees", name)));
	await page.click("#back");
	await page.waitForSelector("#graph g.frame");
};

const check_sandwich_buttons = async (page) => {
	await frame_named(page, hottest).first().locator("rect").click();
	await settled(page);
	await page.click("#sandwich");
	await page.waitForSelector("#callers g.frame");
	test("a clicked function shows its callers", (await page.textContent("#chart h2")).includes(hottest));
	await page.click("#back");
	await page.waitForSelector("#graph g.frame");
	await page.hover("#functions tbody tr:first-child");
	await page.click("#functions tbody tr:first-child button");
	await page.waitForSelector("#callers g.frame");
	const name = await page.textContent("#functions tbody tr:first-child td span");
	test("so does a row of the table", (await page.textContent("#chart h2")).includes(name));
	await page.click("#back");
	await page.waitForSelector("#graph g.frame");
};

/* --- comparison: against the rows of profstore.top_diff() --- */

const hue_of = (page, name) => frame_named(page, name).first().locator("rect").evaluate((rect) => Number(/hsl\((\d+)/.exec(rect.getAttribute("fill"))[1]));

const check_diff = async (page, functions) => {
	const frames_of = await page.$$eval("#graph g.frame", (found) => found.map((g) => ({ name: g.__data__.data.name, base: g.__data__.data.base, now: g.__data__.data.now, depth: g.__data__.depth })));
	const sum = (name, key) => frames_of.filter((frame) => frame.name === name && frame.name !== "recurse").reduce((total, frame) => total + frame[key], 0);
	for (const f of functions.filter(({ name }) => ["hottest", "gone", "memcpy", "parse"].includes(name))) {
		test(`${f.name} has both sides`, sum(f.name, "base") === f.base_total && sum(f.name, "now") === f.total, JSON.stringify(f));
	}
	test("what has grown is orange", Math.abs((await hue_of(page, "total")) - 28) < 5);
	test("what has gone is blue", (await hue_of(page, "gone")) > 200);
	const fills = await colours(page);
	await page.click("#by-share");
	await settled(page);
	test("colours can be of shares", JSON.stringify(await colours(page)) !== JSON.stringify(fills));
	await page.click("#by-share");
	await settled(page);
	await frame_named(page, "gone").first().locator("rect").hover();
	const tip = await page.textContent("#tip");
	test("the tooltip has both sides and the change", tip.includes("500 ms") && tip.includes("gone") && tip.includes("base"), tip);
	await page.mouse.move(5, 5);
	const rows = await page.$$eval("#functions tbody tr", (all_rows) => all_rows.map((tr) => [...tr.children].map((td) => td.textContent)));
	const row = rows.find(([name]) => name.startsWith("gone"));
	test("the table has changes", row !== undefined && row[2].startsWith("−500 ms") && row[2].includes("gone"), JSON.stringify(row));
	test("the table is of all functions that changed", functions.every(({ name }) => rows.some(([first_cell]) => first_cell.startsWith(name))), JSON.stringify(rows));
};

/* --- colours: by mapping, file or function, the largest self value first in the legend --- */

const legend = (page) => page.$$eval("#legend button", (chips) => chips.map((chip) => chip.textContent));

const check_colours = async (page) => {
	const names = ["first_in_a", "second_in_a", "only_in_b"];
	for (const [by, chips, kinds] of [
		["mapping", ["program"], [0, 0, 0]],
		["file", ["a.c", "b.c"], [0, 0, 1]],
		["function", ["only_in_b", "second_in_a", "first_in_a"], [2, 1, 0]],
	]) {
		await page.selectOption("#color-by", by);
		await settled(page);
		test(`the legend is by ${by}`, JSON.stringify(await legend(page)) === JSON.stringify(chips), (await legend(page)).join());
		const hues = await Promise.all(names.map((name) => hue_of(page, name)));
		// a name shades its hue by a few degrees
		const alike = (a, b) => Math.abs(hues[a] - hues[b]) <= 11;
		const pairs = [[0, 1], [0, 2], [1, 2]];
		test(`so are the colours`, pairs.every(([a, b]) => alike(a, b) === (kinds[a] === kinds[b])), hues.join());
	}
	await page.click("#legend button");
	await page.waitForFunction(() => document.querySelector("#matches").textContent.startsWith("1 frames"));
	test("a legend's entry searches for what it stands for", (await page.inputValue("#search")) === "^only_in_b$");
};

/* --- the line below the title: what filters keep of what --- */

const check_share = async (page, filters, texts) => {
	const subtitle = await page.textContent("#subtitle");
	test("the page tells what the filters keep", texts.every((text) => subtitle.includes(text)) && subtitle.endsWith(filters), subtitle);
};

/* --- a page --- */

const open_page = async (path, check) => {
	const problems = [];
	const requests = [];
	const page = await browser.newPage();
	page.on("pageerror", (error) => problems.push(String(error)));
	page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
	page.on("request", (request) => requests.push(request.url()));
	const address = pathToFileURL(path).href;
	try {
		await page.goto(address);
		await page.waitForSelector("#chart svg", { state: "attached" });
		await settled(page);
		await check(page);
		test("nothing is requested from the network", requests.every((url) => url === address), requests.join());
		test("no script fails", problems.length === 0, problems.join("; "));
	} catch (error) {
		test("the page can be driven", false, [String(error).replaceAll("\n", " "), ...problems].join("; "));
	}
	await page.close();
};

const check_page = async (page) => {
	await check_drawing(page);
	await check_search(page);
	await check_zoom(page);
	await check_tip(page);
	await check_table(page);
	await check_header(page);
	await check_sandwich_buttons(page);
	await check_direction(page);
};

const check_all = async (directory_of_pages) => {
	const path = (name) => join(directory_of_pages, name);
	const json = (name) => JSON.parse(readFileSync(path(name), "utf8"));
	for (const name of ["flame.html", "inverted.html"]) {
		await open_page(path(name), async (page) => {
			console.log(`# ${name}`);
			await check_page(page);
			await check_sandwich(page, json("sandwich.json"));
		});
	}
	await open_page(path("deep.html"), async (page) => {
		console.log("# deep.html");
		await check_drawing(page);
		await check_search(page);
		await check_table(page);
	});
	await open_page(path("files.html"), async (page) => {
		console.log("# files.html");
		await check_colours(page);
	});
	await open_page(path("diff.html"), async (page) => {
		console.log("# diff.html");
		await check_drawing(page);
		await check_table(page);
		await check_diff(page, json("diff.json"));
		await check_header(page);
		await check_sandwich_buttons(page);
		await check_direction(page);
	});
	await open_page(path("focus.html"), async (page) => {
		console.log("# focus.html");
		await check_share(page, "focus hottest", [" · 6.5 s, 63.7 % of 10.2 s · "]);
	});
	await open_page(path("focus_diff.html"), async (page) => {
		console.log("# focus_diff.html");
		await check_share(page, "by rate, focus hottest", ["(6.5 s, 63.7 % of 10.2 s) against", "(6 s, 81.1 % of 7.4 s)"]);
		await check_header(page);
	});
	await open_page(path("report.html"), async (page) => {
		console.log("# report.html");
		await check_drawing(page);
		await check_search(page);
		await check_zoom(page);
		await check_report(page, test, json("diff.json"));
	});
	await open_page(path("lines.html"), async (page) => {
		console.log("# lines.html");
		await check_lines(page, test, json("lines.json"));
	});
	await check_without_scripts(browser, test, path("report.html"));
	await open_page(path("nothing.html"), (page) => check_nothing(page, test));
	await open_page(path("heavy.html"), async (page) => {
		console.log("# heavy.html");
		await check_drawing(page);
		await check_weight(page, test, path("heavy.html"));
	});
	console.log("# exports");
	await check_speedscope(browser, test, path("speedscope.json"), json("diff.json"));
	check_d3(test, json("d3.json"), json("diff.json").reduce((sum, f) => sum + f.self, 0));
};

try {
	await (all ? check_all(second) : open_page(first, check_page));
} catch (error) {
	test("the browser can be driven", false, String(error).replaceAll("\n", " "));
} finally {
	await browser.close();
	rmSync(directory, { recursive: true, force: true });
}
console.log(`1..${count}`);
process.exit(failed > 0 ? 1 : 0);
