/*
 * known_ids.c
 *		Keeps ids in a table of contents with a memory context of its own, and in one that sessions
 *		share.
 *
 * When the next import begins, the session's committed ids are offered to others if they are
 * clearly more than those shared now, and the session's own table starts empty. Notes are not
 * shared, because other sessions may delete them.
 */
#include "profstore.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/epoch.h"
#include "dictionary/intern/bound_writer.h"
#include "dictionary/intern/calling_role.h"
#include "import/id_content.h"
#include "import/known_ids.h"
#include "import/shared_ids.h"

#define MAX_BYTES		((Size) 16 * 1024 * 1024)
#define MAX_BLOCK_BYTES ((Size) 256 * 1024)

/* A session replaces the shared ids if it knows more by one part in this many. */
#define GROWTH_DIVISOR 8

typedef struct KnownId
{
	PfsIdContent content;
	int32 id;
	char status;
} KnownId;

#define SH_PREFIX		   known
#define SH_ELEMENT_TYPE	   KnownId
#define SH_KEY_TYPE		   PfsIdContent
#define SH_KEY			   content
#define SH_HASH_KEY(tb, k) ((uint32) (k).hash)
#define SH_EQUAL(tb, a, b) pfs_id_contents_equal(&(a), &(b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static MemoryContext known_context;
static known_hash *known_table;
static const PfsSharedIds *shared_ids; /* NULL: none */
static uint32 offered_count;		   /* entries of the table when they were last offered */
static bool is_full;				   /* some ids were not kept */
/* true if some ids are of the running transaction, whose abort undoes them */
static bool some_are_own;
/* true if the table was begun by a transaction that must not borrow shared ids */
static bool is_unshared;

/* The epoch under which the known ids are valid. */
static Oid known_of; /* OID of profstore.epoch */
static int64 known_epoch;
static NameData known_role;

static void
known_ids_forget(void)
{
	if (known_context != NULL)
		MemoryContextDelete(known_context);
	known_context = NULL;
	known_table = NULL;
	if (shared_ids != NULL)
		pfs_shared_ids_release(shared_ids);
	shared_ids = NULL;
	offered_count = 0;
	is_full = false;
	some_are_own = false;
	is_unshared = false;
}

static void
known_ids_end_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT)
		some_are_own = false;
	else if ((event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE) && some_are_own)
		known_ids_forget();
}

static void
known_ids_end_subtransaction(SubXactEvent event, SubTransactionId subid,
							 SubTransactionId parent_subid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB && some_are_own)
		known_ids_forget();
}

void
pfs_known_ids_init(void)
{
	RegisterXactCallback(known_ids_end_transaction, NULL);
	RegisterSubXactCallback(known_ids_end_subtransaction, NULL);
}

/* Drops ids that are no longer valid. */
static void
check_validity(void)
{
	Oid table = pfs_relation_oid("epoch");
	PfsEpoch epoch = pfs_epoch_read(GetActiveSnapshot());
	NameData role;

	namestrcpy(&role, pfs_calling_role());
	if (table != known_of || epoch.ids != known_epoch || epoch.own || is_full ||
		(is_unshared && !IsolationUsesXactSnapshot()) ||
		strcmp(NameStr(role), NameStr(known_role)) != 0)
		known_ids_forget();
	known_of = table;
	known_epoch = epoch.ids;
	known_role = role;
	/*
	 * an epoch that is rolled back is used again with other content, so its ids count as
	 * uncommitted
	 */
	some_are_own |= epoch.own;
}

/* Lists the ids of the session's own table that may be shared. */
static PfsSharedId *
list_own(uint32 *count)
{
	PfsSharedId *ids = PFS_ARRAY(PfsSharedId, known_table->members);
	known_iterator iterator;
	const KnownId *entry;

	*count = 0;
	known_start_iterate(known_table, &iterator);
	while ((entry = known_iterate(known_table, &iterator)) != NULL)
		if (entry->content.kind != PFS_KNOWN_NOTES)
			ids[(*count)++] = (PfsSharedId){ entry->content, entry->id };
	return ids;
}

/*
 * Returns true if shared memory now has at least that many ids, and they are not the ones that this
 * session has borrowed.
 */
static bool
others_know_more(uint32 count)
{
	const PfsSharedIds *others = pfs_shared_ids_borrow(NameStr(known_role));
	bool more = others != NULL && others != shared_ids && pfs_shared_ids_count(others) >= count;

	if (others != NULL)
		pfs_shared_ids_release(others);
	return more;
}

