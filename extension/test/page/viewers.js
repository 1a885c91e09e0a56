/*
 * viewers.js
 *		Exports in the viewers that they are for: speedscope itself, and the shape that d3-flame-graph takes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const release = join(dirname(createRequire(import.meta.url).resolve("speedscope/package.json")), "dist/release");

/* Until it holds, for so long as a busy machine may take; what is tested afterwards tells whether it did. */
const until = async (page, holds) => {
	for (let tries = 0; tries < 300 && !(await holds()); tries += 1) {
		await page.waitForTimeout(100);
	}
};

/*
 * Opens a file in speedscope, from its package: its page runs a script beside the profile, as its command line has it.
 * functions: name, self and total in nanoseconds of what the table must show.
 */
export const check_speedscope = async (browser, test, path, functions) => {
	const problems = [];
	const messages = [];
	const requests = [];
	const script = `${path}.js`;
	const page = await browser.newPage();
	page.on("pageerror", (error) => problems.push(String(error)));
	page.on("console", (message) => messages.push(message.text()));
	page.on("request", (request) => requests.push(request.url()));
	writeFileSync(script, `speedscope.loadFileFromBase64("profile.speedscope.json", "${readFileSync(path).toString("base64")}")`);
	await page.goto(`${pathToFileURL(join(release, "index.html")).href}#localProfilePath=${script}`);
	await page.waitForFunction(() => document.title.includes(":"));
	await until(page, () => messages.includes("Importing as speedscope json file"));
	test("speedscope takes the file as one of its own", messages.includes("Importing as speedscope json file"), messages.join("; "));
	const whole = functions.reduce((sum, f) => sum + f.self, 0);
	const share = (percent) => (percent < 10 ? percent.toFixed(1) : percent.toFixed(0));
	const text = (ns) => `${ns >= 1e9 ? `${(ns / 1e9).toFixed(2)}s` : `${(ns / 1e6).toFixed(2)}ms`} (${share((100 * ns) / whole)}%)`;
	const rows = functions.filter(({ self }) => self > 0).map((f) => [f.name, `${text(f.total)}${text(f.self)}${f.name}`]);
	let table = "";
	await until(page, async () => {
		await page.keyboard.press("3"); /* its view with the table */
		table = await page.textContent("body");
		return rows.every(([, row]) => table.includes(row));
	});
	for (const [name, row] of rows) {
		test(`speedscope shows ${name} as top() does`, table.includes(row), table);
	}
	test("speedscope fails nowhere", problems.length === 0, problems.join("; "));
	test("speedscope's own files are all that is loaded", requests.every((url) => url.startsWith("file:") || url.startsWith("data:") || url.startsWith("blob:")), requests.join());
	await page.close();
};

/* A tree of name, value, children, in which no children are more than their parent. */
export const check_d3 = (test, tree, whole) => {
	const wrong = [];
	const open = [tree];
	while (open.length > 0) {
		const node = open.pop();
		const children = node.children ?? [];
		if (typeof node.name !== "string" || !Number.isInteger(node.value) || !Array.isArray(children)) {
			wrong.push(JSON.stringify(node).slice(0, 80));
		} else if (children.reduce((sum, child) => sum + child.value, 0) > node.value) {
			wrong.push(`${node.name} is less than its children`);
		}
		open.push(...children);
	}
	test("the tree for d3-flame-graph has its shape", wrong.length === 0, wrong.join("; "));
	test("its root is the whole", tree.value === whole, String(tree.value));
};
