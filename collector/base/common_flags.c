/*
 * common_flags.c
 *		Flags that several commands have.
 */
#include "base/common_flags.h"

#include "base/log.h"

static const char *const log_levels[] = { "debug", "info", "warning", "error", NULL };
static const char *const log_formats[] = { "logfmt", "json", NULL };

size_t
log_flags(LogOptions *options, Flag *flags)
{
	size_t count = 0;

	*options = (LogOptions){ .level = LOG_INFO };
	flags[count++] = (Flag){ .name = "log-level",
							 .kind = FLAG_CHOICE,
							 .value = &options->level,
							 .argument = "LEVEL",
							 .help = "debug, info (default), warning or error",
							 .choices = log_levels };
	flags[count++] = (Flag){ .name = "log-format",
							 .kind = FLAG_CHOICE,
							 .value = &options->format,
							 .argument = "FORMAT",
							 .help = "logfmt (default) or json",
							 .choices = log_formats };
	return count;
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
				   "database, as libpq takes it; default: the PG* environment" };
}
