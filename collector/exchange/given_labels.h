/*
 * given_labels.h
 *		Labels that an import gives to files, from a flag and from paths.
 */
#ifndef COLLECTOR_GIVEN_LABELS_H
#define COLLECTOR_GIVEN_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "batch/batch.h"
#include "database/wire.h"
#include "program/failure.h"

/* A zeroed list is empty. Names are unique. */
typedef struct GivenLabels
{
	BatchLabel *labels; /* strings are owned by the list */
	size_t count;
	size_t capacity;
} GivenLabels;

void given_labels_free(GivenLabels *list);	/* frees everything; the list is then empty */
void given_labels_reset(GivenLabels *list); /* makes the list empty and keeps the array */

/* Adds a label or changes its value. Returns false on out of memory. */
bool given_labels_set(GivenLabels *list, const char *name, size_t name_length, const char *value,
					  size_t value_length);
bool given_labels_set_all(GivenLabels *list, const GivenLabels *from);

/*
 * Adds the labels of "name=value,name=value". Returns EXIT_OK; otherwise EXIT_CONFIG or
 * EXIT_INTERNAL with *failure set.
 */
ExitCode given_labels_parse(GivenLabels *list, const char *text, Failure *failure);

/* Appends the labels as a JSON object; on out of memory json->failed is set. */
void given_labels_json(const GivenLabels *list, Buffer *json);

/* Returns true if the name matches [a-zA-Z_][a-zA-Z0-9_]*, which the database requires. */
bool label_name_is_valid(const char *name, size_t length);

#endif
