/*
 * bench.js
 *		Measures a flame graph of 16,384 frames: the time until it is drawn, until a search has marked its results, until a click
 *		opens the menu of a frame, until the frame fills the width, and until the sandwich view is shown. A flame graph of 64 frames
 *		shows the part that the page itself takes. Prints the least of several runs, in milliseconds of elapsed time and of processor
 *		time of the page's thread, which does not depend on other load. Ends with 1 if a step takes more than a second of processor
 *		time.
 */
import { mount, open_page, painted } from "./browser.js";
import { callees, changed, choose, drawn, image, open_menu } from "./hands.js";
import { large_flame } from "./made.js";

const BOUND_MS = 1000;
const RUNS = 5;

const { page, close } = await open_page();
const devtools = await page.context().newCDPSession(page);
await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
const processor_ms = async () => {
	const { metrics } = await devtools.send("Performance.getMetrics");
	return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
};

const timed = async (action) => {
	const [begin, used] = [performance.now(), await processor_ms()];
	await action();
	await painted(page);
	return { elapsed: performance.now() - begin, processor: (await processor_ms()) - used };
};

const FRAME = { level: 1, share: 0.1 };
const STEPS = {
	drawn: async (panel) => {
		await mount(page, [panel], "dark");
		await drawn(page);
	},
	/* Frames that do not match turn grey, which changes the drawing. */
	search: async () => {
		const before = await image(page);
		await page.getByPlaceholder("Search...").fill("function_17");
		await changed(page, before);
	},
	menu: () => open_menu(page, FRAME),
	focus: async () => {
		const before = await image(page);
		await choose(page, "Focus block");
		await changed(page, before);
	},
	sandwich: async () => {
		await choose(page, "Sandwich view");
		await callees(page);
	},
};
/* Actions before a step that are not measured. */
const BETWEEN = { sandwich: () => open_menu(page, FRAME) };

const least = (runs, key) => Math.min(...runs.map((run) => run[key]));
const columns = Object.keys(STEPS);
const measured = async (panel) => {
	const runs = Object.fromEntries(columns.map((column) => [column, []]));
	for (let i = 0; i <= RUNS; i += 1) {
		for (const column of columns) {
			await BETWEEN[column]?.();
			runs[column].push(await timed(() => STEPS[column](panel)));
		}
	}
	return columns.map((column) => ({ elapsed: least(runs[column], "elapsed"), processor: least(runs[column], "processor") }));
};

let slowest = 0;
console.log(`${"least ms, elapsed / of processor time".padEnd(44)}${columns.map((name) => name.padStart(14)).join("")}`);
try {
	for (const before of [false, true]) {
		for (const frames of [64, 16384]) {
			const times = await measured(large_flame(before, frames));
			slowest = Math.max(slowest, ...times.map(({ processor }) => processor));
			const cells = times.map(({ elapsed, processor }) => `${elapsed.toFixed(0)} / ${processor.toFixed(0)}`.padStart(14));
			console.log(`${`${before ? "the version before" : "the newest"}, ${frames} frames`.padEnd(44)}${cells.join("")}`);
		}
	}
} finally {
	await close();
}
console.log(`slowest: ${slowest.toFixed(0)} ms of processor time (at most ${BOUND_MS})`);
process.exit(slowest > BOUND_MS ? 1 : 0);
