/*
 * given_labels.h
 *		Labels that an import gives to files: those of a flag, and those of a path.
 */
#ifndef COLLECTOR_GIVEN_LABELS_H
#define COLLECTOR_GIVEN_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "batch/batch.h"
#include "database/wire.h"

/* Zeroed: empty. Each name is there once. */
typedef struct GivenLabels
{
	BatchLabel *labels; /* strings are the list's own */
	size_t count;
	size_t capacity;
} GivenLabels;

void given_labels_free(GivenLabels *list);	/* it is empty then */
void given_labels_reset(GivenLabels *list); /* the same, and keeps the array */

/* Adds a label, or gives it another value. False where memory is out. */
bool given_labels_set(GivenLabels *list, const char *name, size_t name_length, const char *value,
					  size_t value_length);
bool given_labels_set_all(GivenLabels *list, const GivenLabels *from);

/* Adds those of "name=value,name=value". EXIT_OK, or EXIT_CONFIG or EXIT_INTERNAL with *failure. */
ExitCode given_labels_parse(GivenLabels *list, const char *text, Failure *failure);

/* As a JSON object; where memory is out the buffer says so. */
void given_labels_json(const GivenLabels *list, Buffer *json);

/* [a-zA-Z_][a-zA-Z0-9_]*, as the database takes names of labels */
bool label_name_is_valid(const char *name, size_t length);

#endif
