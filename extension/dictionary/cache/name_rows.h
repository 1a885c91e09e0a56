/*
 * name_rows.h
 *		Functions and locations as rows, and the tables that hold them; internal to the room.
 *
 * young   function_rows      one row each: recently added, changed, or condemned
 * sealed  function_chunks    256 neighbouring ids per row, packed (codec/name_chunk.h)
 *         function_hashes    index by content: sorted digests, some hundred per row
 *
 * An id is in one of the two: sealing and unsealing move it, so every snapshot sees it once. Sealed
 * texts are UTF-8, whatever the database's encoding, because a dump does not convert bytes. Chunks
 * and hashes are changed only under the lock on the row of profstore.epoch (seal/).
 */
#ifndef PFS_NAME_ROWS_H
#define PFS_NAME_ROWS_H

#include "profstore.h"

#include "access/genam.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "codec/name_chunk.h"
#include "codec/siphash.h"

/* A function or a location. Texts are in the server's encoding unless stated otherwise. */
typedef struct PfsNameRow
{
	int32 id;
	bool is_condemned;
	union
	{
		PfsPackedFunction function;
		PfsPackedLocation location;
	};
} PfsNameRow;

/* Called for each row found. CurrentMemoryContext is reset after each call. */
typedef void (*PfsNameRowFn)(const PfsNameRow *row, void *argument);

/*
 * Description of one kind, functions or locations. Its callbacks allocate in CurrentMemoryContext.
 */
typedef struct PfsNameTable
{
	const char *name; /* name of the view; the kind's name in SQL functions, too */
	const char *rows;
	const char *chunks;
	const char *hashes;
	uint32 digest_bytes; /* bytes of a digest in hashes; at least 4 */
	int condemned_column;

	/* Fills in row from a row of the young table, deformed. */
	void (*read)(TupleTableSlot *slot, PfsNameRow *row);
	/* Fills in all columns of a young row; none is null. */
	void (*fill)(const PfsNameRow *row, Datum *values);
	/*
	 * Converts a row to the form that is packed and hashed. Returns false if it cannot be sealed,
	 * because it is too long or not valid in UTF-8.
	 */
	bool (*to_utf8)(const PfsNameRow *row, PfsNameRow *utf8);
	void (*from_utf8)(PfsNameRow *row);
	PfsStatus (*pack)(const PfsNameRow *rows, uint32 count, PfsAllocator allocator,
					  PfsBytes *packed);
	PfsStatus (*unpack)(const uint8_t *bytes, size_t length, uint32 count, PfsAllocator allocator,
						PfsNameRow *rows, PfsError *error);
	/*
	 * Computes the digest of the content by which rows are found. If a location has a mapping and
	 * an address, its lines are left out (intern_locations).
	 */
	void (*digest)(const uint8_t *key, const PfsNameRow *utf8, uint8_t *digest);
} PfsNameTable;

/*
 * Returns true if there are chunks. If the extension is of an earlier version than the module
 * (base/version.h), functions and locations are plain tables, and all rows are young.
 */
bool pfs_names_are_packed(void);

/* Returns the name of the table of young rows. */
const char *pfs_young_table(const PfsNameTable *names);

extern const PfsNameTable pfs_function_names;
extern const PfsNameTable pfs_location_names;

/* Finds a kind by name, functions or locations; raises INVALID_PARAMETER_VALUE for another name. */
const PfsNameTable *pfs_name_table(const char *name);

/*
 * A scan of a table of packed names by its primary key. begin locks the table; end leaves the lock
 * to the end of the transaction.
 */
typedef struct PfsNameScan
{
	const PfsNameTable *names;
	Relation table;
	Relation index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	MemoryContext context; /* for data that the scan keeps from one row to the next */
} PfsNameScan;

void pfs_name_scan_begin(PfsNameScan *scan, const PfsNameTable *names, const char *table,
						 Snapshot snapshot, LOCKMODE lock);
void pfs_name_scan_end(PfsNameScan *scan);

#endif
