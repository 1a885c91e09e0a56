/*
 * wide.js
 *		Converts rows (time, metric, value) into one column per metric, as the data source does for the format time_series.
 */
export const widened = ({ fields, rows }) => {
	const at = Object.fromEntries(fields.map(({ name }, i) => [name, i]));
	const times = [...new Set(rows.map((row) => row[at.time]))];
	const place = new Map(times.map((time, i) => [time, i]));
	const columns = new Map();
	for (const row of rows) {
		const metric = row[at.metric];
		if (!columns.has(metric)) {
			columns.set(metric, Array(times.length).fill(null));
		}
		columns.get(metric)[place.get(row[at.time])] = row[at.value];
	}
	return [{ name: "time", type: "time", values: times }, ...[...columns].map(([name, values]) => ({ name, type: "number", values }))];
};
