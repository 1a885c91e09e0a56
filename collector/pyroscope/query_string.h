/*
 * query_string.h
 *		Query strings of Pyroscope's HTTP endpoints: parameters, and times among them.
 */
#ifndef COLLECTOR_PYROSCOPE_QUERY_STRING_H
#define COLLECTOR_PYROSCOPE_QUERY_STRING_H

#include <stdint.h>

#include "base/arena.h"
#include "formats/profile.h"

/* Removes the text up to a separator, or all of it, from *rest and returns it. */
PfsText query_cut(PfsText *rest, char separator);

/*
 * Removes the next parameter of a query string without its "?". The value is decoded into the
 * arena. Returns false at the end, or with *error, a static text.
 */
bool query_next(PfsText *rest, Arena *arena, PfsText *key, PfsText *value, const char **error);

/*
 * Parses a time: a number of seconds, milliseconds, microseconds or nanoseconds by its digits, a
 * date of eight digits, or "now-1h". Returns false if it is none.
 */
bool query_time(PfsText text, int64_t now_us, int64_t *time_us);

#endif
