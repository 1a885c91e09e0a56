/*
 * series_table.h
 *		Hash table with the key (series or group, int64) and an int64 value. It holds sums per stack
 *		or per bucket, and sets of times.
 */
#ifndef PFS_SERIES_TABLE_H
#define PFS_SERIES_TABLE_H

#include "profstore.h"

#include "utils/memutils.h"

#include "base/hash.h"

#define PFS_SERIES_TABLE_INITIAL 1024

typedef struct PfsSeriesKey
{
	int64 id;
	int32 series;
} PfsSeriesKey;

typedef struct PfsSeriesEntry
{
	PfsSeriesKey key;
	int64 value;
	char status;
} PfsSeriesEntry;

#define SH_PREFIX		   pfs_series_table
#define SH_ELEMENT_TYPE	   PfsSeriesEntry
#define SH_KEY_TYPE		   PfsSeriesKey
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k).id ^ ((uint64) (uint32) (k).series << 40))
#define SH_EQUAL(tb, a, b) ((a).id == (b).id && (a).series == (b).series)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Returns the entry of a key; a new one has value 0. */
static inline PfsSeriesEntry *
pfs_series_table_get(pfs_series_table_hash *table, int32 series, int64 id, bool *found)
{
	PfsSeriesKey key = { id, series };
	PfsSeriesEntry *entry = pfs_series_table_insert(table, key, found);

	if (!*found)
		entry->value = 0;
	return entry;
}

#endif
