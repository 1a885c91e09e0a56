/*
 * kept.c
 *		A handful of slots.
 */
#include "tree/session_cache.h"

#include "dictionary/dictionary.h"
#include "utils/memutils.h"

#define KEPT_COUNT 32

/* Beyond this only what may be in use is kept. */
#define KEPT_MAX_BYTES ((Size) 16 * 1024 * 1024)

/* What so many queries ago was used is surely not in use. */
#define QUERIES_AT_ONCE 8

typedef struct Kept
{
	MemoryContext context; /* NULL: the slot is free */
	uint64 generation;	   /* of the names: if they have gone, so has the memory */
	uint64 query;		   /* that used it last */
	const char *key;	   /* NULL: forgotten */
	void *thing;
} Kept;

static Kept kept[KEPT_COUNT];
static uint64 query = QUERIES_AT_ONCE;

static bool
is_there(const Kept *slot)
{
	return slot->context != NULL && slot->generation == pfs_names_generation();
}

/* Of the slots that hold something, the one that was used longest ago, if that may go; else NULL. */
static Kept *
find_oldest(void)
{
	Kept *oldest = NULL;

	for (int i = 0; i < KEPT_COUNT; i++)
	{
		if (is_there(&kept[i]) && (oldest == NULL || kept[i].query < oldest->query))
			oldest = &kept[i];
	}
	return oldest != NULL && oldest->query + QUERIES_AT_ONCE <= query ? oldest : NULL;
}

static void
release(Kept *slot)
{
	MemoryContextDelete(slot->context);
	slot->context = NULL;
}

void
pfs_kept_begin(void)
{
	Size bytes = 0;
	Kept *oldest;

	query++;
	for (int i = 0; i < KEPT_COUNT; i++)
		if (is_there(&kept[i]))
			bytes += MemoryContextMemAllocated(kept[i].context, true);
	while (bytes > KEPT_MAX_BYTES && (oldest = find_oldest()) != NULL)
	{
		bytes -= MemoryContextMemAllocated(oldest->context, true);
		release(oldest);
	}
}

static Kept *
find(const char *key)
{
	for (int i = 0; i < KEPT_COUNT; i++)
	{
		if (is_there(&kept[i]) && kept[i].key != NULL && strcmp(kept[i].key, key) == 0)
			return &kept[i];
	}
	return NULL;
}

/* A slot for a new thing: a free one, or that of the oldest; NULL where all may be in use. */
static Kept *
find_slot(void)
{
	Kept *oldest = find_oldest();

	for (int i = 0; i < KEPT_COUNT; i++)
		if (!is_there(&kept[i]))
			return &kept[i];
	if (oldest != NULL)
		release(oldest);
	return oldest;
}

void *
pfs_kept_get(const char *key, Size bytes, MemoryContext *context)
{
	Kept *slot = find(key);
	MemoryContext own;
	Kept made;

	if (slot == NULL)
	{
		slot = find_slot();
		if (slot == NULL)
		{
			*context = CurrentMemoryContext;
			return palloc0(bytes);
		}
		/* an error in between leaves the slot as it is: free, though it may point to memory that has gone */
		own = AllocSetContextCreate(pfs_names_context(), "profstore kept", ALLOCSET_SMALL_SIZES);
		made = (Kept){ own, pfs_names_generation(), query, MemoryContextStrdup(own, key),
					   MemoryContextAllocZero(own, bytes) };
		*slot = made;
	}
	slot->query = query;
	*context = slot->context;
	return slot->thing;
}

void
pfs_kept_forget(const char *key)
{
	Kept *slot = find(key);

	if (slot != NULL)
		slot->key = NULL;
}
