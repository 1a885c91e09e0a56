/*
 * chart.js
 *		Flame graphs: one of everything, or the two of a function's callers and callees.
 */
import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";
import { changeColor, changeOf, chooseHues, hueColor, quietColor } from "./colors.js";
import { formatShare } from "./format.js";
import { isDiff, profile, whole, wholeBase, wholeNow } from "./profile.js";
import { hideTip, showTip } from "./tip.js";
import { copyTree, makeSandwich } from "./tree.js";

const FRAME_HEIGHT_PX = 20;
const MIN_FRAME_WIDTH_PX = 0.6;

const byId = (id) => document.getElementById(id);

/* The root stands on top, where it is seen however deep the stacks are. */
export const view = { icicle: true, byShare: false, colorBy: "mapping", hues: new Map(), sandwich: null, term: "" };

/* mapping, file or function */
export const colorBy = (by) => {
	view.colorBy = by;
	view.hues = isDiff ? new Map() : chooseHues(profile.tree, by);
};
export const isDark = () => document.documentElement.dataset.theme === "dark";

/* What is drawn, of all charts, and whether a frame's children stand below it. */
export const chartFrames = () => [...byId("chart").querySelectorAll("g.frame")];
export const isIcicle = (g) => charts.find(({ box }) => box.contains(g)).icicle;

let charts = [];
let selected = null; /* the function that was clicked last */
let pattern = null;

/* --- colours --- */

const changeOfFrame = (frame) =>
	view.byShare ? changeOf(wholeBase ? frame.base / wholeBase : 0, wholeNow ? frame.now / wholeNow : 0) : changeOf(frame.base, frame.now);

const frameColor = (node) => {
	const frame = node.data;
	if (node.highlight) {
		return getComputedStyle(document.documentElement).getPropertyValue("--match").trim();
	}
	if (isDiff) {
		return changeColor(changeOfFrame(frame), isDark());
	}
	if ((node.depth === 0 && view.sandwich === null) || frame.truncated) {
		return quietColor(isDark());
	}
	return hueColor(frame, view.colorBy, view.hues, isDark());
};

/* --- search --- */

const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
export const wholeText = (text) => `^${literally(text)}$`;

const matcher = (term) => {
	try {
		return new RegExp(term, "i");
	} catch {
		/* an unfinished expression is looked for as it stands */
		return new RegExp(literally(term), "i");
	}
};

const matches = (frame) => [frame.name, frame.file, frame.mapping].some((text) => text && pattern.test(text));

/*
 * Marks the frames that match, and adds up the outermost of them; of a tree as d3-flame-graph has it, whose own search
 * calls itself for each level, and ends at some thousand.
 */
const markFrames = (root) => {
	const found = { count: 0, sum: 0 };
	const open = [{ node: root, inside: false }];
	while (open.length > 0) {
		const { node, inside } = open.pop();
		node.highlight = pattern !== null && (node.depth > 0 || view.sandwich !== null) && matches(node.data);
		if (node.highlight) {
			found.count += 1;
			found.sum += inside ? 0 : node.value;
		}
		for (const child of node.children ?? []) {
			open.push({ node: child, inside: inside || node.highlight });
		}
	}
	return found;
};

export const search = (term) => {
	view.term = term;
	pattern = term === "" ? null : matcher(term);
	const found = { count: 0, sum: 0 };
	for (const { chart, box } of charts) {
		const { count, sum } = markFrames(select(box).datum());
		found.count += count;
		found.sum += sum;
		chart.update();
	}
	/* in a sandwich a frame may stand on both sides, and shares would not add up */
	const share = view.sandwich === null ? `, ${formatShare(found.sum, whole)}` : "";
	byId("matches").textContent = pattern === null ? "" : `${found.count} frames${share}`;
};

/* --- drawing --- */

/* what d3-flame-graph wants: a function that is called with the svg, with show and hide on it */
const tooltip = Object.assign(() => {}, {
	show: (event, node) => showTip(event, node, view.sandwich),
	hide: hideTip,
});

const selectFrame = (node) => {
	byId("reset").disabled = node.depth === 0;
	selected = (node.depth === 0 && view.sandwich === null) || node.data.truncated ? null : node.data.name;
	byId("sandwich").disabled = selected === null;
};

const addChart = (box, tree, icicle) => {
	const chart = flamegraph()
		.width(box.clientWidth)
		.cellHeight(FRAME_HEIGHT_PX)
		.minFrameSize(MIN_FRAME_WIDTH_PX)
		.transitionDuration(matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250)
		.inverted(icicle)
		.tooltip(tooltip)
		.setColorMapper(frameColor)
		.onClick(selectFrame);
	select(box).datum(copyTree(tree)).call(chart);
	charts.push({ chart, box, icicle });
};

const addBox = (id, title) => {
	const box = Object.assign(document.createElement("div"), { id });
	if (title) {
		byId("chart").append(Object.assign(document.createElement("h2"), { textContent: title }));
	}
	byId("chart").append(box);
	return box;
};

/* Callers stand above the function, callees below. */
const drawSandwich = () => {
	const sides = makeSandwich(profile.tree, view.sandwich, profile.inverted, isDiff);
	if (sides === null) {
		addBox("callers", `No frame is called ${view.sandwich}`);
		return;
	}
	addChart(addBox("callers", `Callers of ${view.sandwich}`), sides.callers, false);
	addChart(addBox("callees", `What ${view.sandwich} calls`), sides.callees, true);
};

export const draw = () => {
	byId("chart").replaceChildren();
	charts = [];
	selected = null;
	hideTip();
	if (view.sandwich === null) {
		addChart(addBox("graph", ""), profile.tree, view.icicle);
	} else {
		drawSandwich();
	}
	byId("reset").disabled = true;
	byId("sandwich").disabled = true;
	byId("back").hidden = view.sandwich === null;
	byId("direction").disabled = view.sandwich !== null;
	byId("direction").textContent = view.icicle ? "Flames" : "Icicle";
	search(view.term);
};

export const resetZoom = () => {
	for (const { chart } of charts) {
		chart.resetZoom();
	}
};

/* On paper a chart is as wide as the page, whatever it was on the screen. */
export const fitToPaper = () => {
	for (const { box } of charts) {
		const svg = box.querySelector("svg");
		svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
	}
};

export const selectedFunction = () => selected;
