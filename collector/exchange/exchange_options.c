/*
 * exchange_options.c
 *		Tables of flags of import and export.
 */
#include "exchange/exchange.h"

#include <string.h>

static const char *const import_formats[] = { "auto", "pprof", "folded", "perf-script", NULL };
static const char *const export_formats[] = { "pprof",	 "folded", "speedscope", "json",
											  "firefox", "html",   NULL };

static size_t
exchange_common_flags(ExchangeOptions *options, Flag *flags)
{
	size_t count = 0;

	memset(options, 0, sizeof(*options));
	flags[count++] = database_flag(&options->database);
	return count + log_flags(&options->log, &flags[count]);
}

size_t
import_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX])
{
	const Flag own[] = {
		{ "format", FLAG_CHOICE, &options->format, "FORMAT",
		  "pprof, folded or perf-script; default: detected by content", .choices = import_formats },
		{ "labels", FLAG_TEXT, &options->labels, "LIST",
		  "name=value,...: labels of all series; __name__ sets the profile type" },
		{ "path-labels", FLAG_TEXT, &options->path_labels, "PATTERN",
		  "labels from paths, such as {service}/{instance}/*.pb.gz" },
		{ "skip", FLAG_TEXT, &options->skip, "FILE",
		  "skip files that are listed in FILE, the output of an earlier import" },
		{ "at", FLAG_TEXT, &options->at, "TIME",
		  "time of the samples; default: the file's time, or now if it has none" },
		{ "jobs", FLAG_NUMBER, &options->jobs, "NUMBER",
		  "connections that import at the same time; default: 1", .minimum = 1,
		  .maximum = IMPORT_JOBS_MAX },
		{ "stop-on-error", FLAG_SWITCH, &options->stop_on_error, NULL,
		  "stop at the first file that fails" },
	};
	size_t count = exchange_common_flags(options, flags);

	options->labels = "";
	options->jobs = 1;
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}

size_t
export_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX])
{
	const Flag own[] = {
		{ "format", FLAG_CHOICE, &options->format, "FORMAT",
		  "pprof (default), folded, speedscope, json, firefox, html", .choices = export_formats },
		{ "selector", FLAG_TEXT, &options->selector, "SELECTOR",
		  "profile type or its first components, and labels: type{name=\"value\"}" },
		{ "from", FLAG_TEXT, &options->from, "TIME",
		  "start of the range, in PostgreSQL's syntax; default: an hour ago" },
		{ "to", FLAG_TEXT, &options->to, "TIME", "end of the range; default: now" },
		{ "focus", FLAG_TEXT, &options->focus, "REGEX",
		  "keep only stacks with a matching function" },
		{ "ignore", FLAG_TEXT, &options->ignore, "REGEX", "drop stacks with a matching function" },
		{ "show", FLAG_TEXT, &options->show, "REGEX", "keep only frames of matching functions" },
		{ "hide", FLAG_TEXT, &options->hide, "REGEX", "drop frames of matching functions" },
		{ "trace", FLAG_TEXT, &options->trace, "ID", "only samples attributed to this trace" },
		{ "span", FLAG_TEXT, &options->span, "ID", "only samples attributed to this span" },
		{ "output", FLAG_TEXT, &options->output, "FILE",
		  "file to write, - for standard output (the default unless it is a terminal)" },
	};
	size_t count = exchange_common_flags(options, flags);

	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}
