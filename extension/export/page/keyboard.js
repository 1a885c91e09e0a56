/*
 * keyboard.js
 *		Frames by keyboard: arrows move among them, Enter zooms in. The frame at hand is outlined and has its tooltip, which
 *		the chart's region is described by.
 */
import { chartFrames, isIcicle } from "./chart.js";
import { hideTip, showTip } from "./tip.js";

let current = null; /* a node of d3-flame-graph */

const elementOf = (node) => chartFrames().find((g) => g.__data__ === node);

const mark = (node) => {
	for (const g of chartFrames()) {
		g.classList.toggle("current", g.__data__ === node);
	}
};

const moveTo = (node, sandwich) => {
	const g = node && elementOf(node);
	if (!g) {
		return;
	}
	current = node;
	mark(node);
	g.scrollIntoView({ block: "nearest" });
	const { left, bottom } = g.getBoundingClientRect();
	showTip({ clientX: Math.max(0, left), clientY: bottom - 10 }, node, sandwich);
};

/* The widest of what is drawn below a node: the narrowest are not drawn. */
const deeper = (node) => (node.children ?? []).filter(elementOf).reduce((widest, child) => (widest === null || child.value > widest.value ? child : widest), null);

const beside = (node, step) => {
	const siblings = (node.parent?.children ?? []).map(elementOf).filter(Boolean);
	siblings.sort((a, b) => a.getBoundingClientRect().left - b.getBoundingClientRect().left);
	return siblings[siblings.indexOf(elementOf(node)) + step]?.__data__;
};

/* view: as chart.js has it. */
export const wireKeyboard = (chart, view) => {
	chart.addEventListener("keydown", (event) => {
		const node = current && elementOf(current) ? current : chartFrames()[0]?.__data__.ancestors().at(-1);
		const down = event.key === "ArrowDown";
		if (!node) {
			return;
		}
		if (event.key === "Enter") {
			elementOf(node)?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
		} else if (down || event.key === "ArrowUp") {
			moveTo(current === null ? node : down === isIcicle(elementOf(node)) ? deeper(node) : node.parent, view.sandwich);
		} else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
			moveTo(beside(node, event.key === "ArrowLeft" ? -1 : 1), view.sandwich);
		} else {
			return;
		}
		event.preventDefault();
	});
	chart.addEventListener("blur", () => {
		current = null;
		mark(null);
		hideTip();
	});
};
