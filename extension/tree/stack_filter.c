/*
 * stack_filter.c
 *		Keeps verdicts by stack id as bits, because stacks of a program have neighbouring ids, and
 *		the filtered sums of chunks.
 */
#include "tree/stack_filter.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/doubts.h"
#include "tree/frames/session_cache.h"
#include "tree/kept_chunks.h"
#include "tree/stack_verdicts.h"

#define WORD_BITS	   6 /* log2 of the bits of a word */
#define PAGE_BITS	   9
#define PAGE_WORDS	   (1 << (PAGE_BITS - WORD_BITS))
#define INITIAL_PLACES 1024

typedef struct VerdictWord
{
	uint64 judged;
	uint64 passing;
} VerdictWord;

/*
 * Verdicts of neighbouring stacks. A page is so large that a series finds most stacks of its
 * program without a search, and so small that thousands of small programs need little memory,
 * although each has a page of its own.
 */
typedef struct VerdictPage
{
	int64 number; /* stack id >> PAGE_BITS */
	VerdictWord words[PAGE_WORDS];
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

/* Verdicts of all queries of a session with equal filters. */
typedef struct Verdicts
{
	MemoryContext context; /* NULL: new */
	/* set during a change; if it is still set at the next use, an error has ended the change */
	bool changing;
	/* some judged stacks are missing from the dictionary, wholly or in part */
	bool doubtful;
	VerdictPage *pages; /* in the order of their creation */
	uint32 page_count;
	uint32 page_capacity;
	page_places_hash *places;
	PfsKeptChunks *chunks;
} Verdicts;

struct PfsStackFilter
{
	PfsSymbols *symbols;
	Verdicts *verdicts;
	uint64 max_pages; /* above this number of pages all are dropped before the next call */
	Size max_chunk_bytes;
	uint32 last;		   /* the page used last */
	MemoryContext scratch; /* memory for one call */
};

static void
stack_filter_forget(Verdicts *verdicts)
{
	page_places_reset(verdicts->places);
	verdicts->page_count = 0;
	verdicts->doubtful = false;
}

/*
 * Returns the session's verdicts for these filters. If the dictionary lacked some of the judged
 * stacks, the verdicts are dropped first, because the stacks may exist by now; no sums based on
 * such verdicts were kept.
 */
static Verdicts *
get_cached_verdicts(const PfsFilters *filters)
{
	char *key = psprintf("stacks%s", pfs_filters_key(filters));
	MemoryContext context;
	Verdicts *verdicts = pfs_session_cache_get(key, sizeof(Verdicts), &context);

	/* An error has left half-made verdicts behind. */
	if (verdicts->changing)
	{
		pfs_session_cache_forget(key);
		verdicts = pfs_session_cache_get(key, sizeof(Verdicts), &context);
	}
	/* The cache returns new entries filled with zeros. */
	if (verdicts->context == NULL)
	{
		verdicts->places = page_places_create(context, INITIAL_PLACES, NULL);
		verdicts->chunks = pfs_kept_chunks_create(context);
		verdicts->context = context;
	}
	if (verdicts->doubtful)
		stack_filter_forget(verdicts);
	pfs_kept_chunks_begin(verdicts->chunks);
	return verdicts;
}

PfsStackFilter *
pfs_stack_filter_create(const PfsFilters *filters)
{
	PfsStackFilter *filter;

	if (!pfs_filters_any(filters))
		return NULL;
	filter = palloc0(sizeof(PfsStackFilter));
	/*
	 * Symbols and verdicts may come from the session's cache, but they must fit the dictionary as
	 * it is now.
	 */
	pfs_dictionary_begin();
	filter->symbols = pfs_symbols_create(filters);
	filter->verdicts = get_cached_verdicts(filters);
	/*
	 * An eighth of the memory for verdicts and an eighth for chunks, beside the sums of the query.
	 */
	filter->max_pages = pfs_hash_memory_bytes() / 8 / (sizeof(VerdictPage) + sizeof(PagePlace));
	filter->max_chunk_bytes = pfs_hash_memory_bytes() / 8;
	filter->scratch = AllocSetContextCreate(CurrentMemoryContext, "profstore stack filter",
											ALLOCSET_DEFAULT_SIZES);
	return filter;
}

static inline VerdictWord *
word_of(VerdictPage *page, int64 stack_id)
{
	return &page->words[(stack_id >> WORD_BITS) & (PAGE_WORDS - 1)];
}

static inline uint64
bit_of(int64 stack_id)
{
	return UINT64CONST(1) << (stack_id & ((1 << WORD_BITS) - 1));
}

/*
 * Finds or adds a page. Series of a program ask for the same stacks in order, so the next page is
 * usually the one that followed last time.
 */
static pg_noinline uint32
find_page(Verdicts *verdicts, uint32 last, int64 number)
{
	uint32 next = last + 1;
	PagePlace *entry;
	bool found;

	/* This test spares the hash table in the usual case. */
	if (next < verdicts->page_count && verdicts->pages[next].number == number)
		return next;
	entry = page_places_insert(verdicts->places, number, &found);
	if (!found)
	{
		entry->place = verdicts->page_count;
		PFS_RESERVE_IN(verdicts->context, verdicts->pages, verdicts->page_capacity,
					   (uint64) verdicts->page_count + 1);
		verdicts->pages[verdicts->page_count++] = (VerdictPage){ .number = number };
	}
	return entry->place;
}

static inline VerdictPage *
page_of(PfsStackFilter *filter, int64 stack_id)
{
	Verdicts *verdicts = filter->verdicts;
	int64 number = stack_id >> PAGE_BITS;

	if (unlikely(filter->last >= verdicts->page_count ||
				 verdicts->pages[filter->last].number != number))
		filter->last = find_page(verdicts, filter->last, number);
	return &verdicts->pages[filter->last];
}

/* Judges stacks that are not known yet, and stores the verdicts. */
static void
stack_filter_judge(PfsStackFilter *filter, PfsStackSums *unknown)
{
	PfsStackSubsets subsets;
	PfsStackSubset subset;

	pfs_stack_sums_sort(unknown);
	subsets = pfs_stack_subsets_begin(unknown, false);
	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		/* Not NULL: a filter exists only if there are conditions. */
		const bool *passing = pfs_stacks_passing(&subset, filter->symbols);

		for (uint32 i = 0; i < subset.stack_count; i++)
			if (passing[i])
			{
				/* Stacks that do not pass keep a passing bit of 0. */
				int64 stack_id = subset.stacks[i].stack_id;

				word_of(page_of(filter, stack_id), stack_id)->passing |= bit_of(stack_id);
			}
	}
}

