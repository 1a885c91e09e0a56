/*
 * common_flags.c
 *		Flags that several commands share.
 */
#include "program/common_flags.h"

#include "base/log.h"

static const char *const log_levels[] = { "debug", "info", "warning", "error", NULL };
static const char *const log_formats[] = { "logfmt", "json", NULL };

size_t
log_flags(LogOptions *options, Flag *flags)
{
	const Flag own[] = {
		{ "log-level", FLAG_CHOICE, &options->level, "LEVEL",
		  "debug, info (default), warning or error", .choices = log_levels },
		{ "log-format", FLAG_CHOICE, &options->format, "FORMAT", "logfmt (default) or json",
		  .choices = log_formats },
	};

	*options = (LogOptions){ .level = LOG_INFO };
	return flags_append(flags, 0, own, sizeof(own) / sizeof(own[0]));
}

void
log_apply(const LogOptions *options)
{
	log_configure((LogLevel) options->level, options->format == 1);
}

Flag
database_flag(const char **database)
{
	*database = "";
	return (Flag){ "db", FLAG_TEXT, database, "CONNINFO",
				   "libpq connection string; default: the PG* environment variables" };
}
