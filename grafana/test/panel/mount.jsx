/*
 * mount.jsx
 *		Grafana's flame graph panel alone on a page: window.mount(frame) shows a result of the data source.
 */
import { createDataFrame, createTheme, FieldType } from "@grafana/data";
import { FlameGraph } from "@grafana/flamegraph";
import { Component } from "react";
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

window.mount = ({ fields, rows, unit, options }) => {
	const data = createDataFrame({
		fields: fields.map(({ name, type }, i) => ({
			name,
			type: FieldType[type],
			values: rows.map((row) => row[i]),
			config: /^(value|self)/.test(name) ? { unit } : {},
		})),
	});
	const root = createRoot(document.getElementById("panel"));
	root.render(
		<Fence>
			<FlameGraph data={data} getTheme={() => theme} stickyHeader={false} showFlameGraphOnly={options.showFlameGraphOnly} />
		</Fence>,
	);
};
