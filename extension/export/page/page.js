/*
 * page.js
 *		The page around the flame graphs: title, legend, search, buttons, table of functions.
 */
import "./page.css";
import { colorBy, draw, fitToPaper, isDark, resetZoom, search, selectedFunction, view, wholeText } from "./chart.js";
import { changeColor } from "./colors.js";
import { wireKeyboard } from "./keyboard.js";
import { changeText, isDiff, keptText, profile, showBothSides, whole, wholeBase, wholeBaseUnfiltered, wholeNow, wholeUnfiltered } from "./profile.js";
import { isReport, wireReport } from "./report.js";
import { fillTable } from "./table.js";

const SEARCH_DELAY_MS = 150;
const LEGEND_ENTRIES = 8;
const SANDWICH = "#function=";

const byId = (id) => document.getElementById(id);

/* Searches for a whole text, as if it had been typed. */
const searchFor = (text) => {
	byId("search").value = wholeText(text);
	search(byId("search").value);
};

/* --- callers and callees: the address tells of which function, so a link can --- */

const readAddress = () => {
	try {
		view.sandwich = location.hash.startsWith(SANDWICH) ? decodeURIComponent(location.hash.slice(SANDWICH.length)) : null;
	} catch {
		view.sandwich = null;
	}
};

const showSandwich = (name) => {
	byId("search").value = "";
	view.term = "";
	location.hash = name === null ? "" : SANDWICH + encodeURIComponent(name);
	scrollTo({ top: 0 });
};

/* --- legend: the mappings, files or functions by self value, or what the colours of changes mean --- */

const hueChips = () =>
	[...view.hues].slice(0, LEGEND_ENTRIES).map(([key, hue]) => {
		const chip = document.createElement("button");
		chip.type = "button";
		chip.title = `Search for ${key}`;
		chip.style.setProperty("--swatch", `hsl(${hue} 72% 66%)`);
		chip.textContent = view.colorBy === "function" ? key : key.slice(key.lastIndexOf("/") + 1);
		chip.addEventListener("click", () => searchFor(key));
		return chip;
	});

const changeChips = () =>
	[[-1, "gone"], [-0.3, "−30 %"], [0, "as before"], [0.3, "+30 %"], [1, "double or new"]].map(([change, name]) => {
		const chip = Object.assign(document.createElement("span"), { className: "chip", textContent: name });
		chip.style.setProperty("--swatch", changeColor(change, isDark()));
		return chip;
	});

const fillLegend = () => {
	byId("legend").replaceChildren(...(isDiff ? changeChips() : hueChips()));
};

/* --- the rest of the page --- */

const setTheme = (theme) => {
	document.documentElement.dataset.theme = theme;
};

const drawAgain = () => {
	draw();
	fillLegend();
	byId("color-by").hidden = isDiff;
	byId("by-share").hidden = !isDiff;
	byId("by-share").textContent = view.byShare ? "Colour by value" : "Colour by share";
	byId("compare").textContent = isDiff ? "This range alone" : "What changed";
};

const wireSearch = () => {
	let timer = 0;
	byId("search").addEventListener("input", (event) => {
		clearTimeout(timer);
		timer = setTimeout(() => search(event.target.value), SEARCH_DELAY_MS);
	});
	byId("search-form").addEventListener("submit", (event) => {
		event.preventDefault();
		search(byId("search").value);
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "/" && document.activeElement !== byId("search")) {
			event.preventDefault();
			byId("search").focus();
		} else if (event.key === "Escape") {
			byId("search").value = "";
			search("");
			resetZoom();
		}
	});
};

const wireButtons = () => {
	byId("reset").addEventListener("click", resetZoom);
	byId("sandwich").addEventListener("click", () => showSandwich(selectedFunction()));
	byId("back").addEventListener("click", () => showSandwich(null));
	byId("to-functions").addEventListener("click", () => byId(isReport ? "hottest" : "functions").scrollIntoView({ behavior: "smooth" }));
	byId("direction").addEventListener("click", () => {
		view.icicle = !view.icicle;
		drawAgain();
	});
	byId("color-by").addEventListener("change", (event) => {
		colorBy(event.target.value);
		drawAgain();
	});
	byId("compare").hidden = !isReport;
	byId("compare").addEventListener("click", () => {
		showBothSides(!isDiff);
		colorBy(byId("color-by").value);
		drawAgain();
	});
	byId("by-share").addEventListener("click", () => {
		view.byShare = !view.byShare;
		drawAgain();
	});
	byId("theme").addEventListener("click", () => {
		setTheme(isDark() ? "light" : "dark");
		drawAgain();
	});
	addEventListener("hashchange", () => {
		readAddress();
		drawAgain();
	});
	matchMedia("print").addEventListener("change", fitToPaper);
	let width = innerWidth;
	addEventListener("resize", () => {
		if (innerWidth !== width) {
			width = innerWidth;
			drawAgain();
		}
	});
};

const toSeconds = (time) => time.replace(/\.\d+/, "");
const day = (time) => time.slice(0, "2000-01-01 ".length);

/* The day of its end only where it is another one. */
const rangeText = (from, to) => `${toSeconds(from)} – ${toSeconds(day(from) === day(to) ? to.slice(day(to).length) : to)}`;

const describe = () => {
	const range = rangeText(profile.from, profile.to);
	if (!isDiff) {
		return [range, keptText(whole, wholeUnfiltered), profile.detail];
	}
	const base = rangeText(profile.base_from, profile.base_to);
	return [
		`${range} (${keptText(wholeNow, wholeUnfiltered)}) against ${base} (${keptText(wholeBase, wholeBaseUnfiltered)})`,
		profile.base_selector && `base ${profile.base_selector}`,
		`change ${changeText(wholeBase, wholeNow)}`,
		profile.detail,
	];
};

setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
document.title = byId("title").textContent = byId("title").title = profile.title;
byId("subtitle").textContent = describe().filter(Boolean).join(" · ");
byId("subtitle").hidden = isReport;
if (isReport && wholeNow !== 0) {
	showBothSides(false);
}
colorBy(byId("color-by").value);
wireSearch();
wireButtons();
wireKeyboard(byId("chart"), view);
readAddress();
drawAgain();
if (isReport) {
	wireReport((name) => {
		searchFor(name);
		byId("chart").scrollIntoView({ behavior: "smooth" });
	});
} else {
	const search = (name) => {
		searchFor(name);
		scrollTo({ top: 0, behavior: "smooth" });
	};
	fillTable({ search, sandwich: showSandwich });
}
