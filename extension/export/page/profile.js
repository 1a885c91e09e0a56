/*
 * profile.js
 *		The profile that the page carries, and its values as text.
 */
import { formatShare, formatValue } from "./format.js";
import { joinSides, nameFrames, widthsOf } from "./tree.js";

export const profile = JSON.parse(document.getElementById("profile").textContent);
nameFrames(profile.tree, profile.texts);

/* Whether both sides are shown; a report shows its own range alone at first. */
export let isDiff = profile.diff === true;

if (isDiff) {
	joinSides(profile.tree);
}

/* What shares are of: both sides together, as widths are, or a side alone. */
export let whole = profile.tree.value;
export const wholeBase = profile.tree.base ?? 0;
export const wholeNow = profile.tree.now ?? whole;

/* The same before the filters; undefined where there are none. */
export const wholeUnfiltered = profile.tree.whole;
export const wholeBaseUnfiltered = profile.tree.whole_base;

/* Of a comparison: both sides, or the later one alone. */
export const showBothSides = (both) => {
	isDiff = both;
	widthsOf(profile.tree, both);
	whole = profile.tree.value;
};

export const valueText = (value) => formatValue(value, profile.unit);

/* "1.5 s · 12.3 %" */
export const sideText = (value, total) => `${valueText(value)} · ${formatShare(value, total)}`;

/* "1.5 s, 12.3 % of 12.2 s" where filters have dropped the rest. */
export const keptText = (value, unfiltered) =>
	unfiltered === undefined ? valueText(value) : `${valueText(value)}, ${formatShare(value, unfiltered)} of ${valueText(unfiltered)}`;

/* "+300 ms · +25.0 %"; what was not there before is new, what is not there any more gone. */
export const changeText = (base, now) => {
	const change = now - base;
	if (change === 0) {
		return "none";
	}
	const share = base === 0 ? "new" : now === 0 ? "gone" : `${change > 0 ? "+" : "−"}${formatShare(Math.abs(change), Math.abs(base))}`;
	return `${change > 0 ? "+" : "−"}${valueText(Math.abs(change))} · ${share}`;
};
