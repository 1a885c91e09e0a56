/*
 * check.js
 *		Checks of a flame-graph page in a real browser: node check.js PAGE FUNCTION [SCREENSHOT]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page_path, hottest, screenshot] = process.argv.slice(2);
const ARGUMENTS = [
	"--no-sandbox",
	"--disable-gpu",
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
});

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
	await page.waitForTimeout(600);
	const zoomed = await width();
	test("a click zooms in", zoomed >= before && zoomed > 1000, `${before} to ${zoomed} px`);
	await page.keyboard.press("Escape");
	await page.waitForTimeout(600);
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

const check_table = async (page) => {
	const names = await page.$$eval("#functions tbody tr td:first-child", (cells) => cells.map((cell) => cell.textContent));
	test("the table of functions has it", names.includes(hottest), names.slice(0, 5).join());
};

const check_direction = async (page) => {
	const top = () => frame_named(page, "total").first().evaluate((g) => g.getBoundingClientRect().top);
	const before = await top();
	await page.click("#direction");
	await page.waitForTimeout(600);
	test("the graph can be turned round", (await top()) !== before);
	await page.click("#theme");
	test("the theme can be changed", (await frames(page).count()) > 1);
};

const problems = [];
try {
	const page = await browser.newPage();
	const requests = [];
	page.on("pageerror", (error) => problems.push(String(error)));
	page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
	page.on("request", (request) => requests.push(request.url()));
	const address = pathToFileURL(page_path).href;
	await page.goto(address);
	await page.waitForSelector("#chart g.frame");
	await page.waitForTimeout(600);
	await check_drawing(page);
	await check_search(page);
	await check_zoom(page);
	await check_tip(page);
	await check_table(page);
	await check_direction(page);
	test("nothing is requested from the network", requests.every((url) => url === address), requests.join());
	test("no script fails", problems.length === 0, problems.join("; "));
} catch (error) {
	test("the page can be driven", false, [String(error).replaceAll("\n", " "), ...problems].join("; "));
} finally {
	await browser.close();
	rmSync(directory, { recursive: true, force: true });
}
console.log(`1..${count}`);
process.exit(failed > 0 ? 1 : 0);
