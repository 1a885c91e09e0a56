/*
 * browser.js
 *		Opens Chromium with the page of mount.jsx.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const PATIENCE_MS = 180_000; // enough for a loaded machine

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

/* The edges and the scroll bar of a window; the panels have the rest of its width. */
const EDGES = 40;
export const WINDOWS = [1280, 1920];
export const mount = (page, panels, mode, window_width = 1400) => page.evaluate((data) => window.mount(data), { panels, mode, width: window_width - EDGES });

/* Waits until all changes have been painted. */
export const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
