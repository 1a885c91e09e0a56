/*
 * ci_report.c
 *		Writes what a verdict says, in the order in which it is read: the outcome, the numbers, the
 *		functions.
 */
#include "ci/ci_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Functions that a report lists, beside those that were found. */
#define FUNCTIONS_LISTED 10
#define FUNCTIONS_MAX	 50

/* The plot of pairs, in pixels. */
#define PLOT_WIDTH	600.0
#define PLOT_MARGIN 40.0
#define PLOT_ROW	14.0

static void report_put(Buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void
report_put(Buffer *buffer, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length > 0)
		buffer_put_bytes(buffer, text,
						 (size_t) length < sizeof(text) ? (size_t) length : sizeof(text) - 1);
}

/* Appends a text of any length with HTML's escapes, also for quoted attributes. */
static void
report_put_html(Buffer *buffer, const char *text)
{
	static const char special[] = "&<>\"'";
	static const char *const escapes[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };

	while (*text != '\0')
	{
		size_t plain = strcspn(text, special);

		buffer_put_bytes(buffer, text, plain);
		text += plain;
		if (*text != '\0')
		{
			const char *escape = escapes[strchr(special, *text) - special];

			buffer_put_bytes(buffer, escape, strlen(escape));
			text++;
		}
	}
}

/*
 * Appends a text for a cell of a Markdown table, as code. Control characters would end the line, or
 * steer the terminal.
 */
static void
report_put_code(Buffer *buffer, const char *text)
{
	buffer_put_bytes(buffer, "`", 1);
	for (; *text != '\0'; text++)
	{
		if (*text == '|')
			buffer_put_bytes(buffer, "\\", 1);
		if (*text != '`' && (unsigned char) *text >= ' ' && *text != '\x7f')
			buffer_put_bytes(buffer, text, 1);
	}
	buffer_put_bytes(buffer, "`", 1);
}

/* Returns 123.4 ms, 1.234 s. */
static const char *
time_text(double ns, char text[32])
{
	if (ns >= 1e9)
		snprintf(text, 32, "%.3f s", ns / 1e9);
	else
		snprintf(text, 32, "%.1f ms", ns / 1e6);
	return text;
}

/* Returns one word for the outcome, for people and as a class of the page. */
static const char *
outcome_word(const ReportFacts *facts, const Verdict *verdict)
{
	if (facts->baseline == NULL)
		return "stored";
	if (facts->is_accepted)
		return "accepted";
	if (verdict->reason != NULL)
		return "not compared";
	if (verdict->has_failed)
		return "failed";
	return "passed";
}

/* Appends the outcome in a sentence. */
static void
report_put_outcome(Buffer *buffer, const ReportFacts *facts, const Verdict *verdict)
{
	double bound = 100 * facts->increase;

	if (facts->baseline == NULL)
		report_put(buffer, "%zu runs were stored; no baseline was named.", facts->runs);
	else if (verdict->reason != NULL)
		report_put(buffer, "Nothing was compared: %s.", verdict->reason);
	else if (facts->is_accepted && !isnan(verdict->change))
		report_put(buffer, "The CPU time of a run changed by %+.1f %%; a new baseline begins.",
				   100 * verdict->change);
	else if (verdict->has_failed)
		report_put(buffer, "A run takes %.1f %% more CPU time (bound: %g %%).",
				   100 * verdict->change, bound);
	else if (verdict->is_cheaper)
		report_put(buffer, "A run takes %.1f %% less CPU time.", -100 * verdict->change);
	else if (verdict->change > facts->increase)
		report_put(
			buffer,
			"A run takes %.1f %% more CPU time, which may be chance (p = %.2g; bound: %g %%).",
			100 * verdict->change, verdict->p_value, bound);
	else
		report_put(buffer, "The CPU time of a run changed by %+.1f %% (bound: %g %%).",
				   100 * verdict->change, bound);
}

/*
 * Appends the sentences below the table: the interval, the increase that would have been found, and
 * the compared runs.
 */
static void
report_put_basis(Buffer *buffer, const Verdict *verdict)
{
	report_put(buffer, "The interval of 95 %% is %+.1f to %+.1f %%; p = %.2g. ", 100 * verdict->low,
			   100 * verdict->high, verdict->p_value);
	if (!isnan(verdict->detectable))
		report_put(buffer, "An increase of %.1f %% would have been found 95 times of 100. ",
				   100 * verdict->detectable);
	if (verdict->method == VERDICT_PAIRS)
		report_put(buffer, "%u pairs of runs in alternating order were compared.", verdict->units);
	else
		report_put(
			buffer,
			"%u runs were compared with those of %u earlier jobs on this kind of machine. Such a "
			"comparison misses changes that pairs of runs would find.",
			verdict->units, verdict->jobs);
}

static size_t
functions_listed(const Verdict *verdict)
{
	size_t count = verdict->found_count + FUNCTIONS_LISTED;

	count = count < FUNCTIONS_MAX ? count : FUNCTIONS_MAX;
	return count < verdict->function_count ? count : verdict->function_count;
}

