/*
 * log.c
 *		Formats log lines and limits repeated warnings.
 *
 * One lock guards the table of repeats and the writing of a line. The kernel does not keep lines of
 * several threads apart: neither long writes to a pipe nor writes to a file without O_APPEND are
 * atomic. The table is small and fixed: if it is full, a new message replaces the one that has been
 * silent longest, and the count of that one is written first.
 */
#include "base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"

#define REPEAT_SLOTS 64

/* Reserved at the end of a line for truncated=true and the closing brace. */
#define LINE_RESERVE 32

typedef struct Line
{
	bool json;
	bool truncated;
	size_t length;
	char bytes[LOG_LINE_BYTES];
} Line;

typedef struct Repeat
{
	const char *module; /* NULL if the slot is free */
	const char *message;
	int64_t window_start_s; /* CLOCK_MONOTONIC */
	uint32_t written;		/* number of lines in this window */
	uint64_t suppressed;	/* number of lines suppressed since the last line was written */
} Repeat;

static const char *const level_names[] = { "debug", "info", "warning", "error" };

static _Atomic LogLevel log_threshold = LOG_INFO;
static atomic_bool log_json = false;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static Repeat repeats[REPEAT_SLOTS];

static void
line_append(Line *line, const char *bytes, size_t length)
{
	if (line->truncated || line->length + length > sizeof(line->bytes) - LINE_RESERVE)
	{
		line->truncated = true;
		return;
	}
	memcpy(line->bytes + line->length, bytes, length);
	line->length += length;
}

static void
line_append_string(Line *line, const char *text)
{
	line_append(line, text, strlen(text));
}

/* Appends the inside of a quoted string. logfmt and JSON use the same escapes. */
static void
line_append_escaped(Line *line, const char *text)
{
	char escape[JSON_ESCAPE_BYTES];

	while (*text != '\0')
	{
		size_t length = utf8_length(text);

		if (length == 0)
		{
			line_append_string(line, UTF8_REPLACEMENT);
			length = 1;
		}
		else if (json_escape((unsigned char) *text, escape))
			line_append_string(line, escape);
		else
			line_append(line, text, length);
		text += length;
	}
}

static bool
needs_quotes(const char *text)
{
	for (const unsigned char *c = (const unsigned char *) text; *c != '\0'; c++)
		if (*c <= ' ' || *c >= 0x7F || *c == '"' || *c == '=' || *c == '\\')
			return true;
	return text[0] == '\0';
}

static void
line_append_key(Line *line, const char *key)
{
	if (line->length > 0 && !(line->json && line->length == 1))
		line_append_string(line, line->json ? "," : " ");
	if (line->json)
		line_append_string(line, "\"");
	line_append_string(line, key);
	line_append_string(line, line->json ? "\":" : "=");
}

static void
line_append_text(Line *line, const char *key, const char *value)
{
	bool quoted = line->json || needs_quotes(value);
	size_t start = line->length;

	line_append_key(line, key);
	if (quoted)
		line_append_string(line, "\"");
	line_append_escaped(line, value);
	if (quoted)
		line_append_string(line, "\"");

	/* Drop the whole field if it does not fit, because half of it could not be parsed. */
	if (line->truncated)
		line->length = start;
}

static void
line_append_plain(Line *line, const char *key, const char *value)
{
	size_t start = line->length;

	line_append_key(line, key);
	line_append_string(line, value);
	if (line->truncated)
		line->length = start;
}

/* Appends a field in the format of its kind, unless it has no key or no text. */
static void
line_append_field(Line *line, const LogField *field)
{
	char number[32];

	if (field->key == NULL)
		return;
	switch (field->kind)
	{
		case LOG_KIND_TEXT:
			if (field->text != NULL && field->text[0] != '\0')
				line_append_text(line, field->key, field->text);
			return;
		case LOG_KIND_NUMBER:
			snprintf(number, sizeof(number), "%" PRId64, field->number);
			break;
		case LOG_KIND_REAL:
			/* JSON has no infinity and no NaN. */
			if (__builtin_isfinite(field->real))
				snprintf(number, sizeof(number), "%.6g", field->real);
			else
				snprintf(number, sizeof(number), "null");
			break;
	}
	line_append_plain(line, field->key, number);
}

