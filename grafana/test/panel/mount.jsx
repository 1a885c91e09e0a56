/*
 * mount.jsx
 *		Grafana's flame graph panel alone on a page: window.mount(frame) shows a result of the data source, in place of
 *		what was shown before.
 */
import { createDataFrame, createTheme, FieldType } from "@grafana/data";
import { FlameGraph } from "@grafana/flamegraph";
import { Component } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";

const theme = createTheme({ colors: { mode: "dark" } });

class Fence extends Component {
	state = {};

	static getDerivedStateFromError(error) {
		return { error };
	}

	render() {
		return this.state.error ? <p id="thrown">{String(this.state.error)}</p> : this.props.children;
	}
}

const root = createRoot(document.getElementById("panel"));
let shown = 0;

window.mount = ({ fields, rows, unit, options }) => {
	const data = createDataFrame({
		fields: fields.map(({ name, type }, i) => ({
			name,
			type: FieldType[type],
			values: rows.map((row) => row[i]),
			config: /^(value|self)/.test(name) ? { unit } : {},
		})),
	});
	shown += 1;
	flushSync(() =>
		root.render(
			<Fence key={shown}>
				<FlameGraph data={data} getTheme={() => theme} stickyHeader={false} showFlameGraphOnly={options.showFlameGraphOnly} />
			</Fence>,
		),
	);
};
