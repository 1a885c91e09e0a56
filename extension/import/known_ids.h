/*
 * known_ids.h
 *		Ids that this session's imports have received for contents of series, mappings, functions
 *		and locations, and those that sessions share (shared_ids.h).
 *
 * Interning has returned them to the current role, in the current transaction or in ones that
 * committed. An abort, also of a savepoint, drops all of them if some were of that transaction. All
 * are dropped when the epoch, the extension or the role changes. Once they use 16 MB, further ids
 * are not kept, and the next import begins with none.
 */
#ifndef PFS_KNOWN_IDS_H
#define PFS_KNOWN_IDS_H

#include "profstore.h"

#include "lib/stringinfo.h"

typedef enum PfsKnownKind
{
	PFS_KNOWN_SERIES = 1,
	PFS_KNOWN_MAPPING,
	PFS_KNOWN_FUNCTION,
	PFS_KNOWN_LOCATION,
	PFS_KNOWN_NOTES /* the id is 1 for notes that are stored */
} PfsKnownKind;

/* Registers the transaction callbacks. Called once when the module is loaded. */
void pfs_known_ids_init(void);

/*
 * Call before the first search of an import: pins the epoch, so that known ids stay valid until the
 * transaction ends, and makes its commit wait for the disk, as interning does. Raises the errors of
 * pfs_epoch_pin().
 */
void pfs_known_ids_begin(void);

/* Items of one kind, numbered from 0. */
typedef struct PfsKnownItems
{
	PfsKnownKind kind;
	int encoding; /* encoding of their texts */
	uint32 count;
	const void *context;
	/* Appends the content of an item. Contents of two items must be equal only if the items are. */
	void (*put_content)(StringInfo content, const void *context, uint32 item);
	/* Interns some items, and returns their ids. */
	const int32 *(*intern)(const void *context, const uint32 *items, uint32 count);
} PfsKnownItems;

/* Returns the ids of all items; unknown ones are interned. */
const int32 *pfs_known_ids(const PfsKnownItems *items);

#endif
