/*
 * parse.h
 *		Durations and sizes as people write them in flags and configuration.
 */
#ifndef COLLECTOR_PARSE_H
#define COLLECTOR_PARSE_H

#include <stddef.h>
#include <stdint.h>

/*
 * "500ms", "10s", "1m", "2h", "1d", and these in falling order such as "1h30m". A unit is required.
 * -EINVAL where the text is none, -ERANGE where it does not fit; *ms is then untouched.
 */
int parse_duration_ms(const char *text, int64_t *ms);

/*
 * "64MB", with PostgreSQL's units B, kB, MB, GB, TB, each 1024 of the one before. A unit is
 * required. Errors as above.
 */
int parse_size_bytes(const char *text, size_t *bytes);

#define QUANTITY_TEXT_MAX 32

/* Write what the functions above read, in the largest unit that leaves no fraction: "366d". */
void format_duration_ms(int64_t ms, char text[QUANTITY_TEXT_MAX]);
void format_size_bytes(size_t bytes, char text[QUANTITY_TEXT_MAX]);

#endif
