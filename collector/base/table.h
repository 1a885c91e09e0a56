/*
 * table.h
 *		An array whose items are found again by content: items lie side by side in the order in
 *		which they came, a hash index over them finds equal ones. Items are never removed singly.
 *
 * The index holds 8 bytes a slot (a hash, a position) and no pointer, so the array may move when it
 * grows. In a keyed table items are found by the keys of their contents, which lie side by side,
 * too: what is known costs two places in memory, and its content none. A library's table of linked
 * entries (uthash) costs 56 bytes an item, and its items cannot lie in an array that grows.
 */
#ifndef COLLECTOR_TABLE_H
#define COLLECTOR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/content_key.h"

typedef struct TableSlot
{
	uint32_t hash;	   /* folded to 32 bits; its low bits are the place where probing starts */
	uint32_t position; /* of the item, plus one; 0: slot is free */
} TableSlot;

typedef struct Table
{
	Budget *budget;
	size_t item_bytes;
	uint64_t seed; /* begin every hash of this table with it */
	char *items;
	ContentKey *keys; /* of items that are known by theirs; else NULL */
	bool is_keyed;
	uint32_t count;
	uint32_t capacity;
	TableSlot *slots;
	uint32_t slot_count; /* 0 or a power of two */
} Table;

/* True where the item equals the key that was passed to table_find. */
typedef bool (*TableEqual)(const void *item, const void *key);

void table_init(Table *table, Budget *budget, size_t item_bytes);
void table_init_keyed(Table *table, Budget *budget, size_t item_bytes);
void table_fini(Table *table); /* gives the memory, and its charge, back; the table is then empty */

/* The position of the item that equals key, if there is one. */
bool table_find(const Table *table, uint64_t hash, TableEqual equal, const void *key,
				uint32_t *position);

/* The same in a keyed table. */
bool table_find_key(const Table *table, ContentKey key, uint32_t *position);

/* Makes room for one more item. -ENOMEM, and nothing changed, where memory or budget is out. */
int table_reserve(Table *table);

/* The same for count items. */
int table_reserve_many(Table *table, size_t count);

/* A new item at position count - 1, to be filled in by the caller. Room must have been reserved. */
void *table_append(Table *table, uint64_t hash);
void *table_append_key(Table *table, ContentKey key);

static inline void *
table_item(const Table *table, uint32_t position)
{
	return table->items + (size_t) position * table->item_bytes;
}

#endif