/* Shares known ids, if they are clearly more than the shared ones and than those offered last. */
static void
offer_own(void)
{
	uint32 shared_count = shared_ids == NULL ? 0 : pfs_shared_ids_count(shared_ids);
	PfsSharedId *ids;
	uint32 count;

	if (known_context == NULL || some_are_own || !pfs_shared_ids_have_room() ||
		known_table->members - offered_count <= (shared_count + offered_count) / GROWTH_DIVISOR)
		return;
	offered_count = known_table->members;
	ids = list_own(&count);
	if (count > 0 &&
		(pfs_shared_ids_offer(NameStr(known_role), ids, count, shared_ids, MAX_BYTES) ||
		 others_know_more(shared_count + count)))
		known_ids_forget();
	pfree(ids);
}

void
pfs_known_ids_begin(void)
{
	ForceSyncCommit();
	PushActiveSnapshot(GetTransactionSnapshot());
	pfs_epoch_pin();
	pfs_dictionary_begin_unchecked();
	check_validity();

	/*
	 * The snapshot of a REPEATABLE READ transaction may be older than ids that are shared now, and
	 * interning would not find these. So it uses only ids that an earlier transaction has borrowed,
	 * which its snapshot sees.
	 */
	if (!IsolationUsesXactSnapshot())
		offer_own();
	PopActiveSnapshot();
	if (known_context != NULL)
		return;
	known_context =
		AllocSetContextCreate(TopMemoryContext, "profstore known ids", ALLOCSET_DEFAULT_MINSIZE,
							  ALLOCSET_DEFAULT_INITSIZE, MAX_BLOCK_BYTES);
	known_table = known_create(known_context, 1024, NULL);
	is_unshared = IsolationUsesXactSnapshot();
	if (!is_unshared)
		shared_ids = pfs_shared_ids_borrow(NameStr(known_role));
}

static PfsIdContent
make_content(const PfsKnownItems *items, const StringInfoData *content)
{
	return (PfsIdContent){ .hash = hash_bytes_extended((const unsigned char *) content->data,
													   content->len, (uint64) items->kind),
						   .kind = (uint8) items->kind,
						   .encoding = (uint8) items->encoding,
						   .length = (uint32) content->len,
						   .bytes = content->data };
}

static int32
known_ids_find(const PfsKnownItems *items, const StringInfoData *content)
{
	PfsIdContent key = make_content(items, content);
	const KnownId *entry = known_lookup(known_table, key);

	if (entry != NULL)
		return entry->id;
	return shared_ids == NULL ? 0 : pfs_shared_ids_find(shared_ids, &key);
}

static void
known_ids_remember(const PfsKnownItems *items, const StringInfoData *content, int32 id)
{
	PfsIdContent key = make_content(items, content);
	bool found;

	is_full |= MemoryContextMemAllocated(known_context, true) + key.length > MAX_BYTES;
	if (is_full)
		return;
	key.bytes = memcpy(MemoryContextAlloc(known_context, key.length), content->data, key.length);
	some_are_own = true;
	known_insert(known_table, key, &found)->id = id;
}

static void
known_ids_put_content(const PfsKnownItems *items, StringInfo content, uint32 item)
{
	resetStringInfo(content);
	items->put_content(content, items->context, item);
}

/*
 * Notes the ids as proven for the current role, which knows their content even if another session
 * has interned it.
 */
static void
known_ids_prove(const PfsKnownItems *items, const int32 *ids)
{
	if (items->kind == PFS_KNOWN_SERIES)
		pfs_proven_add(PFS_PROVEN_SERIES, ids, items->count);
	else if (items->kind == PFS_KNOWN_FUNCTION)
		pfs_proven_add(PFS_PROVEN_FUNCTION, ids, items->count);
	else if (items->kind == PFS_KNOWN_LOCATION)
		pfs_proven_add(PFS_PROVEN_LOCATION, ids, items->count);
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
		known_ids_put_content(items, &content, i);
		ids[i] = known_ids_find(items, &content);
		if (ids[i] == 0)
			missing[missing_count++] = i;
	}
	if (missing_count > 0)
		interned = items->intern(items->context, missing, missing_count);
	for (uint32 i = 0; i < missing_count; i++)
	{
		known_ids_put_content(items, &content, missing[i]);
		known_ids_remember(items, &content, interned[i]);
		ids[missing[i]] = interned[i];
	}
	known_ids_prove(items, ids);
	pfree(content.data);
	pfree(missing);
	return ids;
}
