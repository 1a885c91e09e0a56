/*
 * build.js
 *		Bundles the page and writes it as C strings: node build.js OUTPUT.c
 *
 * The page is one string before the profile's JSON and one behind it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const MARK = /<!-- (style|script) -->/g;
const DATA_MARK = "<!-- data -->";

const bundle = async (entry) => {
	const result = await build({
		entryPoints: [entry],
		bundle: true,
		minify: true,
		// d3-flame-graph knows its own nodes by the name of their class
		keepNames: true,
		format: "iife",
		target: "es2020",
		charset: "ascii",
		legalComments: "none",
		write: false,
		outdir: "out",
	});
	return result.outputFiles;
};

const text = (files, suffix) => files.filter((f) => f.path.endsWith(suffix)).map((f) => f.text.trim()).join("\n");

/* One C string literal, a line of source each; bytes beyond ASCII as octal escapes, which end after three digits. */
const literal = (name, content) => {
	const escape = (line) =>
		Array.from(Buffer.from(line), (byte) => {
			if (byte === 0x22 || byte === 0x5c || byte === 0x3f) {
				return `\\${String.fromCharCode(byte)}`;
			}
			return byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, "0")}` : String.fromCharCode(byte);
		}).join("");
	const pieces = content.match(/[^\n]{0,2000}\n|[^\n]{1,2000}/g);
	return `const char ${name}[] =\n${pieces.map((piece) => `\t"${escape(piece)}"`).join("\n")};\n`;
};

const files = await bundle("page.js");
const parts = { style: text(files, ".css"), script: text(files, ".js").replaceAll("</script", "<\\/script") };
const page = readFileSync("page.html", "utf8").replace(MARK, (_, part) => parts[part]);
const [before, after] = page.split(DATA_MARK);

writeFileSync(
	process.argv[2],
	`/* Written by build.js from page.html, page.css, page.js and the packages of package-lock.json. */\n` +
		`#include "export/page_template.h"\n\n` +
		`${literal("pfs_page_before_data", before)}\n${literal("pfs_page_after_data", after)}`,
);
