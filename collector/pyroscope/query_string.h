/*
 * query_string.h
 *		Query strings of Pyroscope's HTTP endpoints: parameters, and times among them.
 */
#ifndef COLLECTOR_PYROSCOPE_QUERY_STRING_H
#define COLLECTOR_PYROSCOPE_QUERY_STRING_H

#include <stdint.h>

#include "base/arena.h"
#include "formats/profile.h"

/* Removes the text up to a separator, or all text, from *rest and returns it. */
PfsText query_cut(PfsText *rest, char separator);

/*
 * Removes the next parameter of a query string without its "?". The value is decoded into the
 * arena. Returns false at the end, or with *error, a literal.
 */
bool query_next(PfsText *rest, Arena *arena, PfsText *key, PfsText *value, const char **error);

/*
 * Parses a time: a number of seconds, milliseconds, microseconds or nanoseconds, recognized by its
 * number of digits; a date of eight digits; or "now-1h". Returns false if the text is no time.
 */
bool query_time(PfsText text, int64_t now_us, int64_t *time_us);

#endif
