/*
 * label_builder.h
 *		A set of labels that rules change. Names are unique; an empty value is no label.
 *
 * Texts that are set are the builder's own, or borrowed from whoever outlives the work.
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
	size_t sorted_count; /* the first ones, as they were when they were sorted */
	size_t capacity;
	Budget budget;
	Arena arena;
	bool failed; /* memory is out: what is in it is not whole */
} LabelBuilder;

void label_builder_init(LabelBuilder *builder);
void label_builder_reset(LabelBuilder *builder); /* empty again, not failed */
void label_builder_fini(LabelBuilder *builder);

/* "" where there is no such label. */
const char *label_builder_get(const LabelBuilder *builder, const char *name);

/* Sets a label to texts that are borrowed; "" removes it. */
void label_builder_set(LabelBuilder *builder, const char *name, const char *value);
void label_builder_remove(LabelBuilder *builder, const char *name);

/* Memory that goes with the next reset; NULL, and the builder failed, where there is none. */
char *label_builder_alloc(LabelBuilder *builder, size_t bytes);
char *label_builder_copy(LabelBuilder *builder, const char *text);

/* What a series cannot have in a name becomes "_". */
void label_name_make_plain(char *name);

/* By name, bytes as they are. Those that are set from then on stand behind them in that order. */
void label_builder_sort(LabelBuilder *builder);

#endif
