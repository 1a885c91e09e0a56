/*
 * situations.js
 *		What somebody may have chosen on a dashboard over profiles.sql, and what the flame graph's root must then be, and
 *		where it is another one without focus, that.
 */
const CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta";
const ALL = { raw: "NULL" };
const HOUR = { from: new Date("2026-01-01T10:00:00Z"), to: new Date("2026-01-01T11:00:00Z") };
const NASTY = `o'brien "x" a|b.*\\c`;
const viewer = (changes) => ({ type: CPU, label: "comm", value: ALL, by: [], focus: "", ...changes });
export const SITUATIONS = [
	{ name: "all", range: HOUR, root: 12_180_000_000, variables: viewer({}) },
	{ name: "one value", range: HOUR, root: 7_050_000_000, variables: viewer({ value: ["web"] }) },
	{ name: "a value of quotes", range: HOUR, root: 5_060_000_000, variables: viewer({ value: [NASTY], by: ["comm"] }) },
	{ name: "two values", range: HOUR, root: 12_110_000_000, variables: viewer({ value: ["web", NASTY], by: ["comm", "node"] }) },
	{ name: "focus", range: HOUR, root: 3_000_000_000, whole: 12_180_000_000, variables: viewer({ focus: "^new_(way|'x')$" }) },
	{ name: "memory", range: HOUR, root: 2_099_200, variables: viewer({ type: "memory:inuse_space:bytes:space:bytes" }) },
	{ name: "unknown type", range: HOUR, root: 0, variables: viewer({ type: "no:such:type:at:all" }) },
	{ name: "empty range", range: { from: new Date("2020-01-01"), to: new Date("2020-01-02") }, root: 0, variables: viewer({}) },
];
