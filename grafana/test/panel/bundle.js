/* Bundles follow.js and the CommonJS builds of Grafana's packages into follow.cjs. */
import { build } from "esbuild";

/* scenes imports the panels' default options from paths that @grafana/schema does not export or does not have. */
const no_panels = {
	name: "no panels",
	setup({ onResolve, onLoad }) {
		onResolve({ filter: /^@grafana\/schema\/dist\// }, ({ path }) => ({ path, namespace: "none" }));
		onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "module.exports = {}" }));
	},
};

await build({
	entryPoints: ["follow.js"],
	outfile: "follow.cjs",
	bundle: true,
	platform: "node",
	external: ["jsdom"],
	plugins: [no_panels],
	loader: { ".svg": "text", ".ttf": "empty", ".css": "empty" },
	logLevel: "error",
});
