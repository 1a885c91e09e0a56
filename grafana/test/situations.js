/*
 * situations.js
 *		Values of a dashboard's variables over profiles.sql, with the value that the flame graph's root has for them.
 */
const CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta";
const ALL = { raw: "NULL" };
const HOUR = { from: new Date("2026-01-01T10:00:00Z"), to: new Date("2026-01-01T11:00:00Z") };
export const NASTY = `o'brien "x" a|b.*\\c $one$ 7%2B \u00e9`;
export const WAITS = "wallclock:wall:nanoseconds:wall:nanoseconds:delta";
const MEMORY = "memory:inuse_space:bytes:space:bytes";
const viewer = (changes) => ({
	type: CPU,
	label: "comm",
	value: ALL,
	only: ALL,
	by: [],
	matchers: "",
	focus: "",
	ignore: "",
	show: "",
	hide: "",
	preset: "none",
	granularity: "function",
	inverted: "false",
	function: "",
	trace: "",
	each: "web",
	split: "comm",
	types: MEMORY,
	before: "",
	back: "",
	begin: "",
	absolute: "false",
	deploy: "",
	host: "node",
	query: "",
	statements: "pg_stat_statements",
	...changes,
});
/*
 * root, traced, queried: value of the root, without and with the variable trace, and on the page of queries, where 0 is the default; words,
 * trace_words: the text of the panel Selection, on pages without and with the variable trace
 */
export const SITUATIONS = [
	{ name: "all", range: HOUR, root: 12_180_000_000, queried: 2_500_000_000, words: /^13 series(;|$)/, variables: viewer({}) },
	{ name: "one value", range: HOUR, root: 7_050_000_000, queried: 2_500_000_000, variables: viewer({ value: ["web"] }) },
	{ name: "a value of quotes", range: HOUR, root: 5_060_000_000, variables: viewer({ value: [NASTY], by: ["comm"], each: NASTY }) },
	{ name: "two values", range: HOUR, root: 12_110_000_000, queried: 2_500_000_000, variables: viewer({ value: ["web", NASTY], by: ["comm", "node"], split: "node" }) },
	{ name: "matchers", range: HOUR, root: 7_050_000_000, queried: 2_500_000_000, variables: viewer({ matchers: 'node="a", comm!="x"', before: 'node=~"b|c"', back: "1 hour" }) },
	{ name: "matchers from the list", range: HOUR, root: 7_050_000_000, queried: 2_500_000_000, variables: viewer({ only: ['comm="web"', 'node="a"'], matchers: '{node!=""}', before: "{}" }) },
	{ name: "focus", range: HOUR, root: 3_000_000_000, words: /^The filters keep 24\.6 %(;|$)/, variables: viewer({ focus: "^new_(way|'x')$" }) },
	{ name: "ignore", range: HOUR, root: 5_060_000_000 + 70_000_000, variables: viewer({ ignore: "serve|__proto__", begin: "2026-01-01 09:00Z" }) },
	{ name: "hide", range: HOUR, root: 12_180_000_000, queried: 2_500_000_000, variables: viewer({ hide: "serve", granularity: "mapping_function", inverted: "true", absolute: "true" }) },
	{ name: "a preset", range: HOUR, root: 12_180_000_000, queried: 2_500_000_000, variables: viewer({ preset: "allocators", by: ["=label", "node"] }) },
	{ name: "function", range: HOUR, root: 12_180_000_000, queried: 2_500_000_000, variables: viewer({ function: "std::vector<int>::push_back(int&&)", by: ["=label"] }) },
	{ name: "memory", range: HOUR, root: 2_099_200, variables: viewer({ type: MEMORY, types: "no:such:type:at:all" }) },
	{ name: "a trace", range: HOUR, root: 12_180_000_000, queried: 2_500_000_000, traced: 1_000_000_000, words: /^13 series(;|$)/, variables: viewer({ trace: "0af7651916cd43dd8448eb211c80319c" }) },
	{ name: "no trace", range: HOUR, root: 12_180_000_000, queried: 2_500_000_000, traced: 0, words: /^13 series(;|$)/, trace_words: /^Trace must be an id/, variables: viewer({ trace: "not an id" }) },
	{ name: "a trace without samples", range: HOUR, root: 12_180_000_000, queried: 2_500_000_000, traced: 0, words: /^13 series(;|$)/, trace_words: /^No samples of this trace/, variables: viewer({ trace: "00000000000000000000000000000001" }) },
	{ name: "wrong focus", range: HOUR, root: 0, words: /^invalid focus: .*parentheses/, variables: viewer({ focus: "(" }) },
	{ name: "wrong matchers", range: HOUR, root: 0, words: /^invalid matchers: .* at character 6$/, variables: viewer({ matchers: "node=", before: "node=" }) },
	{ name: "nothing kept", range: HOUR, root: 0, words: /^No stack passes the filters/, variables: viewer({ focus: "no such function" }) },
	{ name: "unknown type", range: HOUR, root: 0, words: /^No series fits/, variables: viewer({ type: "no:such:type:at:all" }) },
	{ name: "nothing to choose from", range: HOUR, root: 0, words: /^No series fits/, variables: viewer({ type: "", label: "", types: "", each: "", split: "" }) },
	{ name: "a query", range: HOUR, root: 12_180_000_000, queried: 1_500_000_000, variables: viewer({ query: "-7" }) },
	{ name: "a query without samples", range: HOUR, root: 12_180_000_000, variables: viewer({ query: "9223372036854775807" }) },
	{ name: "no id of a query", range: HOUR, root: 12_180_000_000, variables: viewer({ query: `9223372036854775808${NASTY}`, statements: NASTY }) },
	{ name: "texts of queries", range: HOUR, root: 26_000_000_000, queried: 4_000_000_000, variables: viewer({ type: WAITS, statements: '"texts; of shop"' }) },
	{ name: "kernels of GPUs", range: HOUR, root: 4_000_000_000, words: /^1 series(;|$)/, variables: viewer({ type: "gpu:kernel_time:nanoseconds:gpu:nanoseconds:delta" }) },
	{ name: "kernels of Parca's agents", range: HOUR, root: 5_000_000_000, words: /^1 series(;|$)/, variables: viewer({ type: "parca_agent:gpu_kernel_time:nanoseconds:gpu_kernel_time:nanoseconds:delta", label: "node" }) },
	{ name: "zeros", range: HOUR, root: 0, words: /^The samples in this range add up to 0\.$/, variables: viewer({ type: "zeros:n:count:n:count:delta" }) },
	{ name: "empty range", range: { from: new Date("2020-01-01"), to: new Date("2020-01-02") }, root: 0, words: /^No samples in this range; the first/, variables: viewer({}) },
];
