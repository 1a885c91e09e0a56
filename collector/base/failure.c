/*
 * failure.c
 *		Formatting and logging of failures.
 */
#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

ExitCode
failure_set(Failure *failure, ExitCode code, const char *format, ...)
{
	va_list arguments;

	failure->code = code;
	failure->detail[0] = '\0';
	failure->hint[0] = '\0';
	va_start(arguments, format);
	vsnprintf(failure->message, sizeof(failure->message), format, arguments);
	va_end(arguments);
	return code;
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
	if (failure->detail[0] != '\0' && failure->hint[0] != '\0')
		log_event(LOG_ERROR, module, failure->message, "detail", "%s", failure->detail, "hint",
				  "%s", failure->hint, NULL);
	else if (failure->detail[0] != '\0')
		log_event(LOG_ERROR, module, failure->message, "detail", "%s", failure->detail, NULL);
	else if (failure->hint[0] != '\0')
		log_event(LOG_ERROR, module, failure->message, "hint", "%s", failure->hint, NULL);
	else
		log_event(LOG_ERROR, module, failure->message, NULL);
}
