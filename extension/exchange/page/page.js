/*
 * page.js
 *		Draws the profile that the page carries: flame graph, search, zoom, tooltips, table of functions.
 */
import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";
import "./page.css";
import { formatShare, formatValue } from "./format.js";
import { sumFunctions } from "./functions.js";

const FRAME_HEIGHT_PX = 20;
const MIN_FRAME_WIDTH_PX = 0.6;
const TABLE_ROWS = 100;
const SEARCH_DELAY_MS = 150;

const byId = (id) => document.getElementById(id);
const profile = JSON.parse(byId("profile").textContent);
const whole = profile.tree.value;
const functions = sumFunctions(profile.tree);

/* The root stands on top, where it is seen however deep the stacks are. */
const state = { term: "", icicle: true, sort: "self" };

const valueText = (value) => formatValue(value, profile.unit);
const shareText = (value) => formatShare(value, whole);

/* --- colours: a hue per binary, so that what belongs together looks alike --- */

const hash = (text) => {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) {
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	}
	return h >>> 0;
};

/* The largest binaries get the hues that differ most. */
const HUES = [24, 48, 8, 140, 190, 88, 268, 215, 330, 170, 64, 300];
const UNKNOWN_HUE = 36;

const chooseHues = (root) => {
	const selfs = new Map();
	const walk = [...(root.children ?? [])];
	while (walk.length > 0) {
		const frame = walk.pop();
		const children = frame.children ?? [];
		const self = frame.value - children.reduce((sum, child) => sum + child.value, 0);
		if (frame.binary) {
			selfs.set(frame.binary, (selfs.get(frame.binary) ?? 0) + self);
		}
		for (const child of children) {
			walk.push(child);
		}
	}
	const binaries = [...selfs.keys()].sort((a, b) => selfs.get(b) - selfs.get(a));
	return new Map(binaries.map((binary, i) => [binary, HUES[i % HUES.length]]));
};

const hues = chooseHues(profile.tree);

const isDark = () => document.documentElement.dataset.theme === "dark";

const frameColor = (node) => {
	const frame = node.data;
	if (node.highlight) {
		return getComputedStyle(document.documentElement).getPropertyValue("--match").trim();
	}
	if (node.depth === 0 || frame.truncated) {
		return `hsl(220 8% ${isDark() ? 52 : 84}%)`;
	}
	const shade = (hash(frame.name) % 100) / 100;
	const hue = frame.binary ? hues.get(frame.binary) : UNKNOWN_HUE;
	return `hsl(${hue + (shade - 0.5) * 10} ${62 + shade * 18}% ${(isDark() ? 60 : 69) + shade * 9}%)`;
};

/* --- tooltip --- */

const tip = byId("tip");

const tipRow = (list, name, value) => {
	if (value) {
		list.append(Object.assign(document.createElement("dt"), { textContent: name }));
		list.append(Object.assign(document.createElement("dd"), { textContent: value }));
	}
};

const showTip = (event, node) => {
	const frame = node.data;
	const list = document.createElement("dl");
	const children = (frame.children ?? []).reduce((sum, child) => sum + child.value, 0);
	const self = frame.value - children;

	tipRow(list, "total", `${valueText(frame.value)} · ${shareText(frame.value)}`);
	tipRow(list, "self", `${valueText(self)} · ${shareText(self)}`);
	tipRow(list, "of parent", node.parent && node.parent.depth > 0 ? formatShare(frame.value, node.parent.data.value) : "");
	tipRow(list, "source", frame.file && (frame.line ? `${frame.file}:${frame.line}` : frame.file));
	tipRow(list, "binary", frame.binary);
	tipRow(list, "", frame.truncated ? "small frames that were cut: ask for more nodes, or focus" : "");
	tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: frame.name }), list);
	tip.hidden = false;
	const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
	const below = event.clientY + 18;
	const y = below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : below;
	tip.style.left = `${Math.max(x, 8)}px`;
	tip.style.top = `${Math.max(y, 8)}px`;
};

/* what d3-flame-graph wants: a function that is called with the svg, with show and hide on it */
const tooltip = Object.assign(() => {}, {
	show: showTip,
	hide: () => {
		tip.hidden = true;
	},
});

/* --- search --- */

const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const matcher = (term) => {
	try {
		return new RegExp(term, "i");
	} catch {
		/* an unfinished expression is looked for as it stands */
		return new RegExp(literally(term), "i");
	}
};

let pattern = null;
const matches = (frame) => [frame.name, frame.file, frame.binary].some((text) => text && pattern.test(text));

/* --- the chart --- */

let chart = null;

