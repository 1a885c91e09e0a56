/*
 * session_cache.c
 *		Keeps entries in a fixed number of slots.
 */
#include "tree/frames/session_cache.h"

#include "utils/memutils.h"

#include "dictionary/cache/dictionary.h"

#define SLOT_COUNT 32

/* Beyond this size all entries are dropped, except those that may be in use. */
#define MAX_BYTES ((Size) 16 * 1024 * 1024)

/* An entry that was used this many queries ago cannot be in use. */
#define QUERIES_AT_ONCE 8

typedef struct Slot
{
	MemoryContext context; /* NULL: the slot is free */
	/* generation of the names at the last use; when names are dropped, so is the entry's memory */
	uint64 generation;
	uint64 query;	 /* number of the query that used it last */
	const char *key; /* NULL: forgotten */
	void *thing;
} Slot;

static Slot slots[SLOT_COUNT];
static uint64 query = QUERIES_AT_ONCE;

static bool
session_cache_is_there(const Slot *slot)
{
	/*
	 * When names are dropped, their context and with it the slot's is deleted, so an old slot
	 * counts as free.
	 */
	return slot->context != NULL && slot->generation == pfs_names_generation();
}

/* Returns the least recently used entry if it may be dropped; otherwise NULL. */
static Slot *
find_oldest(void)
{
	Slot *oldest = NULL;

	for (int i = 0; i < SLOT_COUNT; i++)
	{
		if (session_cache_is_there(&slots[i]) && (oldest == NULL || slots[i].query < oldest->query))
			oldest = &slots[i];
	}
	return oldest != NULL && oldest->query + QUERIES_AT_ONCE <= query ? oldest : NULL;
}

static void
session_cache_release(Slot *slot)
{
	MemoryContextDelete(slot->context);
	slot->context = NULL;
}

void
pfs_session_cache_begin(void)
{
	Size bytes = 0;
	Slot *oldest;

	/* Queries are counted, so that entries of those that may still run are kept. */
	query++;
	for (int i = 0; i < SLOT_COUNT; i++)
		if (session_cache_is_there(&slots[i]))
			bytes += MemoryContextMemAllocated(slots[i].context, true);
	while (bytes > MAX_BYTES && (oldest = find_oldest()) != NULL)
	{
		bytes -= MemoryContextMemAllocated(oldest->context, true);
		session_cache_release(oldest);
	}
}

static Slot *
session_cache_find(const char *key)
{
	for (int i = 0; i < SLOT_COUNT; i++)
	{
		if (session_cache_is_there(&slots[i]) && slots[i].key != NULL &&
			strcmp(slots[i].key, key) == 0)
			return &slots[i];
	}
	return NULL;
}

/* Finds a slot for a new entry: a free one, or that of the oldest; NULL if all may be in use. */
static Slot *
session_cache_slot(void)
{
	Slot *oldest = find_oldest();

	for (int i = 0; i < SLOT_COUNT; i++)
		if (!session_cache_is_there(&slots[i]))
			return &slots[i];
	if (oldest != NULL)
		session_cache_release(oldest);
	return oldest;
}

void *
pfs_session_cache_get(const char *key, Size bytes, MemoryContext *context)
{
	Slot *slot = session_cache_find(key);
	MemoryContext own;
	Slot made;

	if (slot == NULL)
	{
		slot = session_cache_slot();
		/* Every slot may be in use: the entry then lives as long as the query. */
		if (slot == NULL)
		{
			*context = CurrentMemoryContext;
			return palloc0(bytes);
		}
		/*
		 * mark the slot as free until its context exists, because an error in between would leave a
		 * pointer to freed memory
		 */
		own = AllocSetContextCreate(pfs_names_context(), "profstore session cache",
									ALLOCSET_SMALL_SIZES);
		made = (Slot){ own, pfs_names_generation(), query, MemoryContextStrdup(own, key),
					   MemoryContextAllocZero(own, bytes) };
		*slot = made;
	}
	slot->query = query;
	*context = slot->context;
	return slot->thing;
}

void
pfs_session_cache_forget(const char *key)
{
	Slot *slot = session_cache_find(key);

	if (slot != NULL)
		/* The memory stays, because a running query may use it. */
		slot->key = NULL;
}
