/*
 * table.c
 *		An array and a hash index with open addressing and linear probing, at most two thirds full.
 */
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "base/hash.h"

#define TABLE_MIN_ITEMS 16

void
table_init(Table *table, Budget *budget, size_t item_bytes)
{
	*table = (Table){ .budget = budget, .item_bytes = item_bytes, .seed = hash_seed() };
}

void
table_init_keyed(Table *table, Budget *budget, size_t item_bytes)
{
	table_init(table, budget, item_bytes);
	table->is_keyed = true;
}

/* Returns the size of an item and, in a keyed table, of its key. */
static size_t
table_entry_bytes(const Table *table)
{
	return table->item_bytes + (table->is_keyed ? sizeof(ContentKey) : 0);
}

void
table_fini(Table *table)
{
	budget_release(table->budget, (size_t) table->capacity * table_entry_bytes(table) +
									  (size_t) table->slot_count * sizeof(TableSlot));
	free(table->items);
	free(table->keys);
	free(table->slots);
	table->items = NULL;
	table->keys = NULL;
	table->slots = NULL;
	table->count = table->capacity = table->slot_count = 0;
}

static uint32_t
hash_fold(uint64_t hash)
{
	return (uint32_t) (hash ^ hash >> 32);
}

bool
table_find(const Table *table, uint64_t hash, TableEqual equal, const void *key, uint32_t *position)
{
	uint32_t folded = hash_fold(hash);
	uint32_t mask = table->slot_count - 1;

	if (table->slot_count == 0)
		return false;
	for (uint32_t i = folded & mask; table->slots[i].position != 0; i = (i + 1) & mask)
	{
		const TableSlot *slot = &table->slots[i];

		if (slot->hash == folded && equal(table_item(table, slot->position - 1), key))
		{
			*position = slot->position - 1;
			return true;
		}
	}
	return false;
}

bool
table_find_key(const Table *table, ContentKey key, uint32_t *position)
{
	uint32_t folded = hash_fold(key.words[0]);
	uint32_t mask = table->slot_count - 1;

	if (table->slot_count == 0)
		return false;
	for (uint32_t i = folded & mask; table->slots[i].position != 0; i = (i + 1) & mask)
	{
		const TableSlot *slot = &table->slots[i];

		if (slot->hash == folded && content_keys_equal(table->keys[slot->position - 1], key))
		{
			*position = slot->position - 1;
			return true;
		}
	}
	return false;
}

static void
slots_insert(TableSlot *slots, uint32_t slot_count, TableSlot slot)
{
	uint32_t mask = slot_count - 1;
	uint32_t i = slot.hash & mask;

	while (slots[i].position != 0)
		i = (i + 1) & mask;
	slots[i] = slot;
}

/*
 * Enlarges the arrays of items and keys. If only the first succeeds, it stays larger than
 * table->capacity, which is harmless.
 */
static bool
grow_arrays(Table *table, size_t capacity)
{
	char *items = realloc(table->items, capacity * table->item_bytes);
	ContentKey *keys;

	if (items == NULL)
		return false;
	table->items = items;
	if (!table->is_keyed)
		return true;
	keys = realloc(table->keys, capacity * sizeof(ContentKey));
	if (keys == NULL)
		return false;
	table->keys = keys;
	return true;
}

/* Enlarges the arrays by half, or by least items if that is more. */
static int
grow_items(Table *table, size_t least)
{
	size_t added = MAX(table->capacity ? table->capacity / 2 : TABLE_MIN_ITEMS, least);

	if (table->capacity >= TABLE_MAX_ITEMS ||
		!budget_charge(table->budget, added * table_entry_bytes(table)))
		return -ENOMEM;
	if (!grow_arrays(table, table->capacity + added))
	{
		budget_release(table->budget, added * table_entry_bytes(table));
		return -ENOMEM;
	}
	table->capacity += (uint32_t) added;
	return 0;
}

/*
 * Doubles the index until count items fit, and inserts all slots again. The slots contain the
 * hashes, so items are not read.
 */
static int
grow_slots(Table *table, size_t count)
{
	uint32_t slot_count = table->slot_count ? table->slot_count : TABLE_MIN_ITEMS;
	TableSlot *slots;

	do
		slot_count *= 2;
	while (count > slot_count / 3 * 2);
	if (!budget_charge(table->budget, slot_count * sizeof(TableSlot)))
		return -ENOMEM;
	slots = calloc(slot_count, sizeof(TableSlot));
	if (slots == NULL)
	{
		budget_release(table->budget, slot_count * sizeof(TableSlot));
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < table->slot_count; i++)
		if (table->slots[i].position != 0)
			slots_insert(slots, slot_count, table->slots[i]);
	budget_release(table->budget, table->slot_count * sizeof(TableSlot));
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return 0;
}

int
table_reserve(Table *table)
{
	int err;

	if (table->count == table->capacity && (err = grow_items(table, 1)) != 0)
		return err;
	if (table->count >= table->slot_count / 3 * 2)
		return grow_slots(table, table->count);
	return 0;
}

int
table_reserve_many(Table *table, size_t count)
{
	int err = 0;

	if (count > TABLE_MAX_ITEMS - table->count)
		return -ENOMEM;
	if (table->capacity - table->count < count)
		err = grow_items(table, count - (table->capacity - table->count));
	if (err == 0 && table->count + count > table->slot_count / 3 * 2)
		err = grow_slots(table, table->count + count);
	return err;
}

void *
table_append(Table *table, uint64_t hash)
{
	TableSlot slot = { .hash = hash_fold(hash), .position = ++table->count };

	slots_insert(table->slots, table->slot_count, slot);
	return table_item(table, table->count - 1);
}

void *
table_append_key(Table *table, ContentKey key)
{
	table->keys[table->count] = key;
	return table_append(table, key.words[0]);
}
