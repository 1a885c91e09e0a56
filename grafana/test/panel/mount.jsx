/*
 * mount.jsx
 *		A dashboard on a page: window.mount(page) shows its panels where they stand in the grid, in place of what was shown
 *		before. What a panel throws stands in its place.
 */
import { createTheme, ThemeContext } from "@grafana/data";
import { GlobalStyles, PortalContainer } from "@grafana/ui";
import { Component } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { frame_of } from "./frames.js";
import { PANELS } from "./panels.jsx";

const COLUMNS = 24;
const ROW = 36;
const TITLE = 32;

class Fence extends Component {
	state = {};

	static getDerivedStateFromError(error) {
		return { error };
	}

	render() {
		return this.state.error ? <p className="thrown">{String(this.state.error?.stack ?? this.state.error)}</p> : this.props.children;
	}
}

const Framed = ({ panel, column, theme }) => {
	const { x, y, w, h } = panel.gridPos;
	const width = w * column - 8;
	const height = h * ROW - 8;
	const Shown = PANELS[panel.type];
	const colours = { background: theme.colors.background.primary, border: `1px solid ${theme.colors.border.weak}` };
	return (
		<section data-panel={panel.id} style={{ position: "absolute", left: x * column, top: y * ROW, width, height, overflow: "hidden", ...colours }}>
			<h2 style={{ height: TITLE, margin: 0, padding: "6px 8px", fontSize: 14 }}>{panel.title}</h2>
			<Fence>
				<div className="body" style={{ width, height: height - TITLE }}>
					<Shown panel={panel} frame={frame_of(panel, theme)} width={width} height={height - TITLE} theme={theme} />
				</div>
			</Fence>
		</section>
	);
};

const root = createRoot(document.getElementById("page"));
let shown = 0;

window.mount = ({ panels, mode, width }) => {
	const theme = createTheme({ colors: { mode } });
	const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * ROW;
	shown += 1;
	flushSync(() =>
		root.render(
			<ThemeContext.Provider value={theme} key={shown}>
				<GlobalStyles />
				<div style={{ position: "relative", width, height, background: theme.colors.background.canvas, color: theme.colors.text.primary }}>
					{panels.map((panel) => (
						<Framed key={panel.id} panel={panel} column={width / COLUMNS} theme={theme} />
					))}
				</div>
				<PortalContainer />
			</ThemeContext.Provider>,
		),
	);
};