const draw = () => {
	const box = byId("chart");
	box.replaceChildren();
	chart = flamegraph()
		.width(box.clientWidth)
		.cellHeight(FRAME_HEIGHT_PX)
		.minFrameSize(MIN_FRAME_WIDTH_PX)
		.transitionDuration(matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250)
		.inverted(state.icicle)
		.tooltip(tooltip)
		.setColorMapper(frameColor)
		.setSearchMatch((node) => pattern !== null && node.depth > 0 && matches(node.data))
		.setSearchHandler((found, sum) => {
			byId("matches").textContent = pattern === null ? "" : `${found.length} frames, ${shareText(sum)}`;
		})
		.onClick((node) => {
			byId("reset").disabled = node.depth === 0;
		});
	select(box).datum(structuredClone(profile.tree)).call(chart);
	byId("reset").disabled = true;
	search(state.term);
};

const search = (term) => {
	state.term = term;
	pattern = term === "" ? null : matcher(term);
	if (pattern === null) {
		chart.clear();
		byId("matches").textContent = "";
	} else {
		chart.search(term);
	}
};

/* Searches for a whole text, as if it had been typed. */
const searchFor = (text) => {
	byId("search").value = `^${literally(text)}$`;
	search(byId("search").value);
};

/* --- legend: the binaries by self value --- */

const LEGEND_ENTRIES = 8;

const fillLegend = () => {
	const chips = [...hues].slice(0, LEGEND_ENTRIES).map(([binary, hue]) => {
		const chip = document.createElement("button");
		chip.type = "button";
		chip.title = `Search for ${binary}`;
		chip.style.setProperty("--hue", hue);
		chip.textContent = binary.slice(binary.lastIndexOf("/") + 1);
		chip.addEventListener("click", () => searchFor(binary));
		return chip;
	});
	byId("legend").replaceChildren(...chips);
};

/* --- table of functions --- */

const cell = (value) => {
	const td = document.createElement("td");
	td.className = "number";
	td.style.setProperty("--part", `${whole ? (100 * value) / whole : 0}%`);
	td.append(`${valueText(value)} `, Object.assign(document.createElement("span"), { className: "share", textContent: shareText(value) }));
	return td;
};

const fillTable = () => {
	const order = {
		name: (a, b) => (a.name < b.name ? -1 : 1),
		self: (a, b) => b.self - a.self || b.total - a.total,
		total: (a, b) => b.total - a.total || b.self - a.self,
	}[state.sort];
	const rows = [...functions].sort(order).slice(0, TABLE_ROWS).map((f) => {
		const tr = document.createElement("tr");
		const name = document.createElement("td");
		name.textContent = f.name;
		name.title = "Search for this function";
		name.addEventListener("click", () => {
			searchFor(f.name);
			scrollTo({ top: 0, behavior: "smooth" });
		});
		tr.append(name, cell(f.self), cell(f.total));
		return tr;
	});
	document.querySelector("#functions tbody").replaceChildren(...rows);
	byId("more").textContent = functions.length > TABLE_ROWS ? `${TABLE_ROWS} of ${functions.length} functions.` : "";
	for (const button of document.querySelectorAll("[data-sort]")) {
		button.setAttribute("aria-pressed", String(button.dataset.sort === state.sort));
	}
};

/* --- the rest of the page --- */

const setTheme = (theme) => {
	document.documentElement.dataset.theme = theme;
};

const drawAgain = () => {
	draw();
	byId("direction").textContent = state.icicle ? "Flames" : "Icicle";
};

const wire = () => {
	let timer = 0;
	byId("search").addEventListener("input", (event) => {
		clearTimeout(timer);
		timer = setTimeout(() => search(event.target.value), SEARCH_DELAY_MS);
	});
	byId("search-form").addEventListener("submit", (event) => {
		event.preventDefault();
		search(byId("search").value);
	});
	byId("reset").addEventListener("click", () => chart.resetZoom());
	byId("to-functions").addEventListener("click", () => byId("functions").scrollIntoView({ behavior: "smooth" }));
	byId("direction").addEventListener("click", () => {
		state.icicle = !state.icicle;
		drawAgain();
	});
	byId("theme").addEventListener("click", () => {
		setTheme(isDark() ? "light" : "dark");
		drawAgain();
	});
	for (const button of document.querySelectorAll("[data-sort]")) {
		button.addEventListener("click", () => {
			state.sort = button.dataset.sort;
			fillTable();
		});
	}
	document.addEventListener("keydown", (event) => {
		if (event.key === "/" && document.activeElement !== byId("search")) {
			event.preventDefault();
			byId("search").focus();
		} else if (event.key === "Escape") {
			byId("search").value = "";
			search("");
			chart.resetZoom();
		}
	});
	let width = innerWidth;
	addEventListener("resize", () => {
		if (innerWidth !== width) {
			width = innerWidth;
			drawAgain();
		}
	});
};

setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
document.title = profile.title;
byId("title").textContent = profile.title;
const toSeconds = (time) => time.replace(/\.\d+/, "");
byId("subtitle").textContent = [`${toSeconds(profile.from)} – ${toSeconds(profile.to)}`, valueText(whole), profile.detail]
	.filter(Boolean)
	.join(" · ");
wire();
drawAgain();
fillLegend();
fillTable();
