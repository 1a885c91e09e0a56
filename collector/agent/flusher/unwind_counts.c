/*
 * unwind_counts.c
 *		Sums counts by the path of the executable.
 */
#include "agent/flusher/unwind_counts.h"

#include <string.h>

#include "base/hash.h"

#define COUNTS_BYTES ((size_t) 1024 * 1024)

void
unwind_counts_init(UnwindCounts *counts)
{
	*counts = (UnwindCounts){ .budget = { .limit_bytes = COUNTS_BYTES }, .others = { .exe = "" } };
	arena_init(&counts->arena, &counts->budget);
	table_init(&counts->table, &counts->budget, sizeof(BatchUnwound));
}

void
unwind_counts_fini(UnwindCounts *counts)
{
	table_fini(&counts->table);
	arena_fini(&counts->arena);
}

static bool
exe_equal(const void *item, const void *key)
{
	return strcmp(((const BatchUnwound *) item)->exe, key) == 0;
}

/* Returns the item of an executable, adding it if needed; out of memory, the item "". */
static BatchUnwound *
find_item(UnwindCounts *counts, const char *exe)
{
	Table *table = &counts->table;
	size_t bytes = strlen(exe) + 1;
	uint64_t hash = hash_bytes(table->seed, exe, bytes);
	BatchUnwound *item;
	uint32_t position;
	char *copy;

	if (table_find(table, hash, exe_equal, exe, &position))
		return table_item(table, position);
	/* Get memory for text and item before adding, so that a failure leaves the table unchanged. */
	copy = arena_alloc(&counts->arena, bytes);
	if (copy == NULL || table_reserve(table) != 0)
		return &counts->others;
	item = table_append(table, hash);
	*item = (BatchUnwound){ .exe = memcpy(copy, exe, bytes) };
	return item;
}

void
unwind_counts_add(UnwindCounts *counts, const char *exe, uint64_t count, bool complete)
{
	BatchUnwound *item = find_item(counts, exe);

	item->stacks += count;
	if (complete)
		item->complete += count;
}

static bool
move_item(BatchUnwound *item, Batch *batch)
{
	if (item->stacks > 0 && batch_add_unwound(batch, item) != 0)
		return false;
	item->stacks = 0;
	item->complete = 0;
	return true;
}

void
unwind_counts_report(UnwindCounts *counts, Batch *batch)
{
	bool moved = move_item(&counts->others, batch);

	for (uint32_t i = 0; i < counts->table.count; i++)
		moved = move_item(table_item(&counts->table, i), batch) && moved;
	/* If the batch was full, keep the remaining counts for the next batch. */
	if (moved)
	{
		table_fini(&counts->table);
		arena_fini(&counts->arena);
	}
}
