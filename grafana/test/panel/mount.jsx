/*
 * mount.jsx
 *		A page with a dashboard. window.mount() shows panels where they stand in the grid, in place of those shown before. What a
 *		panel throws stands in its place. window.refresh() asks for the panels' data again and draws each panel as its data comes.
 */
import { createTheme, ThemeContext } from "@grafana/data";
import { GlobalStyles, PortalContainer } from "@grafana/ui";
import { Component, memo } from "react";
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

const Framed = memo(({ panel, column, theme }) => {
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
});

const root = createRoot(document.getElementById("page"));
let shown = 0; // counts pages, so that React keeps nothing of the one before
let panels;
let width;
let theme;

const render = () => {
	const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * ROW;
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

window.mount = (page) => {
	({ panels, width } = page);
	theme = createTheme({ colors: { mode: page.mode } });
	shown += 1;
	render();
};

const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

/*
 * url: answers a POST of SQL commands with their results; commands: { first, panels: [{ id, sql }], others }, where first has to be answered before
 * the others are asked. Returns milliseconds since the call.
 */
window.refresh = async ({ url, commands }) => {
	const begin = performance.now();
	const since = () => performance.now() - begin;
	let answered = 0;
	const ask = async (sql) => {
		const response = await fetch(url, { method: "POST", body: JSON.stringify(sql) });
		if (!response.ok) {
			throw new Error(await response.text());
		}
		const results = await response.json();
		answered = since();
		return results;
	};
	await Promise.all(commands.first.map((sql) => ask([sql])));
	const refreshed = async ({ id, sql }) => {
		const [result, unit] = await ask(sql);
		const came = since();
		const place = panels.findIndex((panel) => panel.id === id);
		if (place < 0) {
			return { id, came };
		}
		panels = panels.with(place, { ...panels[place], result, unit: unit?.rows[0]?.[0] ?? "short" });
		render();
		return { id, came, done: since() };
	};
	const [drawn] = await Promise.all([Promise.all(commands.panels.map(refreshed)), ...commands.others.map((sql) => ask([sql]))]);
	await painted();
	return { answered, drawn: since(), panels: drawn };
};