/*
 * Returns a function by its row in the list: first the functions that were found to differ, below
 * them those with the largest differences.
 */
static const VerdictFunction *
function_listed(const Verdict *verdict, size_t number)
{
	bool wants_found = number < verdict->found_count;
	size_t at = wants_found ? number : number - verdict->found_count;

	for (size_t i = 0; i < verdict->function_count; i++)
	{
		if (verdict->functions[i].is_found == wants_found && at-- == 0)
			return &verdict->functions[i];
	}
	return NULL;
}

static const char *
functions_sentence(const ReportFacts *facts, const Verdict *verdict)
{
	if (!facts->is_sampled)
		return "The runs were not sampled.";
	if (verdict->function_count == 0)
		return "No function has 400 samples: use a longer benchmark, more runs or --frequency.";
	if (verdict->found_count > 0)
		return "Functions whose share of the samples changed against the median of all code, at a "
			   "false discovery rate of 5 %, are in bold.";
	return "No function is named: a change is spread over all code, or too small for one function.";
}

static void
report_markdown_functions(Buffer *buffer, const ReportFacts *facts, const Verdict *verdict)
{
	report_put(buffer, "\n%s\n", functions_sentence(facts, verdict));
	if (verdict->function_count == 0)
		return;
	report_put(buffer, "\n| function | share before | change | interval of 95 %% |\n"
					   "|---|--:|--:|---|\n");
	for (size_t i = 0; i < functions_listed(verdict); i++)
	{
		const VerdictFunction *function = function_listed(verdict, i);

		report_put(buffer, "| %s", function->is_found ? "**" : "");
		report_put_code(buffer, function->name);
		report_put(buffer, "%s | %.1f %% | %+.1f %% | %+.1f to %+.1f %% |\n",
				   function->is_found ? "**" : "", 100 * function->base_share,
				   100 * function->change, 100 * function->low, 100 * function->high);
	}
}

void
report_markdown(Buffer *buffer, const ReportFacts *facts, const Verdict *verdict)
{
	char before[32];
	char after[32];

	report_put(buffer, "### Benchmark ");
	report_put_code(buffer, facts->benchmark);
	report_put(buffer, ": %s\n\n", outcome_word(facts, verdict));
	report_put_outcome(buffer, facts, verdict);
	report_put(buffer, "\n");
	if (verdict->method != VERDICT_NONE)
	{
		report_put(buffer, "\n| | ");
		report_put_code(buffer, facts->baseline);
		report_put(buffer, " | ");
		report_put_code(buffer, facts->ref);
		report_put(buffer, " |\n|---|--:|--:|\n| CPU time of a run | %s | %s |\n\n",
				   time_text(verdict->base_cpu_ns, before), time_text(verdict->cpu_ns, after));
		report_put_basis(buffer, verdict);
		report_put(buffer, "\n");
		report_markdown_functions(buffer, facts, verdict);
	}
	else
		report_put(buffer, "\nCPU time of a run: %s\n", time_text(facts->cpu_ns, after));
	if (facts->lost > 0)
		report_put(buffer, "\n%llu records of samples were lost.\n",
				   (unsigned long long) facts->lost);
}

/* --- the page --- */

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
	":root { color-scheme: light dark; }\n"
	"body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; }\n"
	"table { border-collapse: collapse; margin: 1em 0; } td, th { padding: 3px 10px; text-align: right; "
	"border-bottom: 1px solid #8884; } td:first-child, th:first-child { text-align: left; }\n"
	"code { overflow-wrap: anywhere; } .found { font-weight: 600; }\n"
	".outcome { padding: .6em 1em; border-left: 6px solid #888; background: #8881; }\n"
	".failed { border-color: #c62828; } .passed { border-color: #2e7d32; }\n"
	"iframe { width: 100%; height: 46em; border: 1px solid #8886; }\n"
	"</style>\n";

/*
 * Appends a plot: a dot at the ratio of each pair, a band for the interval of 95 %, and a line for
 * the bound. No change is in the middle.
 */
static void
report_html_plot(Buffer *buffer, const ReportFacts *facts, const Verdict *verdict)
{
	double reach = fmax(fabs(verdict->low), fabs(verdict->high));
	double height = PLOT_ROW * verdict->units + 30;
	double scale;

	reach = fmax(reach, facts->increase);
	for (uint32_t i = 0; i < verdict->units; i++)
		reach = fmax(reach, fabs(verdict->ratios[i]));
	scale = (PLOT_WIDTH / 2 - PLOT_MARGIN) / reach;
	report_put(
		buffer,
		"<svg width=\"%g\" height=\"%g\" role=\"img\" aria-label=\"Change of CPU time by pair of "
		"runs\" font-size=\"12\" fill=\"currentColor\">",
		PLOT_WIDTH, height);
	report_put(buffer,
			   "<rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%g\" fill=\"#1976d2\" "
			   "fill-opacity=\".2\"/>",
			   PLOT_WIDTH / 2 + scale * verdict->low, scale * (verdict->high - verdict->low),
			   height - 20);
	report_put(buffer, "<path d=\"M%.1f 0V%g\" stroke=\"currentColor\"/>", PLOT_WIDTH / 2,
			   height - 20);
	report_put(buffer, "<path d=\"M%.1f 0V%g\" stroke=\"#c62828\" stroke-dasharray=\"4\"/>",
			   PLOT_WIDTH / 2 + scale * facts->increase, height - 20);
	for (uint32_t i = 0; i < verdict->units; i++)
		report_put(
			buffer,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>pair %u: %+.2f %%</title></circle>",
			PLOT_WIDTH / 2 + scale * verdict->ratios[i], PLOT_ROW * (i + 0.7), i + 1,
			100 * verdict->ratios[i]);
	report_put(buffer,
			   "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">no change</text>"
			   "<text x=\"2\" y=\"%g\">%.1f %%</text><text x=\"%g\" y=\"%g\" "
			   "text-anchor=\"end\">+%.1f %%</text></svg>\n",
			   PLOT_WIDTH / 2, height - 5, height - 5, -100 * reach, PLOT_WIDTH - 2, height - 5,
			   100 * reach);
}

