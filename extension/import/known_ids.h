/*
 * known_ids.h
 *		Ids that this session's imports got by content: of series, mappings, functions, locations;
 *		and those that sessions share (shared_ids.h).
 *
 * They are what interning gave to the role that calls, in transactions that committed or the one
 * that runs; an abort, also of a savepoint, drops the lot where some were its own. All go where the
 * epoch, the extension or the role is another one. What comes when
 * they take 16 MB is not kept, and the next import begins with none.
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
	PFS_KNOWN_NOTES /* 1: stored */
} PfsKnownKind;

/* Registers the transaction callbacks; called once when the module is loaded. */
void pfs_known_ids_init(void);

/*
 * Before the first look of an import: pins the epoch, so that what is known stays valid until the
 * transaction ends, and makes its commit wait for the disk, as interning does. Raises what
 * pfs_epoch_pin raises.
 */
void pfs_known_ids_begin(void);

/* Items of a kind, by number. */
typedef struct PfsKnownItems
{
	PfsKnownKind kind;
	int encoding; /* of their texts */
	uint32 count;
	const void *context;
	/* Appends what an item says: equal for equal items alone. */
	void (*put_content)(StringInfo content, const void *context, uint32 item);
	/* Ids of some items, from the tables. */
	const int32 *(*intern)(const void *context, const uint32 *items, uint32 count);
} PfsKnownItems;

/* Ids of all items; those that are not known are interned. */
const int32 *pfs_known_ids(const PfsKnownItems *items);

#endif
