/*
 * hands.js
 *		What somebody does with the flame graph on the page: points at a frame, opens its menu, chooses from it. A frame is
 *		told by where it is in the drawing: its level, 0 for the uppermost, and a share of the width.
 */
import { painted, PATIENCE_MS } from "./browser.js";

const LEVEL = 22; // how high a frame is, in pixels

const drawings = (page) => page.locator("[data-testid=flameGraph]");

export const drawn = (page) => drawings(page).first().waitFor();

const at = async (drawing, { level, share }) => {
	const { width } = await drawing.boundingBox();
	return { position: { x: Math.round(width * share), y: (level + 0.5) * LEVEL } };
};

/* What the drawing is, to be held against what it was. */
export const image = (page) => drawings(page).first().evaluate((canvas) => canvas.toDataURL());

const until = async (page, is_so) => {
	const end = performance.now() + PATIENCE_MS;
	while (!is_so(await image(page))) {
		if (performance.now() > end) {
			throw new Error("the drawing does not change as it should");
		}
		await painted(page);
	}
};

export const changed = (page, before) => until(page, (now) => now !== before);

export const becomes = (page, wanted) => until(page, (now) => now === wanted);

export const open_menu = async (page, frame) => {
	const drawing = drawings(page).first();
	await drawing.click(await at(drawing, frame));
	await page.getByRole("menuitem", { name: "Focus block" }).waitFor();
};

export const choose = (page, item) => page.getByRole("menuitem", { name: item }).click();

/* What stands beside the mouse; it is moved there from outside, so that what stood there before is gone. */
export const tooltip = async (page, frame, drawing = drawings(page).first()) => {
	await page.mouse.move(0, 0);
	await painted(page);
	await drawing.hover(await at(drawing, frame));
	const shown = page.locator("#grafana-portal-container");
	await shown.getByText("Samples:").waitFor();
	return shown.innerText();
};

/* A function between its callers and callees has two drawings; the callees begin with itself. */
export const callees = async (page) => {
	const drawing = drawings(page).nth(1);
	await drawing.waitFor();
	return drawing;
};
