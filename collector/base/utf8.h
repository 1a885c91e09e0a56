/*
 * utf8.h
 *		UTF-8 as RFC 3629 defines it. Names of processes and symbols are arbitrary bytes, but
 *		PostgreSQL and JSON accept only valid text.
 */
#ifndef COLLECTOR_UTF8_H
#define COLLECTOR_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* U+FFFD, which replaces each byte that belongs to no valid character. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/*
 * Returns the length in bytes of the character at text, a NUL-terminated string; 0 if it is not
 * valid.
 */
size_t utf8_length(const char *text);

/* Return true if the whole text is valid UTF-8. bytes need not be NUL-terminated. */
bool utf8_valid(const char *text);
bool utf8_valid_bytes(const char *bytes, size_t length);

/*
 * Returns a copy, owned by the caller, in which U+FFFD replaces each invalid byte; NULL on out of
 * memory.
 */
char *utf8_replace_invalid(const char *text);

#endif
