/*
 * shared_names.c
 *		Stores pages, rows and texts in one allocation, which contains pointers into itself.
 */
#include "profstore.h"

#include "dictionary/cache/cache.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/shared_area.h"
#include "dictionary/cache/shared_names.h"

/* A copy is replaced once the number of names has grown by one part in this many. */
#define GROWTH_DIVISOR 8

/* An offer, see pfs_shared_names_offer(). */
typedef struct Offer
{
	const PfsNamePages *own;
	const PfsNamePages *borrowed; /* NULL: none */
} Offer;

/* Called for each row of a kind. */
typedef void (*RowFn)(void *state, PfsNameKind kind, int32 id, const void *row);

static uint32
page_count_of(const Offer *offer, PfsNameKind kind)
{
	return Max(offer->own[kind].page_count,
			   offer->borrowed == NULL ? 0 : offer->borrowed[kind].page_count);
}

/*
 * Calls a function for each row that is offered, an own one or otherwise a borrowed one, by kind
 * and id.
 */
static void
shared_names_each(const Offer *offer, RowFn function, void *state)
{
	for (PfsNameKind kind = 0; kind < PFS_NAME_KINDS; kind++)
	{
		uint32 end = page_count_of(offer, kind) << PFS_NAME_PAGE_BITS;

		/* Rows of this session come first: it has read them under the same epoch. */
		for (uint32 id = 0; id < end; id++)
		{
			const void *row = pfs_name_find(&offer->own[kind], (int32) id);

			if (row == NULL && offer->borrowed != NULL)
				row = pfs_name_find(&offer->borrowed[kind], (int32) id);
			if (row != NULL)
				function(state, kind, (int32) id, row);
		}
	}
}

static Size
text_bytes(const char *text)
{
	return strlen(text) + 1;
}

/* Returns the bytes that the copy of a row takes in shared memory, with its texts and lines. */
static Size
row_bytes(PfsNameKind kind, const void *row)
{
	const PfsFunction *function = row;
	const PfsMapping *mapping = row;

	switch (kind)
	{
		case PFS_LOCATIONS:
			/* The next row begins aligned. */
			return MAXALIGN(sizeof(PfsLocation) +
							((const PfsLocation *) row)->line_count * sizeof(PfsLine));
		case PFS_FUNCTIONS:
			return MAXALIGN(sizeof(PfsFunction) + text_bytes(function->name) +
							text_bytes(function->system_name) + text_bytes(function->filename));
		case PFS_MAPPINGS:
			return MAXALIGN(sizeof(PfsMapping) + text_bytes(mapping->build_id) +
							text_bytes(mapping->file));
	}
	pg_unreachable();
}

static void
add_bytes(void *state, PfsNameKind kind, int32 id, const void *row)
{
	*(Size *) state += row_bytes(kind, row);
}

static Size
pages_bytes(const Offer *offer)
{
	Size bytes = MAXALIGN(sizeof(PfsNamePages) * PFS_NAME_KINDS);

	for (PfsNameKind kind = 0; kind < PFS_NAME_KINDS; kind++)
		bytes += (Size) page_count_of(offer, kind) * (1 + PFS_NAME_PAGE_SLOTS) * sizeof(void *);
	return bytes;
}

/* State while a copy is filled. */
typedef struct Writing
{
	PfsNamePages *kinds;
	char *at; /* place of the next row */
} Writing;

static const char *
write_text(char **at, const char *text)
{
	char *start = *at;
	Size bytes = text_bytes(text);

	memcpy(start, text, bytes);
	*at += bytes;
	return start;
}

/* Writes a row and its texts, adjusts its pointers, and stores its address in its page. */
static void
write_row(void *state, PfsNameKind kind, int32 id, const void *row)
{
	Writing *writing = state;
	void *copy = writing->at;

	writing->kinds[kind].pages[(uint32) id >> PFS_NAME_PAGE_BITS][id & (PFS_NAME_PAGE_SLOTS - 1)] =
		copy;
	/* row_bytes() is computed again from the row, so add_bytes() and this function agree. */
	writing->at += row_bytes(kind, row);
	if (kind == PFS_LOCATIONS)
	{
		PfsLocation *location = copy;

		*location = *(const PfsLocation *) row;
		location->lines =
			memcpy(location + 1, location->lines, location->line_count * sizeof(PfsLine));
	}
	else if (kind == PFS_FUNCTIONS)
	{
		PfsFunction *function = copy;
		char *texts = (char *) (function + 1);

		*function = *(const PfsFunction *) row;
		function->name = write_text(&texts, function->name);
		function->system_name = write_text(&texts, function->system_name);
		function->filename = write_text(&texts, function->filename);
	}
	else
	{
		PfsMapping *mapping = copy;
		char *texts = (char *) (mapping + 1);

		*mapping = *(const PfsMapping *) row;
		mapping->build_id = write_text(&texts, mapping->build_id);
		mapping->file = write_text(&texts, mapping->file);
	}
}

/* Writes the whole copy: the struct, the arrays of pages, the pages, then all rows. */
static void
write_all(void *place, const void *argument)
{
	const Offer *offer = argument;
	Writing writing = { place, place };

	/* Slots of ids without a row stay NULL. */
	memset(place, 0, pages_bytes(offer));
	writing.at += MAXALIGN(sizeof(PfsNamePages) * PFS_NAME_KINDS);
	for (PfsNameKind kind = 0; kind < PFS_NAME_KINDS; kind++)
	{
		uint32 count = page_count_of(offer, kind);

		writing.kinds[kind] = (PfsNamePages){ (void ***) writing.at, count };
		writing.at += count * sizeof(void *);
		for (uint32 page = 0; page < count; page++)
		{
			writing.kinds[kind].pages[page] = (void **) writing.at;
			writing.at += PFS_NAME_PAGE_SLOTS * sizeof(void *);
		}
	}
	shared_names_each(offer, write_row, &writing);
}

static bool
shared_names_is_better(const PfsSharedFacts *offered, const PfsSharedFacts *present)
{
	return offered->count > (uint64) present->count + present->count / GROWTH_DIVISOR;
}

const PfsNamePages *
pfs_shared_names_borrow(uint32 *count)
{
	PfsSharedFacts facts = { 0 };
	const PfsNamePages *shared = pfs_shared_borrow(PFS_SHARED_NAMES, &facts);

	*count = facts.count;
	return shared;
}

void
pfs_shared_names_release(const PfsNamePages *shared)
{
	if (shared != NULL)
		pfs_shared_release(unconstify(PfsNamePages *, shared));
}

void
pfs_shared_names_offer(const PfsNamePages *own, const PfsNamePages *borrowed, uint32 count)
{
	Offer offer = { own, borrowed };
	Size bytes = 0;

	/* Pages alone may be too large if ids are sparse, which spares the pass over all rows. */
	if (!pfs_shared_has_room(pages_bytes(&offer)))
		return;
	bytes = pages_bytes(&offer);
	shared_names_each(&offer, add_bytes, &bytes);
	pfs_shared_put(
		&(PfsSharedOffer){ .number = PFS_SHARED_NAMES,
						   .facts = { .names_epoch = pfs_cache_epoch()->names, .count = count },
						   .bytes = bytes,
						   .is_better = shared_names_is_better,
						   .fill = write_all,
						   .argument = &offer });
}
