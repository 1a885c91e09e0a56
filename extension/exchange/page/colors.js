/*
 * colors.js
 *		Colours of frames: a hue per binary, so that what belongs together looks alike; in a comparison, by change.
 */
import { selfOf, visitFrames } from "./tree.js";

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

/* Hues by binary, those of the largest self value first. */
export const chooseHues = (root) => {
	const selfs = new Map();
	visitFrames(root, (frame) => {
		if (frame.binary) {
			selfs.set(frame.binary, (selfs.get(frame.binary) ?? 0) + selfOf(frame).value);
		}
	});
	const binaries = [...selfs.keys()].sort((a, b) => selfs.get(b) - selfs.get(a));
	return new Map(binaries.map((binary, i) => [binary, HUES[i % HUES.length]]));
};

export const quietColor = (isDark) => `hsl(220 8% ${isDark ? 52 : 84}%)`;

export const binaryColor = (frame, hues, isDark) => {
	const shade = (hash(frame.name) % 100) / 100;
	const hue = frame.binary ? hues.get(frame.binary) : UNKNOWN_HUE;
	return `hsl(${hue + (shade - 0.5) * 10} ${62 + shade * 18}% ${(isDark ? 60 : 69) + shade * 9}%)`;
};

/*
 * Growth against the base, 1 for double or new, -1 for gone: what Grafana's panel colours by. Red and blue, which
 * colour-blind people tell apart.
 */
export const changeOf = (base, now) => {
	if (base === now) {
		return 0;
	}
	return base === 0 ? Math.sign(now) : Math.max(-1, Math.min(1, (now - base) / Math.abs(base)));
};

export const changeColor = (change, isDark) => {
	const strength = Math.abs(change) ** 0.6;
	const [hue, least] = change > 0 ? [4, 60] : [214, 62];
	const pale = isDark ? 74 : 91;
	return `hsl(${hue} ${Math.round(8 + 78 * strength)}% ${Math.round(pale - (pale - least) * strength)}%)`;
};
