/*
 * log.h
 *		The collector's log: one line per event on standard error, logfmt or JSON.
 *
 *		ts=2026-11-21T01:02:03.456Z level=warning mod=writer msg="could not connect to database" detail="…" hint="…" attempt=3
 *
 * Message text follows PostgreSQL's message style: lower case, no full stop; detail and hint are sentences.
 * Library code logs nothing above debug: it returns -errno or a PfsCode, and the loop that called it logs once.
 */
#ifndef COLLECTOR_LOG_H
#define COLLECTOR_LOG_H

#include <stdbool.h>

typedef enum LogLevel
{
	LOG_DEBUG,
	LOG_INFO,
	LOG_WARNING,
	LOG_ERROR
} LogLevel;

void log_configure(LogLevel threshold, bool json);

/*
 * log_event(level, module, message, key, format, value…, key, format, value…, NULL): each key is followed by a printf
 * format with exactly one conversion and its value. Safe to call from any thread.
 */
void log_event(LogLevel level, const char *module, const char *message, ...);

#endif
