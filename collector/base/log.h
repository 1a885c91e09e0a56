/*
 * log.h
 *		The collector's log: one line per event on standard error, logfmt or JSON.
 *
 *		ts=2026-11-21T01:02:03.456Z level=warning mod=writer msg="could not connect" attempt=3
 *
 * Message text follows PostgreSQL's message style: lower case, no full stop; detail and hint are
 * sentences. Library code logs nothing above debug: it returns -errno or an ExitCode, and the loop
 * that called it logs once. What varies belongs into fields, never into the message, because
 * repeats are known by (module, message): of each warning at most LOG_BURST lines are written in
 * LOG_WINDOW_S seconds, and the next one says suppressed=N. Other levels are never held back.
 *
 *		log_event(LOG_WARNING, "writer", "could not connect to database",
 *				  log_text("detail", error.detail), log_number("attempt", attempt));
 *
 * Module and message are string literals: they are kept by pointer.
 * All functions may be called from any thread; lines are never mixed. Bytes that are
 * not UTF-8 become U+FFFD; a line longer than LOG_LINE_BYTES is cut and says truncated=true.
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
	LOG_KIND_REAL,
	LOG_KIND_FLAG
} LogKind;

typedef struct LogField
{
	const char *key; /* NULL: not a field */
	LogKind kind;
	const char *text; /* NULL or "": the field is left out */
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

static inline LogField
log_flag(const char *key, bool value)
{
	return (LogField){ .key = key, .kind = LOG_KIND_FLAG, .number = value };
}

/* At any time. Before the first: info and above, logfmt. */
void log_configure(LogLevel threshold, bool json);

/* Any number of fields, in the order in which they shall stand. */
#define log_event(level, module, message, ...)                                       \
	log_write(level, module, message, (const LogField[]){ { NULL }, ##__VA_ARGS__ }, \
			  sizeof((const LogField[]){ { NULL }, ##__VA_ARGS__ }) / sizeof(LogField))

/* What log_event calls; fields without a key are passed over. */
void log_write(LogLevel level, const char *module, const char *message, const LogField *fields,
			   size_t field_count);

/* Writes the counts of warnings still held back; call once, before the program ends. */
void log_flush(void);

#endif
