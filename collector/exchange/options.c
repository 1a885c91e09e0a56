/*
 * options.c
 *		Tables of flags.
 */
#include "exchange/exchange.h"

#include <string.h>

static const char *const import_formats[] = { "auto", "pprof", "folded", "perf-script", NULL };
static const char *const export_formats[] = { "pprof",	 "folded", "speedscope", "json",
											  "firefox", "html",   NULL };

static size_t
common_flags(ExchangeOptions *options, Flag *flags)
{
	size_t count = 0;

	memset(options, 0, sizeof(*options));
	flags[count++] = database_flag(&options->database);
	return count + log_flags(&options->log, &flags[count]);
}

size_t
import_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX])
{
	size_t count = common_flags(options, flags);

	options->labels = "";
	flags[count++] = (Flag){ .name = "format",
							 .kind = FLAG_CHOICE,
							 .value = &options->format,
							 .argument = "FORMAT",
							 .help = "pprof, folded, perf-script; default: by content",
							 .choices = import_formats };
	flags[count++] = (Flag){ "labels", FLAG_TEXT, &options->labels, "LIST",
							 "name=value,...: labels of all series; __name__ names the profile" };
	flags[count++] = (Flag){ "at", FLAG_TEXT, &options->at, "TIME",
							 "time of the samples; default: the file's own, else now" };
	return count;
}

size_t
export_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX])
{
	size_t count = common_flags(options, flags);

	flags[count++] = (Flag){ .name = "format",
							 .kind = FLAG_CHOICE,
							 .value = &options->format,
							 .argument = "FORMAT",
							 .help = "pprof (default), folded, speedscope, json, firefox, html",
							 .choices = export_formats };
	flags[count++] = (Flag){ "selector", FLAG_TEXT, &options->selector, "SELECTOR",
							 "profile type, or its first parts, and labels: type{name=\"value\"}" };
	flags[count++] = (Flag){ "from", FLAG_TEXT, &options->from, "TIME",
							 "begin of the range, as PostgreSQL reads it; default: an hour ago" };
	flags[count++] =
		(Flag){ "to", FLAG_TEXT, &options->to, "TIME", "end of the range; default: now" };
	flags[count++] =
		(Flag){ "focus", FLAG_TEXT, &options->focus, "REGEX", "only stacks with such a function" };
	flags[count++] =
		(Flag){ "ignore", FLAG_TEXT, &options->ignore, "REGEX", "no stacks with such a function" };
	flags[count++] =
		(Flag){ "show", FLAG_TEXT, &options->show, "REGEX", "only frames of such functions" };
	flags[count++] =
		(Flag){ "hide", FLAG_TEXT, &options->hide, "REGEX", "no frames of such functions" };
	flags[count++] = (Flag){ "output", FLAG_TEXT, &options->output, "FILE",
							 "file to write; default: standard output" };
	return count;
}
