/*
 * format.js
 *		Values for people.
 */
const scales = {
	nanoseconds: [[1e9 * 3600, "h"], [1e9 * 60, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
	bytes: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
};
const counts = [[1e9, "G"], [1e6, "M"], [1e4, "k", 1e3], [1, ""]];

const digits = (number) => {
	const size = Math.abs(number);
	return number.toLocaleString("en", { maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : 2 });
};

/* A value in a unit, scaled so that it has few digits. */
export const formatValue = (value, unit) => {
	const scale = scales[unit] ?? counts;
	const [limit, name, divisor] = scale.find(([least]) => Math.abs(value) >= least) ?? scale[scale.length - 1];
	const number = digits(value / (divisor ?? limit));
	return scales[unit] ? `${number} ${name}` : `${number}${name} ${unit}`.trim();
};

export const formatShare = (value, whole) => {
	if (!whole) {
		return "0 %";
	}
	const percent = (100 * value) / whole;
	return `${percent >= 99.95 ? percent.toFixed(0) : percent >= 1 ? percent.toFixed(1) : percent.toFixed(2)} %`;
};
