/*
 * known_ids.c
 *		A table of contents in a memory context of its own.
 */
#include "profstore.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/epoch.h"
#include "dictionary/intern/calling_role.h"
#include "import/known_ids.h"

#define MAX_BYTES		((Size) 16 * 1024 * 1024)
#define MAX_BLOCK_BYTES ((Size) 256 * 1024)

/* What an entry is known by. */
typedef struct Content
{
	uint64 hash;
	uint8 kind;
	uint8 encoding;
	uint32 length;
	const char *bytes;
} Content;

typedef struct KnownId
{
	Content content;
	int32 id;
	char status;
} KnownId;

static inline bool
are_equal(const Content *a, const Content *b)
{
	return a->hash == b->hash && a->kind == b->kind && a->encoding == b->encoding &&
		   a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

#define SH_PREFIX		   known
#define SH_ELEMENT_TYPE	   KnownId
#define SH_KEY_TYPE		   Content
#define SH_KEY			   content
#define SH_HASH_KEY(tb, k) ((uint32) (k).hash)
#define SH_EQUAL(tb, a, b) are_equal(&(a), &(b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static MemoryContext known_context;
static known_hash *known_table;
static bool is_full;	  /* something was not kept */
static bool some_are_own; /* of the running transaction, which an abort takes back */

/* What they are valid under. */
static Oid known_of; /* OID of profstore.epoch */
static int64 known_epoch;
static NameData known_role;

static void
forget(void)
{
	if (known_context != NULL)
		MemoryContextDelete(known_context);
	known_context = NULL;
	known_table = NULL;
	is_full = false;
	some_are_own = false;
}

static void
end_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT)
		some_are_own = false;
	else if ((event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE) && some_are_own)
		forget();
}

static void
end_subtransaction(SubXactEvent event, SubTransactionId subid, SubTransactionId parent_subid,
				   void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB && some_are_own)
		forget();
}

void
pfs_known_ids_init(void)
{
	RegisterXactCallback(end_transaction, NULL);
	RegisterSubXactCallback(end_subtransaction, NULL);
}

/* Forgets what is valid no more. */
static void
check_validity(void)
{
	Oid table = pfs_relation_oid("epoch");
	PfsEpoch epoch = pfs_epoch_read(GetActiveSnapshot());
	NameData role;

	namestrcpy(&role, pfs_calling_role());
	if (table != known_of || epoch.ids != known_epoch || epoch.own || is_full ||
		strcmp(NameStr(role), NameStr(known_role)) != 0)
		forget();
	known_of = table;
	known_epoch = epoch.ids;
	known_role = role;
	/* an epoch that is rolled back comes again, with other content */
	some_are_own |= epoch.own;
}

void
pfs_known_ids_begin(void)
{
	ForceSyncCommit();
	PushActiveSnapshot(GetTransactionSnapshot());
	pfs_epoch_pin();
	check_validity();
	PopActiveSnapshot();
	if (known_context != NULL)
		return;
	known_context =
		AllocSetContextCreate(TopMemoryContext, "profstore known ids", ALLOCSET_DEFAULT_MINSIZE,
							  ALLOCSET_DEFAULT_INITSIZE, MAX_BLOCK_BYTES);
	known_table = known_create(known_context, 1024, NULL);
}

static Content
make_content(const PfsKnownItems *items, const StringInfoData *content)
{
	return (Content){ .hash = hash_bytes_extended((const unsigned char *) content->data,
												  content->len, (uint64) items->kind),
					  .kind = (uint8) items->kind,
					  .encoding = (uint8) items->encoding,
					  .length = (uint32) content->len,
					  .bytes = content->data };
}

static int32
find(const PfsKnownItems *items, const StringInfoData *content)
{
	const KnownId *entry = known_lookup(known_table, make_content(items, content));

	return entry == NULL ? 0 : entry->id;
}

static void
remember(const PfsKnownItems *items, const StringInfoData *content, int32 id)
{
	Content key = make_content(items, content);
	bool found;

	is_full |= MemoryContextMemAllocated(known_context, true) + key.length > MAX_BYTES;
	if (is_full)
		return;
	key.bytes = memcpy(MemoryContextAlloc(known_context, key.length), content->data, key.length);
	some_are_own = true;
	known_insert(known_table, key, &found)->id = id;
}

static void
put_content(const PfsKnownItems *items, StringInfo content, uint32 item)
{
	resetStringInfo(content);
	items->put_content(content, items->context, item);
}

const int32 *
pfs_known_ids(const PfsKnownItems *items)
{
	int32 *ids = PFS_ARRAY(int32, items->count);
	uint32 *missing = PFS_ARRAY(uint32, items->count);
	uint32 missing_count = 0;
	const int32 *interned;
	StringInfoData content;

	initStringInfo(&content);
	for (uint32 i = 0; i < items->count; i++)
	{
		put_content(items, &content, i);
		ids[i] = find(items, &content);
		if (ids[i] == 0)
			missing[missing_count++] = i;
	}
	if (missing_count > 0)
		interned = items->intern(items->context, missing, missing_count);
	for (uint32 i = 0; i < missing_count; i++)
	{
		put_content(items, &content, missing[i]);
		remember(items, &content, interned[i]);
		ids[missing[i]] = interned[i];
	}
	pfree(content.data);
	pfree(missing);
	return ids;
}
