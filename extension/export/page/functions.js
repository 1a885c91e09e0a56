/*
 * functions.js
 *		Self and total of each function of a tree; a frame that recurs in a stack counts once in its total.
 */
import { selfOf } from "./tree.js";

export const sumFunctions = (root) => {
	const sums = new Map();
	const open = new Map();
	const stack = [...(root.children ?? [])].map((frame) => ({ frame, leave: false }));

	while (stack.length > 0) {
		const { frame, leave } = stack.pop();
		const depth = open.get(frame.name) ?? 0;
		if (leave) {
			open.set(frame.name, depth - 1);
			continue;
		}
		if (frame.truncated) {
			continue;
		}
		const sum = sums.get(frame.name) ?? { name: frame.name, self: 0, total: 0, baseSelf: 0, baseTotal: 0 };
		const self = selfOf(frame);
		sum.self += self.now;
		sum.baseSelf += self.base;
		if (depth === 0) {
			sum.total += frame.now ?? frame.value;
			sum.baseTotal += frame.base ?? 0;
		}
		sums.set(frame.name, sum);
		open.set(frame.name, depth + 1);
		stack.push({ frame, leave: true });
		for (const child of frame.children ?? []) {
			stack.push({ frame: child, leave: false });
		}
	}
	return [...sums.values()];
};
