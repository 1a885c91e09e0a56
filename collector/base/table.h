/*
 * table.h
 *		An array whose items can be found by content. Items lie side by side in the order of
 *		insertion; a hash index over them finds equal ones. Items are never removed singly.
 *
 * The index takes 8 bytes a slot (a hash and a position) and no pointer, so the array may move when
 * it grows. A keyed table finds items by the keys of their contents, which are in a second array: a
 * lookup reads two cache lines and not the content. A linked table such as uthash would take 56
 * bytes an item and could not hold items in a growing array.
 */
#ifndef COLLECTOR_TABLE_H
#define COLLECTOR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/content_key.h"

#define TABLE_MAX_ITEMS (UINT32_C(1) << 30)

typedef struct TableSlot
{
	/* hash folded to 32 bits; its low bits select the slot at which probing starts */
	uint32_t hash;
	uint32_t position; /* position of the item plus one; 0 if the slot is free */
} TableSlot;

typedef struct Table
{
	Budget *budget;
	size_t item_bytes;
	uint64_t seed; /* must be the first input of every hash of this table */
	char *items;
	ContentKey *keys; /* keyed tables: one key for each item; otherwise NULL */
	bool is_keyed;
	uint32_t count;
	uint32_t capacity;
	TableSlot *slots;
	uint32_t slot_count; /* 0 or a power of two */
} Table;

/* Returns true if the item equals the key that was passed to table_find(). */
typedef bool (*TableEqual)(const void *item, const void *key);

void table_init(Table *table, Budget *budget, size_t item_bytes);
void table_init_keyed(Table *table, Budget *budget, size_t item_bytes);
/* Frees the memory and releases its charge; the table is empty afterwards. */
void table_fini(Table *table);

/*
 * Finds the item that equals key. Returns false, and leaves *position unchanged, if there is none.
 */
bool table_find(const Table *table, uint64_t hash, TableEqual equal, const void *key,
				uint32_t *position);

/* Like table_find(), but for a keyed table: finds the item whose content has this key. */
bool table_find_key(const Table *table, ContentKey key, uint32_t *position);

/*
 * Makes room for one more item. Returns 0, or -ENOMEM and changes nothing, if memory or budget is
 * exhausted.
 */
int table_reserve(Table *table);

/* Like table_reserve(), but for count more items; after -ENOMEM the table may have grown. */
int table_reserve_many(Table *table, size_t count);

/*
 * Adds an item at position count - 1 and returns it for the caller to fill in. Room must have been
 * reserved. table_append_key() is for keyed tables.
 */
void *table_append(Table *table, uint64_t hash);
void *table_append_key(Table *table, ContentKey key);

static inline void *
table_item(const Table *table, uint32_t position)
{
	return table->items + (size_t) position * table->item_bytes;
}

#endif
