/*
 * tree.js
 *		The tree of frames that the page carries, and the trees that it makes of it.
 *
 * A frame of a comparison has base and now beside value, which is both together: the width at which it is drawn, so that
 * what has gone is seen as well.
 */
const walk = (root, visit) => {
	const open = [root];
	while (open.length > 0) {
		const frame = open.pop();
		visit(frame);
		for (const child of frame.children ?? []) {
			open.push(child);
		}
	}
};

export const visitFrames = walk;

/* A copy for who writes to it; the browser's own structuredClone ends at some thousand levels. */
export const copyTree = (root) => {
	const copy = { ...root };
	walk(copy, (frame) => {
		if (frame.children) {
			frame.children = frame.children.map((child) => ({ ...child }));
		}
	});
	return copy;
};

/* Frames have numbers for their texts, so that a page has each text once. */
export const nameFrames = (root, texts) => {
	walk(root, (frame) => {
		frame.name = texts[frame.name];
		frame.file = texts[frame.file];
		frame.mapping = texts[frame.mapping];
	});
};

/* Makes a comparison's frames from what the query wrote: value is the later side's. */
export const joinSides = (root) => {
	walk(root, (frame) => {
		frame.now = frame.value;
		frame.value = frame.base + frame.now;
	});
};

/* A comparison's frames as wide as both sides, or as the later one alone. */
export const widthsOf = (root, both) => {
	walk(root, (frame) => {
		frame.value = both ? frame.base + frame.now : frame.now;
	});
};

/* What a frame has beyond its children: { value, base, now }. */
export const selfOf = (frame) => {
	const self = { value: frame.value, base: frame.base ?? 0, now: frame.now ?? frame.value };
	for (const child of frame.children ?? []) {
		self.value -= child.value;
		self.base -= child.base ?? 0;
		self.now -= child.now ?? child.value;
	}
	return self;
};

/*
 * Every stack that has a value of its own, as frames from the root to the leaf. The path holds until the next call.
 */
const visitStacks = (root, inverted, visit) => {
	const path = [];
	const open = (root.children ?? []).map((frame) => ({ frame, depth: 0 }));
	while (open.length > 0) {
		const { frame, depth } = open.pop();
		path.length = depth;
		path.push(frame);
		const self = selfOf(frame);
		if (self.value !== 0 || self.base !== 0) {
			visit(inverted ? [...path].reverse() : path, self);
		}
		for (const child of frame.children ?? []) {
			open.push({ frame: child, depth: depth + 1 });
		}
	}
};

const isNamed = (frame, name) => frame.name === name && !frame.truncated;

const newFrame = (frame) => ({ ...frame, value: 0, base: 0, now: 0, children: [], byName: new Map() });

const addTo = (frame, values) => {
	frame.value += values.value;
	frame.base += values.base;
	frame.now += values.now;
};

/* Adds a stack's values to a tree, from the function on. */
const addPath = (root, frames, values) => {
	let at = root;
	addTo(at, values);
	for (const frame of frames) {
		const key = `${frame.truncated ? "cut" : "frame"} ${frame.name}`;
		let child = at.byName.get(key);
		if (!child) {
			child = newFrame(frame);
			at.byName.set(key, child);
			at.children.push(child);
		}
		addTo(child, values);
		at = child;
	}
};

const finish = (root, isDiff) => {
	walk(root, (frame) => {
		delete frame.byName;
		if (!isDiff) {
			delete frame.base;
			delete frame.now;
		}
	});
	return root;
};

/*
 * Who calls a function and what it calls: two trees that begin at it. They begin at its outermost frame in each stack, so
 * that a stack counts once, as in profstore.sandwich(). Null where no frame has the name.
 */
export const makeSandwich = (tree, name, inverted, isDiff) => {
	let callers = null;
	let callees = null;
	visitStacks(tree, inverted, (stack, values) => {
		const at = stack.findIndex((frame) => isNamed(frame, name));
		if (at < 0) {
			return;
		}
		callers ??= newFrame(stack[at]);
		callees ??= newFrame(stack[at]);
		addPath(callers, stack.slice(0, at).reverse(), values);
		addPath(callees, stack.slice(at + 1), values);
	});
	return callers && { callers: finish(callers, isDiff), callees: finish(callees, isDiff) };
};
