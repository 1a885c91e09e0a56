/*
 * tip.js
 *		The tooltip of a frame.
 */
import { formatShare } from "./format.js";
import { changeText, isDiff, sideText, whole, wholeBase, wholeNow } from "./profile.js";
import { selfOf } from "./tree.js";

const tip = document.getElementById("tip");

const addRow = (list, name, value) => {
	if (value) {
		list.append(Object.assign(document.createElement("dt"), { textContent: name }));
		list.append(Object.assign(document.createElement("dd"), { textContent: value }));
	}
};

const addValues = (list, frame) => {
	const self = selfOf(frame);
	if (isDiff) {
		addRow(list, "total", `${sideText(frame.now, wholeNow)}`);
		addRow(list, "base", `${sideText(frame.base, wholeBase)}`);
		addRow(list, "change", changeText(frame.base, frame.now));
		addRow(list, "self", `${sideText(self.now, wholeNow)}`);
		addRow(list, "base self", `${sideText(self.base, wholeBase)}`);
		addRow(list, "self change", changeText(self.base, self.now));
	} else {
		addRow(list, "total", sideText(frame.value, whole));
		addRow(list, "self", sideText(self.value, whole));
	}
};

/* Shows the tooltip of a node of the chart; sandwich is the function that it begins at, if it does. */
export const showTip = (event, node, sandwich) => {
	const frame = node.data;
	const list = document.createElement("dl");
	const root = node.ancestors().at(-1).data;

	addValues(list, frame);
	addRow(list, "of parent", node.depth > 1 ? formatShare(frame.value, node.parent.data.value) : "");
	addRow(list, "of function", sandwich && node.depth > 0 ? formatShare(frame.value, root.value) : "");
	addRow(list, "source", frame.file && (frame.line ? `${frame.file}:${frame.line}` : frame.file));
	addRow(list, "mapping", frame.mapping);
	addRow(list, "", frame.truncated ? "small frames that were cut: ask for more nodes, or focus" : "");
	tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: frame.name }), list);
	tip.hidden = false;
	const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
	const below = event.clientY + 18;
	const y = below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : below;
	tip.style.left = `${Math.max(x, 8)}px`;
	tip.style.top = `${Math.max(y, 8)}px`;
};

export const hideTip = () => {
	tip.hidden = true;
};
