/*
 * row_table.c
 *		Rows with different keys, found by open addressing.
 */
#include "gpu_library/row_table.h"

#include <string.h>

static uint32_t
row_hash(const struct pfs_gpu_row *row)
{
	uint64_t hash = row->name * UINT64_C(0x9E3779B97F4A7C15);

	hash ^= (uint64_t) row->correlation << 32 | row->stream;
	hash *= UINT64_C(0xD6E8FEB86659FD93);
	hash ^= (uint64_t) row->device << 16 | (uint64_t) row->kind << 8 | row->graph;
	hash *= UINT64_C(0x9E3779B97F4A7C15);
	return (uint32_t) (hash >> 32);
}

static bool
row_has_key(const struct pfs_gpu_row *row, const struct pfs_gpu_row *key)
{
	return row->kind == key->kind && row->device == key->device && row->name == key->name &&
		   row->correlation == key->correlation && row->stream == key->stream &&
		   row->graph == key->graph;
}

void
row_table_clear(RowTable *table)
{
	memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
	table->count = 0;
}

bool
row_table_add(RowTable *table, const struct pfs_gpu_row *row)
{
	uint32_t at = row_hash(row) & (table->slot_count - 1);

	while (table->slots[at] != 0)
	{
		struct pfs_gpu_row *known = &table->rows[table->slots[at] - 1];

		if (row_has_key(known, row))
		{
			known->count += row->count;
			known->ns += row->ns;
			known->bytes += row->bytes;
			if (row->start_ns < known->start_ns)
				known->start_ns = row->start_ns;
			return true;
		}
		at = (at + 1) & (table->slot_count - 1);
	}
	if (table->count == table->capacity)
		return false;
	table->rows[table->count++] = *row;
	table->slots[at] = (uint16_t) table->count;
	return true;
}
