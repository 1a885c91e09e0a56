/*
 * frames.js
 *		Converts a query's result into a data frame as Grafana does for a panel: series by metric, units, displayed values.
 */
import { createDataFrame, FieldType, getDisplayProcessor } from "@grafana/data";
import { widened } from "../wide.js";

const columns_of = (result) =>
	result.fields.map(({ name, type }, i) => ({ name, type: FieldType[type] ?? FieldType.other, values: result.rows.map((row) => row[i]) }));

const set = (config, path, value) => {
	const [name, ...rest] = path.split(".");
	if (rest.length === 0) {
		config[name] = value;
	} else {
		config[name] = { ...config[name] };
		set(config[name], rest.join("."), value);
	}
};

/* Grafana's defaults for options that a dashboard does not set. */
const THRESHOLDS = {
	color: { mode: "thresholds" },
	thresholds: {
		mode: "absolute",
		steps: [
			{ color: "green", value: -Infinity },
			{ color: "red", value: 80 },
		],
	},
};
const DEFAULTS = { timeseries: { color: { mode: "palette-classic" } }, stat: THRESHOLDS, table: THRESHOLDS };

/* Returns the configuration of a column: the panel's defaults, its overrides for the column, and the unit of the second query. */
const config_of = (name, { type, fieldConfig, unit, unitColumns }) => {
	const config = structuredClone({ ...DEFAULTS[type], ...fieldConfig.defaults });
	for (const { matcher, properties } of fieldConfig.overrides) {
		if (matcher.options === name) {
			properties.forEach(({ id, value }) => set(config, id, structuredClone(value)));
		}
	}
	if (unitColumns && new RegExp(unitColumns.slice(1, -1)).test(name)) {
		config.unit = unit;
	}
	if (type === "timeseries") {
		config.custom = { showPoints: "auto", pointSize: 5, ...config.custom };
	}
	return config;
};

export const frame_of = (panel, theme) => {
	const columns = panel.type === "timeseries" ? widened(panel.result) : columns_of(panel.result);
	const frame = createDataFrame({ refId: "A", fields: columns.map((column) => ({ ...column, config: config_of(column.name, panel) })) });
	frame.fields.forEach((field, i) => {
		field.state = { displayName: field.name, seriesIndex: i - 1 };
		field.display = getDisplayProcessor({ field, theme, timeZone: "utc" });
		field.getLinks = () => [];
	});
	return frame;
};