/* Sets passes[] for stacks with a verdict, and lists each stack without one once. */
static void
stack_filter_look_up(PfsStackFilter *filter, const int64 *stacks, uint32 count, bool *passes,
					 PfsStackSums *unknown)
{
	for (uint32 i = 0; i < count; i++)
	{
		VerdictWord *word = word_of(page_of(filter, stacks[i]), stacks[i]);
		uint64 bit = bit_of(stacks[i]);

		passes[i] = (word->passing & bit) != 0;
		if (likely(word->judged & bit))
			continue;
		/* Set before the stack is judged, so that a stack that occurs twice is listed once. */
		word->judged |= bit;
		if (unknown->sums == NULL)
			/* Most calls know every stack and allocate nothing. */
			unknown->sums = PFS_ARRAY(PfsStackSum, count);
		unknown->sums[unknown->count++] = (PfsStackSum){ stacks[i], { 0, 0 } };
	}
}

/* Answers for stacks from the verdicts; unknown stacks are judged first. */
static void
judge_stacks(void *state, const int64 *stacks, uint32 count, bool *passes)
{
	PfsStackFilter *filter = state;
	Verdicts *verdicts = filter->verdicts;
	MemoryContext caller;
	PfsStackSums unknown = { 0, NULL };

	/* All pages at once: the stacks of the next rows are judged again. */
	if (verdicts->page_count > filter->max_pages)
		stack_filter_forget(verdicts);
	caller = MemoryContextSwitchTo(filter->scratch);
	verdicts->changing = true;
	stack_filter_look_up(filter, stacks, count, passes, &unknown);
	if (unknown.count > 0)
	{
		stack_filter_judge(filter, &unknown);
		verdicts->doubtful |= pfs_doubts_any();
		/* All stacks have a verdict at this point, so the call only sets passes[]. */
		stack_filter_look_up(filter, stacks, count, passes, &unknown);
	}
	verdicts->changing = false;
	MemoryContextSwitchTo(caller);
	MemoryContextReset(filter->scratch);
}

static const PfsKeptChunk *
stack_filter_recall(void *state, const PfsChunkKey *key)
{
	PfsStackFilter *filter = state;

	return pfs_kept_chunks_find(filter->verdicts->chunks, key);
}

static void
stack_filter_remember(void *state, const PfsKeptChunk *chunk)
{
	PfsStackFilter *filter = state;

	/*
	 * A stack that the dictionary lacks may exist by the next query, so sums without it must not be
	 * kept.
	 */
	if (!filter->verdicts->doubtful)
		pfs_kept_chunks_put(filter->verdicts->chunks, chunk, filter->max_chunk_bytes);
}

PfsVerdicts
pfs_stack_filter_verdicts(PfsStackFilter *filter)
{
	if (filter == NULL)
		return (PfsVerdicts){ 0 };
	return (PfsVerdicts){ .judge = judge_stacks,
						  .recall = stack_filter_recall,
						  .remember = stack_filter_remember,
						  .state = filter };
}

uint64
pfs_stack_filter_kept_rows(const PfsStackFilter *filter, TimestampTz from, TimestampTz to)
{
	return pfs_kept_chunks_source_rows(filter->verdicts->chunks, from, to);
}

Size
pfs_stack_filter_kept_bytes(const PfsStackFilter *filter)
{
	return sizeof(PfsKeptArea) + pfs_kept_chunks_bytes(filter->verdicts->chunks);
}

Size
pfs_stack_filter_most_bytes(const PfsStackFilter *filter)
{
	return sizeof(PfsKeptArea) + filter->max_chunk_bytes;
}

void
pfs_stack_filter_share(const PfsStackFilter *filter, bool new_ones, PfsKeptArea *area, Size bytes)
{
	/* Verdicts hold for one version of the dictionary. */
	area->is_valid = pfs_dictionary_version(&area->version);
	area->bytes = pfs_kept_chunks_write(filter->verdicts->chunks, new_ones, (char *) (area + 1),
										bytes - sizeof(PfsKeptArea));
}

void
pfs_stack_filter_take(PfsStackFilter *filter, const PfsKeptArea *area)
{
	PfsDictionaryVersion version;

	/* If the processes know different versions, chunks of one are wrong for the other. */
	if (pfs_dictionary_version(&version) && area->is_valid &&
		memcmp(&version, &area->version, sizeof(version)) == 0)
		pfs_kept_chunks_read(filter->verdicts->chunks, (const char *) (area + 1), area->bytes,
							 filter->max_chunk_bytes);
}
