/*
 * made.js
 *		Makes flame graphs for tests: one with names that could break a panel, and one with as many frames as a query returns.
 */
const FIELDS = [
	["level", "number"],
	["value", "number"],
	["self", "number"],
	["label", "string"],
].map(([name, type]) => ({ name, type }));

const panel_of = (before, id, title, rows) => ({
	id,
	before,
	title,
	type: "flamegraph",
	gridPos: { x: 0, y: 0, w: 24, h: 22 },
	options: {},
	fieldConfig: { defaults: {}, overrides: [] },
	unit: "ns",
	unitColumns: "/^(value|self)$/",
	result: { fields: FIELDS, rows },
});

/* Names as flamegraph() returns them: members of JavaScript's objects have "()" appended, line breaks are blanks, long names are cut. */
export const HOSTILE = [
	"constructor()",
	"__proto__()",
	`quotes ' " \` \\`,
	"<script>alert(1)</script>",
	"&lt;b&gt; %s ${x} {{y}}",
	"\u202eright to left\u202c \u05d0\u05d1\u05d2",
	"\u0001\u0007\u001b[31m control",
	"\u{1f525} \ud83d lone surrogate",
	"x".repeat(1024),
	" ",
];

export const hostile_flame = (before) =>
	panel_of(before, 1, "Hostile names", [[0, HOSTILE.length * 1e6, 0, "total"], ...HOSTILE.map((name) => [1, 1e6, 1e6, name])]);

const FANOUT = 4;

/* Returns the rows of a tree of frames in which each node has FANOUT children. */
const grow = (frames) => {
	const children = Array.from({ length: frames }, (_, node) => Array.from({ length: FANOUT }, (_, i) => node * FANOUT + 1 + i).filter((child) => child < frames));
	const totals = Array(frames).fill(0);
	const selves = children.map((below, node) => 1e6 + (node % 97) * 1e4 * (below.length === 0 ? 1 : 0));
	for (let node = frames - 1; node >= 0; node -= 1) {
		totals[node] = selves[node] + children[node].reduce((sum, child) => sum + totals[child], 0);
	}
	const rows = [];
	const visit = (node, level) => {
		rows.push([level, totals[node], selves[node], `function_${node % 3000}`]);
		children[node].forEach((child) => visit(child, level + 1));
	};
	visit(0, 0);
	return rows;
};

export const large_flame = (before, frames) => panel_of(before, 2, `${frames} frames`, grow(frames));
