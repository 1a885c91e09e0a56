/*
 * browser.js
 *		Chromium with the page that mount.jsx fills.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const PATIENCE_MS = 180_000; // a busy machine takes its time

/* { page, close } */
export const open_page = async () => {
	const directory = mkdtempSync(join(tmpdir(), "profstore-chromium-"));
	const browser = await chromium.launchPersistentContext(directory, {
		executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
		headless: true,
		args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"],
		viewport: { width: 1400, height: 900 },
		timeout: PATIENCE_MS,
	});
	browser.setDefaultTimeout(PATIENCE_MS);
	const page = await browser.newPage();
	await page.goto(new URL("panel.html", import.meta.url).href);
	const close = async () => {
		await browser.close();
		rmSync(directory, { recursive: true, force: true });
	};
	return { page, close };
};

/* width: of all panels together, what a window's edges and its bar leave */
const EDGES = 40;
export const WINDOWS = [1280, 1920];
export const mount = (page, panels, mode, window_width = 1400) => page.evaluate((data) => window.mount(data), { panels, mode, width: window_width - EDGES });

/* Until what was done is on the screen. */
export const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
