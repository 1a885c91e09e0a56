/*
 * report.js
 *		Checks of pages of report_html(): what they show with and without scripts, on paper, by keyboard and to the colour-blind.
 */
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";

const MAX_BYTES = 1_500_000;
const PAPER_PX = 703; /* A4 upright within margins of 12 mm */

const luminance = (rgb) => {
	const [r, g, b] = rgb.map((value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);

/* The colours of texts as they are drawn, beside the page's ground or, of frames, beside their own. */
const texts = (page) =>
	page.evaluate(() => {
		const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
		const rgb = (color) => {
			context.fillStyle = color;
			context.fillRect(0, 0, 1, 1);
			return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
		};
		const ground = rgb(getComputedStyle(document.body).backgroundColor);
		const plain = ["h1", "h2", "dt", "dd", "th", "td", "td.grown", "td.shrunk", ".share", ".quiet", ".key"].flatMap((what) =>
			[...document.querySelectorAll(what)].slice(0, 3).map((node) => ({ what, color: rgb(getComputedStyle(node).color), ground })));
		const frames = [...document.querySelectorAll("#chart g.frame")].map((g) => ({
			what: `frame ${g.getAttribute("name")}`,
			color: rgb(getComputedStyle(g.querySelector(".d3-flame-graph-label")).color),
			ground: rgb(g.querySelector("rect").getAttribute("fill")),
		}));
		return [...plain, ...frames, { what: "series", color: rgb(getComputedStyle(document.querySelector(".series text")).fill), ground }];
	});

const check_contrast = async (page, test, name) => {
	const poor = (await texts(page)).filter(({ color, ground }) => contrast(color, ground) < 4.5);
	test(`texts stand out: ${name}`, poor.length === 0, JSON.stringify(poor.slice(0, 3)));
};

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

const check_paper = async (page, test) => {
	const usual = page.viewportSize();
	await page.setViewportSize({ width: PAPER_PX, height: 990 });
	await page.emulateMedia({ media: "print", colorScheme: "dark" });
	await page.waitForSelector("#chart svg[viewBox]", { state: "attached" });
	test("nothing is wider than the paper", (await overflow(page)) <= 0, `${await overflow(page)} px`);
	const { label, svg, ground } = await page.evaluate(() => ({
		label: parseFloat(getComputedStyle(document.querySelector(".d3-flame-graph-label")).fontSize) *
			document.querySelector("#chart svg").getBoundingClientRect().width / Number(document.querySelector("#chart svg").getAttribute("width")),
		svg: document.querySelector("#chart svg").getBoundingClientRect().right - innerWidth,
		ground: getComputedStyle(document.body).backgroundColor,
	}));
	test("the flame graph can be read on paper", label >= 6 && svg <= 0, `${label} px, ${svg} px beyond`);
	test("paper is white", ground === "rgb(255, 255, 255)", ground);
	test("no button is printed", (await page.locator("nav:visible, input:visible, td button:visible").count()) === 0);
	await check_contrast(page, test, "paper");
	await page.emulateMedia({ media: "screen", colorScheme: "light" });
	await page.setViewportSize(usual);
};

const current = (page) => page.$$eval("#chart g.frame.current", (found) => found.map((g) => g.getAttribute("name")).join());

const check_keyboard = async (page, test) => {
	const press = async (...keys) => {
		for (const key of keys) {
			await page.keyboard.press(key);
		}
		return current(page);
	};
	await page.keyboard.press("/");
	test("/ goes to the search", await page.evaluate(() => document.activeElement.id === "search"));
	await page.focus("#chart");
	test("arrows begin at the root", (await press("ArrowDown")) === "total", await current(page));
	test("down goes to the widest child", (await press("ArrowDown")) === "_start", await current(page));
	test("right goes to its sibling", (await press("ArrowRight")) === "do_syscall_64", await current(page));
	test("left and down go on", (await press("ArrowLeft", "ArrowDown", "ArrowDown")) === "serve", await current(page));
	test("the frame at hand is told", (await page.locator("#tip").isVisible()) && (await page.textContent("#tip")).startsWith("serve"));
	const width = () => page.locator('#chart g.frame[name="serve"] rect').first().evaluate((rect) => rect.getBoundingClientRect().width);
	const before = await width();
	await press("Enter");
	await page.waitForFunction((least) => document.querySelector('#chart g.frame[name="serve"] rect').getBoundingClientRect().width > least, before + 50);
	test("Enter zooms in", (await width()) > before);
	await press("Escape");
	await page.waitForFunction((most) => document.querySelector('#chart g.frame[name="serve"] rect').getBoundingClientRect().width < most, before + 1);
	test("Escape zooms out", Math.abs((await width()) - before) < 1);
	test("up goes to the caller", (await press("ArrowUp")) === "main", await current(page));
};

const values = (page) => page.$$eval("#hottest tbody tr", (rows) => rows.map((tr) => Number(tr.cells[2].dataset.value)));

const check_tables = async (page, test, functions) => {
	const rows = await page.$$eval("#hottest tbody tr, #changed tbody tr", (found) =>
		found.map((tr) => [tr.cells[0].querySelector("bdi").textContent, ...[...tr.cells].slice(1).map((cell) => Number(cell.dataset.value))].join()));
	const missing = functions.filter((f) => !rows.includes([f.name, f.self, f.self - f.base_self, f.total, f.total - f.base_total].join()));
	test("tables have the values of top_diff()", missing.length === 0, JSON.stringify(missing));
	await page.click("#hottest th:nth-child(3) button");
	const sorted = await values(page);
	test("a click on a column sorts", sorted.every((value, i) => i === 0 || sorted[i - 1] >= value), sorted.join());
	const row = page.locator("#hottest tbody tr", { has: page.locator("bdi", { hasText: /^parse$/ }) });
	await row.hover();
	await row.locator("button").click();
	test("a function is found in the graph", (await page.inputValue("#search")) === "^parse$" && (await page.textContent("#matches")).startsWith("1 frames"));
	await page.fill("#search", "");
};

const check_comparison = async (page, test) => {
	const shown = () => page.locator('#chart g.frame[name="gone"]').count();
	test("the graph is of the range at first", (await shown()) === 0);
	await page.click("#compare");
	await page.waitForSelector('#chart g.frame[name="gone"]');
	const hue = (name) => page.locator(`#chart g.frame[name="${name}"] rect`).first().evaluate((rect) => Number(/hsl\((\d+)/.exec(rect.getAttribute("fill"))[1]));
	test("what has gone is blue, what has grown orange", (await hue("gone")) > 200 && Math.abs((await hue("vfs_read")) - 28) < 5);
	await check_contrast(page, test, "comparison");
	await page.click("#compare");
	await page.waitForSelector('#chart g.frame[name="gone"]', { state: "detached" });
	test("and again of the range", (await shown()) === 0);
};

/* functions: rows of top_diff() */
export const check_report = async (page, test, functions) => {
	test("headings and regions have names", (await page.$$eval("section", (all) => all.every((s) => s.hasAttribute("aria-label") || s.hasAttribute("aria-labelledby")))));
	test("the series graph has a name", (await page.getAttribute("svg.series", "aria-label")).includes("cores"));
	await check_keyboard(page, test);
	await check_tables(page, test, functions);
	await check_comparison(page, test);
	await check_contrast(page, test, "light");
	await page.click("#theme");
	await check_contrast(page, test, "dark");
	await page.click("#theme");
	await page.setViewportSize({ width: 390, height: 800 });
	test("it fits a telephone", (await overflow(page)) <= 0, `${await overflow(page)} px`);
	await page.setViewportSize({ width: 1280, height: 900 });
	await check_paper(page, test);
};

/* lines: rows of source() */
export const check_lines = async (page, test, lines) => {
	const rows = await page.$$eval("#lines table:first-of-type tbody tr:not(.gap)", (found) =>
		found.map(({ cells }) => [cells[0].textContent, cells[1].textContent, cells[2].dataset.value ?? "0", cells[3].dataset.value ?? "0"].join("|")));
	const near = lines.filter((l) => lines.some((c) => c.total > 0 && Math.abs(c.line - l.line) <= 3));
	const expected = near.map((l) => [l.line, (l.text ?? "").slice(0, 500), l.self, l.total].join("|"));
	test("the page has the lines of source() with their text and values", expected.length === 10 && rows.join("\n") === expected.join("\n"), rows.join("\n"));
	test("lines that are left out have a mark", (await page.locator("#lines tr.gap").count()) === 1 && lines.length === 11);
	test("a file without a text has its lines' values", (await page.textContent("#lines")).includes("/src/b.c") &&
		(await page.$$eval("#lines table:nth-of-type(2) tbody tr", (found) => found.map((tr) => `${tr.cells[0].textContent} ${tr.cells[2].dataset.value}`).join())) === "1 400000000");
	await check_contrast(page, test, "source lines");
	await page.setViewportSize({ width: 390, height: 800 });
	test("source lines fit a telephone", (await overflow(page)) <= 0, `${await overflow(page)} px`);
	await page.setViewportSize({ width: PAPER_PX, height: 990 });
	await page.emulateMedia({ media: "print" });
	test("source lines fit the paper", (await overflow(page)) <= 0, `${await overflow(page)} px`);
	await page.emulateMedia({ media: "screen" });
	await page.setViewportSize({ width: 1280, height: 900 });
};

/* Where scripts are off: in mail, say. */
export const check_without_scripts = async (browser, test, path) => {
	const page = await (await browser.browser()?.newContext({ javaScriptEnabled: false }) ?? browser).newPage();
	await page.goto(pathToFileURL(path).href);
	const text = await page.innerText("body");
	test("summary and tables need no script", ["10.2 s", "hottest", "+900 ms", "The flame graph needs JavaScript"].every((part) => text.includes(part)), text.slice(0, 500));
	test("no button is left without its script", (await page.locator("button:visible").count()) === 0);
	await page.close();
};

export const check_weight = async (page, test, path) => {
	const frames = await page.evaluate(() => document.getElementById("profile").textContent.split('"value"').length - 1);
	test("8,192 frames", frames === 8192, `${frames}`);
	const bytes = statSync(path).size;
	console.log(`# ${bytes} bytes`);
	test("they weigh 1.5 MB at most", bytes <= MAX_BYTES, `${bytes} bytes`);
};

export const check_nothing = async (page, test) => {
	test("an empty page says why", (await page.textContent(".empty")).includes("no series matches"));
	test("and shows nothing else to try", (await page.locator("#chart:visible, nav:visible").count()) === 0);
};
