/*
 * profile.js
 *		The profile that the page carries, and its values as text.
 */
import { formatShare, formatValue } from "./format.js";
import { joinSides } from "./tree.js";

export const profile = JSON.parse(document.getElementById("profile").textContent);
export const isDiff = profile.diff === true;

if (isDiff) {
	joinSides(profile.tree);
}

/* What shares are of: both sides together, as widths are, or a side alone. */
export const whole = profile.tree.value;
export const wholeBase = profile.tree.base ?? 0;
export const wholeNow = profile.tree.now ?? whole;

export const valueText = (value) => formatValue(value, profile.unit);

/* "1.5 s · 12.3 %" */
export const sideText = (value, total) => `${valueText(value)} · ${formatShare(value, total)}`;

/* "+300 ms · +25.0 %"; what was not there before is new, what is not there any more gone. */
export const changeText = (base, now) => {
	const change = now - base;
	if (change === 0) {
		return "none";
	}
	const share = base === 0 ? "new" : now === 0 ? "gone" : `${change > 0 ? "+" : "−"}${formatShare(Math.abs(change), Math.abs(base))}`;
	return `${change > 0 ? "+" : "−"}${valueText(Math.abs(change))} · ${share}`;
};
