/*
 * name_rows.h
 *		Functions and locations as rows, and the tables that hold them; internal to the room.
 *
 *	young   function_rows      a row each: what came lately, what changed, what is condemned
 *	sealed  function_chunks    256 neighbouring ids a row, packed (codec/name_chunk.h)
 *	        function_hashes    where content is looked up: digests in order, some hundred a row
 *
 * An id is in one place: a row that is sealed, or unsealed, moves. So every snapshot sees it once.
 * Sealed texts are UTF-8, whatever the database's encoding: bytes are not converted by a dump.
 * Chunks and hashes are changed under the lock on the row of profstore.epoch alone (seal/).
 */
#ifndef PFS_NAME_ROWS_H
#define PFS_NAME_ROWS_H

#include "profstore.h"

#include "executor/tuptable.h"

#include "codec/name_chunk.h"
#include "codec/siphash.h"

/* A function or a location, in the server's encoding unless something else is said. */
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

/* Called for each row found; what it allocates in CurrentMemoryContext goes afterwards. */
typedef void (*PfsNameRowFn)(const PfsNameRow *row, void *argument);

/* One of the two kinds. Functions allocate in CurrentMemoryContext. */
typedef struct PfsNameTable
{
	const char *name; /* of the view, and of it in SQL functions */
	const char *rows;
	const char *chunks;
	const char *hashes;
	uint32 digest_bytes; /* of each in hashes; at least 4 */
	int condemned_column;

	/* A row of the young table, deformed. */
	void (*read)(TupleTableSlot *slot, PfsNameRow *row);
	/* Columns of one, all of them; none is null. */
	void (*fill)(const PfsNameRow *row, Datum *values);
	/* To what is packed and hashed. False: it cannot be sealed: it is too long, or no UTF-8. */
	bool (*to_utf8)(const PfsNameRow *row, PfsNameRow *utf8);
	void (*from_utf8)(PfsNameRow *row);
	PfsStatus (*pack)(const PfsNameRow *rows, uint32 count, PfsAllocator allocator,
					  PfsBytes *packed);
	PfsStatus (*unpack)(const uint8_t *bytes, size_t length, uint32 count, PfsAllocator allocator,
						PfsNameRow *rows, PfsError *error);
	/* Of content by which rows are found; that of a place has no lines (intern_locations). */
	void (*digest)(const uint8_t *key, const PfsNameRow *utf8, uint8_t *digest);
} PfsNameTable;

/*
 * Whether there are chunks. Where the extension is of an earlier version than the module
 * (base/version.h), functions and locations are tables, and all of their rows are young.
 */
bool pfs_names_are_packed(void);

/* The table of young rows. */
const char *pfs_young_table(const PfsNameTable *names);

extern const PfsNameTable pfs_function_names;
extern const PfsNameTable pfs_location_names;

/* functions or locations; raises INVALID_PARAMETER_VALUE for another name. */
const PfsNameTable *pfs_name_table(const char *name);

#endif
