/*
 * parse.h
 *		Parses and formats durations and sizes as users write them in flags and configuration files.
 */
#ifndef COLLECTOR_PARSE_H
#define COLLECTOR_PARSE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Parses "500ms", "10s", "1m", "2h", "1d" and combinations in falling order such as "1h30m". The
 * unit is required. Returns -EINVAL for malformed text, -ERANGE on overflow; *ms is then unchanged.
 */
int parse_duration_ms(const char *text, int64_t *ms);

/*
 * Parses "64MB". The units are PostgreSQL's: B, kB, MB, GB, TB, each 1024 times the one before; a
 * unit is required. Returns -EINVAL for malformed text, -ERANGE on overflow; *bytes is then
 * unchanged.
 */
int parse_size_bytes(const char *text, size_t *bytes);

#define QUANTITY_TEXT_MAX 32

/* Write a value in the largest unit that leaves no fraction, such as "366d". */
void format_duration_ms(int64_t ms, char text[QUANTITY_TEXT_MAX]);
void format_size_bytes(size_t bytes, char text[QUANTITY_TEXT_MAX]);

#endif