static void
line_append_time(Line *line)
{
	struct timespec now;
	struct tm utc;
	char text[40];
	size_t length;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + length, sizeof(text) - length, ".%03dZ", (int) (now.tv_nsec / 1000000));
	line_append_text(line, "ts", text);
}

/* Ends the line and writes it with one write(), so that it is not interleaved. */
static void
line_write(Line *line)
{
	ssize_t written;

	if (line->truncated)
	{
		line->truncated = false;
		/* This always fits, because of LINE_RESERVE. */
		line->length += (size_t) snprintf(line->bytes + line->length, LINE_RESERVE,
										  line->json ? ",\"truncated\":true" : " truncated=true");
	}
	if (line->json)
		line->bytes[line->length++] = '}';
	line->bytes[line->length++] = '\n';

	/* If the log itself cannot be written, there is no other place to report the error. */
	written = write(STDERR_FILENO, line->bytes, line->length);
	(void) written;
}

/* Formats and writes one line. The caller must hold log_lock. */
static void
log_line(LogLevel level, const char *module, const char *message, const LogField *fields,
		 size_t field_count, uint64_t suppressed)
{
	Line line;

	line.json = log_json;
	line.truncated = false;
	line.length = 0;
	if (line.json)
		line_append_string(&line, "{");
	line_append_time(&line);
	line_append_text(&line, "level", level_names[level]);
	line_append_text(&line, "mod", module);
	line_append_text(&line, "msg", message);
	if (suppressed > 0)
	{
		LogField field = log_number("suppressed", (int64_t) suppressed);

		line_append_field(&line, &field);
	}
	for (size_t i = 0; i < field_count; i++)
		line_append_field(&line, &fields[i]);
	line_write(&line);
}

/*
 * Returns the slot of this warning, or a free one. If none is free, reuses the slot of the warning
 * that has been silent longest.
 */
static Repeat *
repeat_slot(const char *module, const char *message)
{
	Repeat *victim = &repeats[0];

	for (int i = 0; i < REPEAT_SLOTS; i++)
	{
		Repeat *slot = &repeats[i];

		if (slot->module == NULL)
			return slot;
		if (strcmp(slot->module, module) == 0 && strcmp(slot->message, message) == 0)
			return slot;
		if (slot->window_start_s < victim->window_start_s)
			victim = slot;
	}
	if (victim->suppressed > 0)
		log_line(LOG_WARNING, victim->module, victim->message, NULL, 0, victim->suppressed);
	victim->module = NULL;
	return victim;
}

/*
 * Returns true if a warning may be written. *suppressed is the number of equal warnings that were
 * suppressed since the last one written.
 */
static bool
repeat_allowed(const char *module, const char *message, uint64_t *suppressed)
{
	struct timespec now;
	Repeat *slot;
	bool allowed;

	clock_gettime(CLOCK_MONOTONIC, &now);
	slot = repeat_slot(module, message);
	if (slot->module == NULL)
		*slot = (Repeat){ .module = module, .message = message, .window_start_s = now.tv_sec };
	if (now.tv_sec - slot->window_start_s >= LOG_WINDOW_S)
	{
		slot->window_start_s = now.tv_sec;
		slot->written = 0;
	}
	allowed = slot->written < LOG_BURST;
	if (allowed)
	{
		slot->written++;
		*suppressed = slot->suppressed;
		slot->suppressed = 0;
	}
	else
		slot->suppressed++;
	return allowed;
}

void
log_configure(LogLevel threshold, bool json)
{
	log_threshold = threshold;
	log_json = json;
}

void
log_write(LogLevel level, const char *module, const char *message, const LogField *fields,
		  size_t field_count)
{
	uint64_t suppressed = 0;

	if (level < log_threshold)
		return;
	pthread_mutex_lock(&log_lock);
	if (level != LOG_WARNING || repeat_allowed(module, message, &suppressed))
		log_line(level, module, message, fields, field_count, suppressed);
	pthread_mutex_unlock(&log_lock);
}

void
log_flush(void)
{
	pthread_mutex_lock(&log_lock);
	for (int i = 0; i < REPEAT_SLOTS; i++)
	{
		if (repeats[i].module != NULL && repeats[i].suppressed > 0)
			log_line(LOG_WARNING, repeats[i].module, repeats[i].message, NULL, 0,
					 repeats[i].suppressed);
		repeats[i].suppressed = 0;
	}
	pthread_mutex_unlock(&log_lock);
}
