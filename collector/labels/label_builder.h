/*
 * label_builder.h
 *		A set of labels that relabelling rules change. Names are unique; setting an empty value
 *		removes the label.
 *
 * Texts are the builder's own copies, or borrowed from an owner that outlives the builder's use.
 */
#ifndef COLLECTOR_LABEL_BUILDER_H
#define COLLECTOR_LABEL_BUILDER_H

#include <stdbool.h>

#include "base/arena.h"
#include "batch/batch.h"

typedef struct LabelBuilder
{
	BatchLabel *labels;
	size_t count;
	/* number of labels at the beginning of the array that are sorted and unchanged */
	size_t sorted_count;
	size_t capacity;
	Budget budget;
	Arena arena;
	bool failed; /* an allocation failed, so the set is incomplete */
} LabelBuilder;

void label_builder_init(LabelBuilder *builder);
void label_builder_reset(LabelBuilder *builder); /* makes it empty and clears failed */
void label_builder_fini(LabelBuilder *builder);

/* Returns a label's value; "" if there is no such label. */
const char *label_builder_get(const LabelBuilder *builder, const char *name);

/* Sets a label to texts that are borrowed; the value "" removes the label. */
void label_builder_set(LabelBuilder *builder, const char *name, const char *value);
void label_builder_remove(LabelBuilder *builder, const char *name);

/* Return memory that the next reset frees; NULL, and failed is set, on out of memory. */
char *label_builder_alloc(LabelBuilder *builder, size_t bytes);
char *label_builder_copy(LabelBuilder *builder, const char *text);

/* Replaces the characters that are not allowed in names of a series' labels by "_". */
void label_name_make_plain(char *name);

/* Sorts by name, bytewise. Labels set later are appended in the order of their insertion. */
void label_builder_sort(LabelBuilder *builder);

#endif
