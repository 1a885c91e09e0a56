/*
 * table.js
 *		The table of functions: self and total, in a comparison with their changes.
 */
import { formatShare } from "./format.js";
import { sumFunctions } from "./functions.js";
import { changeText, isDiff, profile, valueText, wholeBase, wholeNow } from "./profile.js";

const ROWS = 100;

const selfDelta = (f) => f.self - f.baseSelf;
const totalDelta = (f) => f.total - f.baseTotal;

const byName = (a, b) => (a.name < b.name ? -1 : 1);
const falling = (first, second) => (a, b) => first(b) - first(a) || second(b) - second(a) || byName(a, b);

const element = (name, properties) => Object.assign(document.createElement(name), properties);

const barCell = (value, whole, base) => {
	const td = element("td", { className: "number" });
	td.style.setProperty("--part", `${whole ? (100 * value) / whole : 0}%`);
	td.append(`${valueText(value)} `, element("span", { className: "share", textContent: formatShare(value, whole) }));
	if (isDiff) {
		td.title = `Base: ${valueText(base)}, ${formatShare(base, wholeBase)}`;
	}
	return td;
};

const changeCell = (base, now) =>
	element("td", { className: `number ${now > base ? "grown" : now < base ? "shrunk" : "same"}`, textContent: changeText(base, now) });

const columns = [
	{ key: "name", title: "Function", order: byName },
	{ key: "self", title: "Self", order: falling((f) => f.self, (f) => f.total), cell: (f) => barCell(f.self, wholeNow, f.baseSelf) },
	{
		key: "self-change",
		title: "Change of self",
		diff: true,
		order: falling((f) => Math.abs(selfDelta(f)), (f) => Math.abs(totalDelta(f))),
		cell: (f) => changeCell(f.baseSelf, f.self),
	},
	{ key: "total", title: "Total", order: falling((f) => f.total, (f) => f.self), cell: (f) => barCell(f.total, wholeNow, f.baseTotal) },
	{
		key: "total-change",
		title: "Change of total",
		diff: true,
		order: falling((f) => Math.abs(totalDelta(f)), (f) => Math.abs(selfDelta(f))),
		cell: (f) => changeCell(f.baseTotal, f.total),
	},
].filter((column) => isDiff || !column.diff);

const functions = sumFunctions(profile.tree);
let sort = isDiff ? "self-change" : "self";

const nameCell = (f, handlers) => {
	const td = element("td", {});
	const name = element("span", { textContent: f.name, title: "Search for this function" });
	const button = element("button", { type: "button", textContent: "⇅", title: "Callers and callees of this function" });
	name.addEventListener("click", () => handlers.search(f.name));
	button.addEventListener("click", () => handlers.sandwich(f.name));
	td.append(name, button);
	return td;
};

const fillRows = (handlers) => {
	const order = columns.find((column) => column.key === sort).order;
	const rows = [...functions].sort(order).slice(0, ROWS).map((f) => {
		const tr = document.createElement("tr");
		tr.append(nameCell(f, handlers), ...columns.slice(1).map((column) => column.cell(f)));
		return tr;
	});
	document.querySelector("#functions tbody").replaceChildren(...rows);
	document.getElementById("more").textContent = functions.length > ROWS ? `${ROWS} of ${functions.length} functions.` : "";
	for (const button of document.querySelectorAll("[data-sort]")) {
		button.setAttribute("aria-pressed", String(button.dataset.sort === sort));
	}
};

/* handlers: search(name) and sandwich(name) are called for a row's function. */
export const fillTable = (handlers) => {
	const head = columns.map((column, i) => {
		const th = element("th", { scope: "col", className: i === 0 ? "" : "number" });
		const button = element("button", { type: "button", textContent: column.title });
		button.dataset.sort = column.key;
		button.addEventListener("click", () => {
			sort = column.key;
			fillRows(handlers);
		});
		th.append(button);
		return th;
	});
	document.querySelector("#functions thead tr").replaceChildren(...head);
	fillRows(handlers);
};
