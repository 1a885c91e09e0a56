/*
 * report.js
 *		What a report adds to the page: its tables, which the query has written, sort, and lead to the flame graph.
 */
const TABLES = "#hottest table, #changed table, #labels table";

export const isReport = document.getElementById("report") !== null;

const valueOf = (row, column) => Number(row.cells[column].dataset.value ?? Number.NaN);

const sortBy = (table, column, header) => {
	const ascending = header.getAttribute("aria-sort") === "descending";
	const body = table.tBodies[0];
	const order = (a, b) => (column === 0 ? a.textContent.localeCompare(b.textContent) : valueOf(b, column) - valueOf(a, column));
	const rows = [...body.rows].sort((a, b) => (ascending ? -order(a, b) : order(a, b)));
	for (const th of table.tHead.rows[0].cells) {
		th.removeAttribute("aria-sort");
	}
	header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
	body.replaceChildren(...rows);
};

const addSorting = (table) => {
	[...table.tHead.rows[0].cells].forEach((th, column) => {
		if (column > 0 && !(column in table.tBodies[0].rows[0].cells && table.tBodies[0].rows[0].cells[column].dataset.value)) {
			return;
		}
		const button = Object.assign(document.createElement("button"), { type: "button", title: "Sort" });
		button.append(...th.childNodes);
		button.addEventListener("click", () => sortBy(table, column, th));
		th.append(button);
	});
};

/* find(name): called for the function of a row that is clicked. */
export const wireReport = (find) => {
	for (const table of document.querySelectorAll(TABLES)) {
		addSorting(table);
	}
	for (const name of document.querySelectorAll("#hottest tbody bdi, #changed tbody bdi")) {
		const button = Object.assign(document.createElement("button"), { type: "button", textContent: "find", title: "Find this function in the flame graph" });
		button.setAttribute("aria-label", `Find ${name.textContent} in the flame graph`);
		button.addEventListener("click", () => find(name.title));
		name.after(button);
	}
};
