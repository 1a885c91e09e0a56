/*
 * utf8.h
 *		UTF-8 as RFC 3629 allows it. Names of processes and symbols are bytes; PostgreSQL and JSON
 *		take only text.
 */
#ifndef COLLECTOR_UTF8_H
#define COLLECTOR_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* What stands in the place of a byte that belongs to no character: U+FFFD. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/*
 * Bytes of the character at text, which ends with a NUL somewhere; 0 where there is no valid one.
 */
size_t utf8_length(const char *text);

/* True where the whole string is valid; or all of some bytes, which need not end with a NUL. */
bool utf8_valid(const char *text);
bool utf8_valid_bytes(const char *bytes, size_t length);

/*
 * A copy, to be freed by the caller, with U+FFFD for each byte of no character; NULL without
 * memory.
 */
char *utf8_replace_invalid(const char *text);

#endif
