/*
 * answers.h
 *		Steps that the querier's methods and its HTTP endpoints share.
 */
#ifndef COLLECTOR_SERVE_ANSWERS_H
#define COLLECTOR_SERVE_ANSWERS_H

#include "serve/flame_levels.h"
#include "serve/queries.h"

/* Appends the levels of a flame graph to a message. */
typedef void (*LevelsPut)(const FlameLevels *levels, Buffer *out);

/* Appends the flame graph of a request. Returns false after answering with an error. */
bool answer_flamegraph(Asked *asked, const SelectRequest *request, LevelsPut put, Buffer *out);

/* Appends the difference of two requests. Returns false after answering with an error. */
bool answer_diff(Asked *asked, const SelectRequest *left, const SelectRequest *right, LevelsPut put,
				 Buffer *out);

/*
 * Appends the profile of a request, unpacked; it has no samples if the request selects none.
 * Returns false after answering with an error.
 */
bool answer_pprof(Asked *asked, const SelectRequest *request, Buffer *out);

/* Appends the call graph in the DOT language; nothing if the request selects nothing. */
bool answer_dot(Asked *asked, const SelectRequest *request, Buffer *out);

#endif
