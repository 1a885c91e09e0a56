/*
 * functions.js
 *		Self and total of each function of a tree; a frame that recurs in a stack counts once in its total.
 */
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
		const children = frame.children ?? [];
		const sum = sums.get(frame.name) ?? { name: frame.name, self: 0, total: 0 };
		sum.self += frame.value - children.reduce((value, child) => value + child.value, 0);
		if (depth === 0) {
			sum.total += frame.value;
		}
		sums.set(frame.name, sum);
		open.set(frame.name, depth + 1);
		stack.push({ frame, leave: true });
		for (const child of children) {
			stack.push({ frame: child, leave: false });
		}
	}
	return [...sums.values()];
};
