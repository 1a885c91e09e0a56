/*
 * failure.c
 *		Formats and logs failures.
 */
#include "program/failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

ExitCode
failure_set(Failure *failure, ExitCode code, const char *message)
{
	failure->code = code;
	failure->message = message;
	failure->detail[0] = '\0';
	failure->hint[0] = '\0';
	return code;
}

ExitCode
failure_of_file(Failure *failure, const char *message, const char *path, const char *reason)
{
	failure_set(failure, EXIT_IO, message);
	failure_detail(failure, "\"%s\": %s.", path, reason);
	return EXIT_IO;
}

ExitCode
failure_out_of_memory(Failure *failure)
{
	return failure_set(failure, EXIT_INTERNAL, "out of memory");
}

void
failure_detail(Failure *failure, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure->detail, sizeof(failure->detail), format, arguments);
	va_end(arguments);
}

void
failure_hint(Failure *failure, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure->hint, sizeof(failure->hint), format, arguments);
	va_end(arguments);
}

void
failure_log(const Failure *failure, const char *module)
{
	log_event(LOG_ERROR, module, failure->message, log_text("detail", failure->detail),
			  log_text("hint", failure->hint));
}
