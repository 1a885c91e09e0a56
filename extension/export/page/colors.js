/*
 * colors.js
 *		Colours of frames: a hue per mapping, file or function, so that what belongs together looks alike; in a comparison, by
 *		change.
 */
import { selfOf, visitFrames } from "./tree.js";

const hash = (text) => {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) {
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	}
	return h >>> 0;
};

/* What a hue may stand for, as a frame's own text; none where it is not known. */
const KEYS = {
	mapping: (frame) => frame.mapping,
	file: (frame) => frame.file,
	function: (frame) => (frame.truncated ? undefined : frame.name),
};

/* The largest get the hues that differ most. */
const HUES = [24, 48, 8, 140, 190, 88, 268, 215, 330, 170, 64, 300];
const UNKNOWN_HUE = 36;

/* Hues by mapping, file or function, those of the largest self value first; the root has none. */
export const chooseHues = (root, by) => {
	const selfs = new Map();
	visitFrames(root, (frame) => {
		const key = frame === root ? undefined : KEYS[by](frame);
		if (key) {
			selfs.set(key, (selfs.get(key) ?? 0) + selfOf(frame).value);
		}
	});
	const keys = [...selfs.keys()].sort((a, b) => selfs.get(b) - selfs.get(a));
	return new Map(keys.map((key, i) => [key, HUES[i % HUES.length]]));
};

export const quietColor = (isDark) => `hsl(220 8% ${isDark ? 52 : 84}%)`;

/* The colour of a frame, in hues that were chosen by the same. */
export const hueColor = (frame, by, hues, isDark) => {
	const shade = (hash(frame.name) % 100) / 100;
	const hue = hues.get(KEYS[by](frame)) ?? UNKNOWN_HUE;
	return `hsl(${hue + (shade - 0.5) * 10} ${62 + shade * 18}% ${(isDark ? 60 : 69) + shade * 9}%)`;
};

/*
 * Growth against the base, 1 for double or new, -1 for gone: what Grafana's panel colours by. Orange and
 * blue, which colour-blind people tell apart.
 */
export const changeOf = (base, now) => {
	if (base === now) {
		return 0;
	}
	return base === 0 ? Math.sign(now) : Math.max(-1, Math.min(1, (now - base) / Math.abs(base)));
};

export const changeColor = (change, isDark) => {
	const strength = Math.abs(change) ** 0.6;
	const [hue, least] = change > 0 ? [28, 58] : [214, 62];
	const pale = isDark ? 74 : 91;
	return `hsl(${hue} ${Math.round(8 + 78 * strength)}% ${Math.round(pale - (pale - least) * strength)}%)`;
};
