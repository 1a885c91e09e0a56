/*
 * panels.jsx
 *		Grafana's own panels, as far as its packages contain them: flame graph, time series, table, stat.
 */
import { dateTime } from "@grafana/data";
import { FlameGraph } from "@grafana/flamegraph";
import { FlameGraph as FlameGraphBefore } from "@grafana/flamegraph-before";
import { BigValue, TimeSeries } from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";

const Flame = ({ panel, frame, theme }) => {
	const Component = panel.before ? FlameGraphBefore : FlameGraph;
	return <Component data={frame} getTheme={() => theme} stickyHeader={false} />;
};

const Graph = ({ panel, frame, width, height }) => {
	const [from, to] = panel.range.map((time) => dateTime(time));
	return (
		<TimeSeries
			frames={[frame]}
			timeRange={{ from, to, raw: { from, to } }}
			timeZone="utc"
			width={width}
			height={height}
			legend={panel.options.legend}
			options={panel.options}
		/>
	);
};

const Table = ({ panel, frame, width, height }) => (
	<TableNG data={frame} width={width} height={height} cellHeight={panel.options.cellHeight} fieldConfig={panel.fieldConfig} noValue={panel.fieldConfig.defaults.noValue} />
);

const Words = ({ panel, frame, width, height, theme }) => {
	const [field] = frame.fields;
	const { colorMode, graphMode, textMode, text } = panel.options;
	return (
		<BigValue
			value={field.display(field.values[0])}
			width={width}
			height={height}
			theme={theme}
			colorMode={colorMode ?? "value"}
			graphMode={graphMode ?? "none"}
			textMode={textMode ?? "auto"}
			text={text}
		/>
	);
};

export const PANELS = { flamegraph: Flame, timeseries: Graph, table: Table, stat: Words };
