/*
 * log.h
 *		The collector's log: one line per event on standard error, logfmt or JSON.
 *
 * ts=2026-11-21T01:02:03.456Z level=warning mod=writer msg="could not connect" attempt=3
 *
 * Messages follow PostgreSQL's style: lower case, no period; detail and hint are sentences. Library
 * functions log nothing above debug: they return -errno or an ExitCode, and the loop that called
 * them logs once. Variable parts belong in fields, never in the message, because (module, message)
 * identifies repeats: of each warning we write up to LOG_BURST lines in LOG_WINDOW_S seconds, and
 * the next line carries suppressed=N. Other levels are never suppressed.
 *
 * log_event(LOG_WARNING, "writer", "could not connect to database", log_text("detail",
 * error.detail), log_number("attempt", attempt));
 *
 * Module and message must be string literals: the log keeps the pointers. All functions may be
 * called from any thread; lines are never interleaved. Bytes that are not UTF-8 become U+FFFD; a
 * line longer than LOG_LINE_BYTES is cut and ends with truncated=true.
 */
#ifndef COLLECTOR_LOG_H
#define COLLECTOR_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_BURST	   5
#define LOG_WINDOW_S   10
#define LOG_LINE_BYTES 8192

typedef enum LogLevel
{
	LOG_DEBUG,
	LOG_INFO,
	LOG_WARNING,
	LOG_ERROR
} LogLevel;

typedef enum LogKind
{
	LOG_KIND_TEXT,
	LOG_KIND_NUMBER,
	LOG_KIND_REAL
} LogKind;

typedef struct LogField
{
	const char *key; /* NULL if there is no field */
	LogKind kind;
	const char *text; /* the field is omitted if this is NULL or "" */
	int64_t number;
	double real;
} LogField;

static inline LogField
log_text(const char *key, const char *value)
{
	return (LogField){ .key = key, .kind = LOG_KIND_TEXT, .text = value };
}

static inline LogField
log_number(const char *key, int64_t value)
{
	return (LogField){ .key = key, .kind = LOG_KIND_NUMBER, .number = value };
}

static inline LogField
log_real(const char *key, double value)
{
	return (LogField){ .key = key, .kind = LOG_KIND_REAL, .real = value };
}

/*
 * Sets level and format. May be called at any time; before the first call the log uses level info
 * and format logfmt.
 */
void log_configure(LogLevel threshold, bool json);

/* Writes a line with any number of fields, which appear in the given order. */
#define log_event(level, module, message, ...)                                       \
	log_write(level, module, message, (const LogField[]){ { NULL }, ##__VA_ARGS__ }, \
			  sizeof((const LogField[]){ { NULL }, ##__VA_ARGS__ }) / sizeof(LogField))

/* Writes a line for log_event(). Skips fields without a key. */
void log_write(LogLevel level, const char *module, const char *message, const LogField *fields,
			   size_t field_count);

/*
 * Writes the counts of warnings that are still suppressed. Call it once, before the program ends.
 */
void log_flush(void);

#endif
