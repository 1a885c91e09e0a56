/*
 * label_set.c
 *		A hash table of label sets.
 */
#include "labels/label_set.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/hash.h"

/* minimum time between two sweeps of a full table */
#define SWEEP_FULL_NS (10 * UINT64_C(1000000000))

struct LabelSet
{
	uint64_t hash;
	_Atomic uint32_t references;
	uint32_t count;
	uint64_t used_ns; /* time of the last lookup or sweep that found a reference */
	UT_hash_handle hh;
	BatchLabel labels[]; /* the strings follow the array */
};

struct LabelSetTable
{
	uint64_t seed;
	size_t limit;
	size_t count;
	uint64_t swept_ns;
	LabelSet *sets;
};

int
label_set_table_create(size_t limit, LabelSetTable **result)
{
	LabelSetTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	table->seed = hash_seed();
	table->limit = limit;
	*result = table;
	return 0;
}

static void
remove_set(LabelSetTable *table, LabelSet *set)
{
	HASH_DEL(table->sets, set);
	table->count--;
	free(set);
}

void
label_set_table_free(LabelSetTable *table)
{
	LabelSet *set;
	LabelSet *next;

	if (table == NULL)
		return;
	HASH_ITER(hh, table->sets, set, next)
		remove_set(table, set);
	free(table);
}

/* Hashes labels with a secret seed, so different sets have equal hashes only by rare chance. */
static uint64_t
label_set_hash_labels(const LabelSetTable *table, const BatchLabel *labels, uint32_t count)
{
	uint64_t hash = hash_word(table->seed, count);

	for (uint32_t i = 0; i < count; i++)
	{
		hash = hash_bytes(hash, labels[i].name, strlen(labels[i].name));
		hash = hash_bytes(hash, labels[i].value, strlen(labels[i].value));
	}
	return hash;
}

static bool
has_labels(const LabelSet *set, const BatchLabel *labels, uint32_t count)
{
	bool equal = set->count == count;

	for (uint32_t i = 0; i < count && equal; i++)
		equal = strcmp(set->labels[i].name, labels[i].name) == 0 &&
				strcmp(set->labels[i].value, labels[i].value) == 0;
	return equal;
}

LabelSet *
label_set_find(LabelSetTable *table, const BatchLabel *labels, uint32_t count, uint64_t now_ns)
{
	uint64_t hash = label_set_hash_labels(table, labels, count);
	LabelSet *set;

	HASH_FIND(hh, table->sets, &hash, sizeof(hash), set);
	if (set == NULL || !has_labels(set, labels, count))
		return NULL;
	set->used_ns = now_ns;
	return label_set_retain(set);
}

static char *
copy_string(char **room, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = memcpy(*room, text, bytes);

	*room += bytes;
	return copy;
}

LabelSet *
label_set_add(LabelSetTable *table, const BatchLabel *labels, uint32_t count, uint64_t now_ns)
{
	size_t bytes = 0;
	LabelSet *set;
	char *room;

	for (uint32_t i = 0; i < count; i++)
		bytes += strlen(labels[i].name) + strlen(labels[i].value) + 2;
	/* A sweep visits all sets, so a full table is swept at most once in SWEEP_FULL_NS. */
	if (table->count >= table->limit && now_ns - table->swept_ns > SWEEP_FULL_NS)
		label_set_table_sweep(table, now_ns);
	set = table->count < table->limit ? malloc(sizeof(*set) + count * sizeof(BatchLabel) + bytes)
									  : NULL;
	if (set == NULL)
		return NULL;
	set->hash = label_set_hash_labels(table, labels, count);
	set->references = 1;
	set->count = count;
	set->used_ns = now_ns;
	/* The strings are in the same block as the set, so one free() releases both. */
	room = (char *) &set->labels[count];
	for (uint32_t i = 0; i < count; i++)
	{
		set->labels[i].name = copy_string(&room, labels[i].name);
		set->labels[i].value = copy_string(&room, labels[i].value);
	}
	HASH_ADD(hh, table->sets, hash, sizeof(set->hash), set);
	table->count++;
	return set;
}

void
label_set_table_sweep(LabelSetTable *table, uint64_t now_ns)
{
	LabelSet *set;
	LabelSet *next;

	table->swept_ns = now_ns;
	HASH_ITER(hh, table->sets, set, next)
	{
		/*
		 * A set with references counts as used now, so it is kept for a while after its last
		 * release.
		 */
		if (atomic_load(&set->references) > 0)
			set->used_ns = now_ns;
		else if (now_ns > set->used_ns && now_ns - set->used_ns > LABEL_SET_KEEP_NS)
			remove_set(table, set);
	}
}

size_t
label_set_table_count(const LabelSetTable *table)
{
	return table->count;
}

LabelSet *
label_set_retain(LabelSet *set)
{
	atomic_fetch_add(&set->references, 1);
	return set;
}

void
label_set_release(LabelSet *set)
{
	if (set != NULL)
		atomic_fetch_sub(&set->references, 1);
}

uint32_t
label_set_labels(const LabelSet *set, const BatchLabel **labels)
{
	*labels = set->labels;
	return set->count;
}

const char *
label_set_value(const LabelSet *set, const char *name)
{
	for (uint32_t i = 0; i < set->count; i++)
	{
		if (strcmp(set->labels[i].name, name) == 0)
			return set->labels[i].value;
	}
	return "";
}
