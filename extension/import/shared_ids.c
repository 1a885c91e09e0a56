/*
 * shared_ids.c
 *		A hash table of contents in one allocation. Each slot has the offset of its content, which
 *		stands after the slots.
 */
#include "import/shared_ids.h"

#include "port/pg_bitutils.h"
#include "utils/builtins.h"

#include "dictionary/cache/shared_area.h"

typedef struct Slot
{
	uint64 hash;
	uint32 offset; /* offset of the bytes, from the table's start */
	uint32 length;
	int32 id; /* 0: the slot is free */
	uint8 kind;
	uint8 encoding;
} Slot;

struct PfsSharedIds
{
	NameData role;
	uint32 count;
	uint32 mask; /* number of slots, which is a power of two, minus 1 */
	Slot slots[FLEXIBLE_ARRAY_MEMBER];
};

typedef struct Offer
{
	const char *role;
	const PfsSharedId *ids;
	uint32 count;
	const PfsSharedIds *borrowed;
	uint32 slot_count;
} Offer;

bool
pfs_shared_ids_have_room(void)
{
	return pfs_shared_has_room(1);
}

const PfsSharedIds *
pfs_shared_ids_borrow(const char *role)
{
	PfsSharedFacts facts;
	PfsSharedIds *ids = pfs_shared_borrow(PFS_SHARED_IDS, &facts);

	if (ids == NULL || strcmp(NameStr(ids->role), role) == 0)
		return ids;
	pfs_shared_release(ids);
	return NULL;
}

void
pfs_shared_ids_release(const PfsSharedIds *ids)
{
	pfs_shared_release(unconstify(PfsSharedIds *, ids));
}

uint32
pfs_shared_ids_count(const PfsSharedIds *ids)
{
	return ids->count;
}

static PfsIdContent
content_of(const PfsSharedIds *ids, const Slot *slot)
{
	return (PfsIdContent){ .hash = slot->hash,
						   .kind = slot->kind,
						   .encoding = slot->encoding,
						   .length = slot->length,
						   .bytes = (const char *) ids + slot->offset };
}

/* Returns the slot of a content, or the free one where it belongs. There are always free slots. */
static uint32
shared_ids_slot(const PfsSharedIds *ids, const PfsIdContent *content)
{
	uint32 at = (uint32) content->hash & ids->mask;

	for (; ids->slots[at].id != 0; at = (at + 1) & ids->mask)
	{
		PfsIdContent present = content_of(ids, &ids->slots[at]);

		if (pfs_id_contents_equal(&present, content))
			break;
	}
	return at;
}

int32
pfs_shared_ids_find(const PfsSharedIds *ids, const PfsIdContent *content)
{
	return ids->slots[shared_ids_slot(ids, content)].id;
}

static Size
shared_ids_head_bytes(uint32 slot_count)
{
	return offsetof(PfsSharedIds, slots) + sizeof(Slot) * slot_count;
}

static void
shared_ids_put(PfsSharedIds *ids, const PfsIdContent *content, int32 id, uint32 *offset)
{
	Slot *slot = &ids->slots[shared_ids_slot(ids, content)];

	*slot = (Slot){ .hash = content->hash,
					.offset = *offset,
					.length = content->length,
					.id = id,
					.kind = content->kind,
					.encoding = content->encoding };
	memcpy((char *) ids + *offset, content->bytes, content->length);
	*offset += content->length;
	ids->count++;
}

/* Fills a shared area with the offered ids, and with those of the area that it replaces. */
static void
shared_ids_fill(void *place, const void *argument)
{
	const Offer *offer = argument;
	PfsSharedIds *ids = place;
	uint32 offset = (uint32) shared_ids_head_bytes(offer->slot_count);

	memset(place, 0, offset);
	namestrcpy(&ids->role, offer->role);
	ids->mask = offer->slot_count - 1;
	for (uint32 i = 0; i < offer->count; i++)
		shared_ids_put(ids, &offer->ids[i].content, offer->ids[i].id, &offset);
	for (uint32 i = 0; offer->borrowed != NULL && i <= offer->borrowed->mask; i++)
	{
		const Slot *slot = &offer->borrowed->slots[i];
		PfsIdContent content = content_of(offer->borrowed, slot);

		if (slot->id != 0)
			shared_ids_put(ids, &content, slot->id, &offset);
	}
}

static bool
shared_ids_is_better(const PfsSharedFacts *offered, const PfsSharedFacts *present)
{
	return offered->count > present->count;
}

static Size
contents_bytes(const Offer *offer)
{
	Size bytes = 0;

	for (uint32 i = 0; i < offer->count; i++)
		bytes += offer->ids[i].content.length;
	for (uint32 i = 0; offer->borrowed != NULL && i <= offer->borrowed->mask; i++)
		bytes += offer->borrowed->slots[i].length;
	return bytes;
}

bool
pfs_shared_ids_offer(const char *role, const PfsSharedId *ids, uint32 count,
					 const PfsSharedIds *borrowed, Size most_bytes)
{
	uint32 all = count + (borrowed == NULL ? 0 : borrowed->count);
	Offer offer = { .role = role, .ids = ids, .count = count, .borrowed = borrowed };
	PfsSharedOffer shared = { .number = PFS_SHARED_IDS,
							  .facts = { .count = all },
							  .is_better = shared_ids_is_better,
							  .fill = shared_ids_fill,
							  .argument = &offer };

	offer.slot_count = pg_nextpower2_32(Max(2 * all, 2));
	shared.bytes = shared_ids_head_bytes(offer.slot_count) + contents_bytes(&offer);
	return shared.bytes <= most_bytes && pfs_shared_has_room(shared.bytes) &&
		   pfs_shared_put(&shared);
}
