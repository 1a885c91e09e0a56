/*
 * hands.js
 *		Uses the flame graph on the page like a person: points at a frame, opens its menu, clicks an item. A frame is identified by
 *		its position in the drawing: its level, 0 for the uppermost, and a share of the width.
 */
import { painted, PATIENCE_MS } from "./browser.js";

const LEVEL = 22; // height of a frame in pixels

const drawings = (page) => page.locator("[data-testid=flameGraph]");

export const drawn = (page) => drawings(page).first().waitFor();

const at = async (drawing, { level, share }) => {
	const { width } = await drawing.boundingBox();
	return { position: { x: Math.round(width * share), y: (level + 0.5) * LEVEL } };
};

/* Returns the drawing as text, for comparisons. */
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

/* Returns the text of a frame's tooltip. The mouse enters from outside, so that an earlier tooltip has disappeared. */
export const tooltip = async (page, frame, drawing = drawings(page).first()) => {
	await page.mouse.move(0, 0);
	await painted(page);
	await drawing.hover(await at(drawing, frame));
	const shown = page.locator("#grafana-portal-container");
	await shown.getByText("Samples:").waitFor();
	return shown.innerText();
};

/* Returns the second drawing of the sandwich view, whose root is the function. */
export const callees = async (page) => {
	const drawing = drawings(page).nth(1);
	await drawing.waitFor();
	return drawing;
};
