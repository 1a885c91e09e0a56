/*
 * stack_filter.c
 *		Verdicts by stack id, as bits: stacks of a program have neighbouring ids.
 */
#include "tree/stack_filter.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "dictionary/cache/dictionary.h"
#include "tree/stack_verdicts.h"

#define WORD_BITS	   6 /* of a stack id: a word has as many bits as these tell */
#define PAGE_BITS	   9
#define PAGE_WORDS	   (1 << (PAGE_BITS - WORD_BITS))
#define INITIAL_PLACES 1024

/*
 * Neighbouring stacks: enough that a series goes through those of a program with hardly a search,
 * and so few that thousands of small programs, of a page each, fit into little memory.
 */
typedef struct VerdictPage
{
	int64 number; /* stack id >> PAGE_BITS */
	uint64 judged[PAGE_WORDS];
	uint64 passing[PAGE_WORDS];
} VerdictPage;

typedef struct PagePlace
{
	int64 number;
	uint32 place;
	char status;
} PagePlace;

#define SH_PREFIX		   page_places
#define SH_ELEMENT_TYPE	   PagePlace
#define SH_KEY_TYPE		   int64
#define SH_KEY			   number
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct PfsStackFilter
{
	PfsSymbols *symbols;
	MemoryContext context;
	VerdictPage *pages; /* as they came */
	uint32 page_count;
	uint32 page_capacity;
	uint64 max_pages; /* more of them are forgotten before the next call */
	page_places_hash *places;
	uint32 last;		   /* the page that was used last */
	MemoryContext scratch; /* of one call */
};

PfsStackFilter *
pfs_stack_filter_create(const PfsFilters *filters)
{
	PfsStackFilter *filter;

	if (!pfs_filters_any(filters))
		return NULL;
	filter = palloc0(sizeof(PfsStackFilter));
	pfs_dictionary_begin();
	filter->symbols = pfs_symbols_create(filters);
	filter->context = CurrentMemoryContext;
	filter->places = page_places_create(CurrentMemoryContext, INITIAL_PLACES, NULL);
	filter->max_pages = pfs_hash_memory_bytes() / 8 / (sizeof(VerdictPage) + sizeof(PagePlace));
	filter->scratch = AllocSetContextCreate(CurrentMemoryContext, "profstore stack filter",
											ALLOCSET_DEFAULT_SIZES);
	return filter;
}

static inline uint32
word_of(int64 stack_id)
{
	return (uint32) (stack_id >> WORD_BITS) & (PAGE_WORDS - 1);
}

static inline uint64
bit_of(int64 stack_id)
{
	return UINT64CONST(1) << (stack_id & ((1 << WORD_BITS) - 1));
}

static pg_noinline uint32
find_page(PfsStackFilter *filter, int64 number)
{
	bool found;
	PagePlace *entry = page_places_insert(filter->places, number, &found);

	if (!found)
	{
		entry->place = filter->page_count;
		PFS_RESERVE_IN(filter->context, filter->pages, filter->page_capacity,
					   (uint64) filter->page_count + 1);
		filter->pages[filter->page_count++] = (VerdictPage){ .number = number };
	}
	return entry->place;
}

static inline VerdictPage *
page_of(PfsStackFilter *filter, int64 stack_id)
{
	int64 number = stack_id >> PAGE_BITS;

	if (unlikely(filter->last >= filter->page_count ||
				 filter->pages[filter->last].number != number))
		filter->last = find_page(filter, number);
	return &filter->pages[filter->last];
}

static void
judge(PfsStackFilter *filter, PfsStackSums *unknown)
{
	PfsStackSubsets subsets;
	PfsStackSubset subset;

	pfs_stack_sums_sort(unknown);
	subsets = pfs_stack_subsets_begin(unknown, false);
	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		const bool *passing = pfs_stacks_passing(&subset, filter->symbols);

		for (uint32 i = 0; i < subset.stack_count; i++)
			if (passing[i])
			{
				int64 stack_id = subset.stacks[i].stack_id;

				page_of(filter, stack_id)->passing[word_of(stack_id)] |= bit_of(stack_id);
			}
	}
}

/* Tells of the stacks what is known, and lists those that have not been judged, once. */
static void
look_up(PfsStackFilter *filter, const int64 *stacks, uint32 count, bool *passes,
		PfsStackSums *unknown)
{
	for (uint32 i = 0; i < count; i++)
	{
		VerdictPage *page = page_of(filter, stacks[i]);
		uint32 word = word_of(stacks[i]);
		uint64 bit = bit_of(stacks[i]);

		passes[i] = (page->passing[word] & bit) != 0;
		if (likely(page->judged[word] & bit))
			continue;
		page->judged[word] |= bit;
		if (unknown->sums == NULL)
			unknown->sums = PFS_ARRAY(PfsStackSum, count);
		unknown->sums[unknown->count++] = (PfsStackSum){ stacks[i], { 0, 0 } };
	}
}

void
pfs_stack_filter_judge(void *state, const int64 *stacks, uint32 count, bool *passes)
{
	PfsStackFilter *filter = state;
	MemoryContext caller;
	PfsStackSums unknown = { 0, NULL };

	if (filter->page_count > filter->max_pages)
	{
		page_places_reset(filter->places);
		filter->page_count = filter->last = 0;
	}
	caller = MemoryContextSwitchTo(filter->scratch);
	look_up(filter, stacks, count, passes, &unknown);
	if (unknown.count > 0)
	{
		judge(filter, &unknown);
		look_up(filter, stacks, count, passes, &unknown);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(filter->scratch);
}