static void
report_html_functions(Buffer *buffer, const ReportFacts *facts, const Verdict *verdict)
{
	report_put(buffer, "<h2>Functions</h2><p>");
	report_put_html(buffer, functions_sentence(facts, verdict));
	report_put(buffer, "</p>\n");
	if (verdict->function_count == 0)
		return;
	report_put(buffer, "<table><tr><th>function</th><th>share before</th><th>change</th>"
					   "<th>interval of 95 %%</th><th>false discovery rate</th></tr>\n");
	for (size_t i = 0; i < functions_listed(verdict); i++)
	{
		const VerdictFunction *function = function_listed(verdict, i);

		report_put(buffer, "<tr%s><td><code>", function->is_found ? " class=\"found\"" : "");
		report_put_html(buffer, function->name);
		report_put(buffer,
				   "</code></td><td>%.1f %%</td><td>%+.1f %%</td><td>%+.1f to %+.1f %%</td>"
				   "<td>%.2g</td></tr>\n",
				   100 * function->base_share, 100 * function->change, 100 * function->low,
				   100 * function->high, function->q_value);
	}
	report_put(buffer, "</table>\n");
}

static void
report_html_fact(Buffer *buffer, const char *name, const char *value)
{
	report_put(buffer, "<tr><td>%s</td><td><code>", name);
	report_put_html(buffer, value);
	report_put(buffer, "</code></td></tr>\n");
}

static void
report_html_facts(Buffer *buffer, const ReportFacts *facts)
{
	report_put(buffer, "<h2>What was run</h2><table>");
	report_html_fact(buffer, "branch", facts->ref);
	if (facts->version[0] != '\0')
		report_html_fact(buffer, "version", facts->version);
	if (facts->baseline != NULL)
		report_html_fact(buffer, "baseline", facts->baseline);
	report_html_fact(buffer, "machine", facts->machine);
	report_html_fact(buffer, "label ci_job", facts->job);
	report_put(buffer, "</table>\n");
	if (facts->is_sampled && !facts->has_kernel)
		report_put(buffer, "<p>Kernel code was not sampled, because that needs CAP_PERFMON or "
						   "kernel.perf_event_paranoid below 2.</p>\n");
	if (facts->lost > 0)
		report_put(buffer, "<p>%llu records of samples were lost.</p>\n",
				   (unsigned long long) facts->lost);
}

void
report_html(Buffer *buffer, const ReportFacts *facts, const Verdict *verdict)
{
	const char *outcome = outcome_word(facts, verdict);
	char before[32];
	char after[32];

	buffer_put_bytes(buffer, page_head, strlen(page_head));
	report_put(buffer, "<title>");
	report_put_html(buffer, facts->benchmark);
	report_put(buffer, ": %s</title></head><body>\n<h1>Benchmark <code>", outcome);
	report_put_html(buffer, facts->benchmark);
	report_put(buffer, "</code></h1>\n<p class=\"outcome %s\"><strong>%s.</strong> ", outcome,
			   outcome);
	report_put_outcome(buffer, facts, verdict);
	report_put(buffer, "</p>\n");
	if (verdict->method != VERDICT_NONE)
	{
		report_put(buffer,
				   "<table><tr><th></th><th>baseline</th><th>this</th></tr>"
				   "<tr><td>CPU time of a run</td><td>%s</td><td>%s</td></tr></table>\n<p>",
				   time_text(verdict->base_cpu_ns, before), time_text(verdict->cpu_ns, after));
		report_put_basis(buffer, verdict);
		report_put(buffer, "</p>\n");
		if (verdict->ratios != NULL)
			report_html_plot(buffer, facts, verdict);
		report_html_functions(buffer, facts, verdict);
	}
	if (facts->flame_page != NULL)
	{
		report_put(buffer, "<h2>Flame graph of the change</h2>\n<iframe title=\"flame graph\" "
						   "sandbox=\"allow-scripts\" srcdoc=\"");
		report_put_html(buffer, facts->flame_page);
		report_put(buffer, "\"></iframe>\n");
	}
	report_html_facts(buffer, facts);
	report_put(buffer, "</body></html>\n");
}
