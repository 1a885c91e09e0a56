/*
 * stack_table.c
 *		Keeps sums of stacks in memory, and on disk if there are too many.
 *
 * 1. Values are added in pages of neighbouring stacks, in a hash table (turn_to_stack(),
 *    insert_sum()). A query of few stacks needs nothing else.
 * 2. When pages have used up their share of the memory, their sums go to a sort, and the pages are
 *    emptied (empty_pages()).
 * 3. Reading takes sums from the pages, or all of them from the sort (next_sum()), and rounds them.
 */
#include "merge/stack_table.h"

#include "common/int.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "base/memory_peak.h"
#include "base/row_sorter.h"
#include "dictionary/cache/doubts.h"
#include "merge/carries.h"

#define INITIAL_PAGES 256

/*
 * Bits of the number of stacks in a page. A page has the sums of PAGE_STACKS neighbouring ids.
 * Stacks of a program have neighbouring ids, and segments have them in order, so the next sum is
 * usually in the same page, and only pages have to be sorted for the result. Few of the ids are
 * leaves, so a page stores only sums that have occurred, without gaps; then the sums of many series
 * stay in the CPU's cache.
 */
#define PAGE_BITS	  6
#define PAGE_STACKS	  (1 << PAGE_BITS) /* as many as a 64-bit word has bits */
#define PAGE_CAPACITY 8				   /* initial number of sums for which a page has room */

/* Bytes that the pages may use. */
#define PAGES_SHARE(bytes) ((bytes) / 8 * 5)
#define SORT_SHARE(bytes)  ((bytes) / 8 * 3)

/* Larger pages are moved to the sort by pfs_stack_table_settle(). */
#define SETTLED_SHARE(bytes) ((bytes) / 4)

#define MIN_PAGES_BYTES (32 * 1024)

#define INTERRUPT_STACKS 1024 /* stacks read between checks for interrupts */

#define ONE	 (INT64CONST(1) << PFS_FRACTION_BITS)
#define HALF (ONE / 2)

typedef struct StackPage
{
	int64 number;	  /* stack id >> PAGE_BITS */
	uint64 added;	  /* a bit for each stack of the page that has a value; the value may be 0 */
	int64 *values;	  /* in the order of the stacks */
	int64 *fractions; /* fractions of the stacks, between -1 and 1; NULL if all are 0 */
	uint8 capacity;
	char status;
} StackPage;

#define SH_PREFIX		   page_table
#define SH_ELEMENT_TYPE	   StackPage
#define SH_KEY_TYPE		   int64
#define SH_KEY			   number
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct Sum
{
	int64 stack_id;
	int64 value;
	int64 fraction;
} Sum;

/* Columns of the sort: the fields of a Sum. */
#define SUM_COLUMNS 3
#define SUM_KEYS	1

/* A page in the order of numbers. */
typedef struct PageOrder
{
	int64 number;
	const StackPage *page;
} PageOrder;

struct PfsStackTable
{
	uint32 max_fractions;
	Size bytes;
	MemoryContext context;		 /* memory for the sort */
	MemoryContext pages_context; /* context of the pages only, so that all are freed together */
	Size pages_bytes;
	page_table_hash *pages;
	bool is_full;		  /* pages have reached pages_bytes */
	StackPage *last;	  /* the page used last; NULL: none yet */
	PfsRowSorter *sorter; /* NULL: all sums are in pages */
	PfsCarries carries;	  /* carries of all sums, by stack; the series is 0 */

	/* state of reading, from the pages or from the sort */
	PageOrder *order;
	uint32 next_page;
	/* stacks of the current page, the one before next_page, that have not been read yet */
	uint64 bits;
	int place; /* index of the next unread stack's sum in the current page */
	Sum ahead; /* next row of the sort, if has_ahead is true */
	bool has_ahead;
};

static void
begin_pages(PfsStackTable *table)
{
	table->pages = page_table_create(table->pages_context, INITIAL_PAGES, NULL);
	table->is_full = false;
	table->last = NULL;
}

PfsStackTable *
pfs_stack_table_begin(uint32 max_fractions, Size bytes)
{
	PfsStackTable *table = palloc0(sizeof(PfsStackTable));
	Size block_bytes = ALLOCSET_DEFAULT_INITSIZE;

	table->max_fractions = max_fractions;
	table->bytes = bytes;
	table->context = table->carries.context = CurrentMemoryContext;
	table->pages_bytes = Max(PAGES_SHARE(bytes), MIN_PAGES_BYTES);
	/* Blocks of a sixteenth of the limit, so that allocating one more cannot exceed it by much. */
	while (block_bytes < table->pages_bytes / 16 && block_bytes < ALLOCSET_DEFAULT_MAXSIZE)
		block_bytes *= 2;
	table->pages_context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore stack sums",
							  ALLOCSET_DEFAULT_MINSIZE, ALLOCSET_DEFAULT_INITSIZE, block_bytes);
	begin_pages(table);
	return table;
}

static inline void
table_add_value(PfsStackTable *table, int64 stack_id, int64 *sum, int64 value)
{
	pfs_add_carrying(sum, value, &table->carries, 0, stack_id);
}

/* Adds a fraction. Whole units are moved to the value. */
static void
add_fraction(PfsStackTable *table, int64 stack_id, int64 *value, int64 *sum, int64 fraction)
{
	/* Both are less than ONE in magnitude, so their sum fits. */
	*sum += fraction;
	if (*sum >= ONE || *sum <= -ONE)
	{
		table_add_value(table, stack_id, value, *sum / ONE);
		*sum %= ONE;
	}
}

static int
compare_pages(const void *a, const void *b)
{
	int64 left = ((const PageOrder *) a)->number;
	int64 right = ((const PageOrder *) b)->number;

	return (left > right) - (left < right);
}

/* Prepares reading the pages in order. Returns the number of their stacks. */
static Size
sort_pages(PfsStackTable *table)
{
	page_table_iterator iterator;
	const StackPage *page;
	uint32 page_count = 0;
	Size count = 0;

	/* One byte more, because the number of pages may be 0. */
	table->order =
		MemoryContextAllocHuge(table->pages_context, table->pages->members * sizeof(PageOrder) + 1);
	page_table_start_iterate(table->pages, &iterator);
	while ((page = page_table_iterate(table->pages, &iterator)) != NULL)
	{
		table->order[page_count++] = (PageOrder){ page->number, page };
		count += (Size) pg_popcount64(page->added);
	}
	qsort(table->order, page_count, sizeof(PageOrder), compare_pages);
	table->next_page = 0;
	table->bits = 0;
	return count;
}

/* Returns the next sum of the pages. */
static bool
next_in_pages(PfsStackTable *table, Sum *sum)
{
	const StackPage *page;

	/* The bits of the current page are used up, or no page has been begun. */
	while (table->bits == 0)
	{
		if (table->next_page == table->pages->members)
			return false;
		table->bits = table->order[table->next_page++].page->added;
		table->place = 0;
	}
	page = table->order[table->next_page - 1].page;
	sum->stack_id = page->number * PAGE_STACKS + pg_rightmost_one_pos64(table->bits);
	sum->value = page->values[table->place];
	/* Delta types have no fractions, so they need half the memory per sum. */
	sum->fraction = page->fractions == NULL ? 0 : page->fractions[table->place];
	/* Clears the lowest bit: the stack that was just returned. */
	table->bits &= table->bits - 1;
	table->place++;
	return true;
}

static void
add_sum(PfsStackTable *table, Sum *sum, const Sum *more)
{
	table_add_value(table, sum->stack_id, &sum->value, more->value);
	add_fraction(table, sum->stack_id, &sum->value, &sum->fraction, more->fraction);
}

static void
sort_sum(PfsStackTable *table, const Sum *sum)
{
	int64 row[SUM_COLUMNS] = { sum->stack_id, sum->value, sum->fraction };

	pfs_row_sorter_put(table->sorter, row);
}

/* Moves sums from pages, which are sorted, to the sort. */
static void
sort_all(PfsStackTable *table)
{
	Sum sum;

	if (table->sorter == NULL)
		table->sorter = pfs_row_sorter_begin(SUM_COLUMNS, SUM_KEYS,
											 pfs_row_sorter_kb(SORT_SHARE(table->bytes)));
	while (next_in_pages(table, &sum))
		sort_sum(table, &sum);
	pfs_memory_look();
	/* Frees pages, their values and the list of their order at once. */
	MemoryContextReset(table->pages_context);
}

/* Moves all sums to the sort, and starts with empty pages. */
static pg_noinline void
empty_pages(PfsStackTable *table)
{
	MemoryContext caller = MemoryContextSwitchTo(table->context);

	CHECK_FOR_INTERRUPTS();
	sort_pages(table);
	sort_all(table);
	begin_pages(table);
	MemoryContextSwitchTo(caller);
}

/* Returns true if the hash table of pages would grow beyond the limit with the next page. */
static bool
grows_too_large(const PfsStackTable *table)
{
	const page_table_hash *pages = table->pages;

	/* While the hash table grows, the old and the new array exist. */
	return pages->members >= pages->grow_threshold &&
		   MemoryContextMemAllocated(table->pages_context, false) +
				   pages->size * 2 * sizeof(StackPage) >
			   table->pages_bytes;
}

static void
look_at_memory(PfsStackTable *table)
{
	table->is_full = MemoryContextMemAllocated(table->pages_context, false) > table->pages_bytes;
}

/*
 * Makes the page with a number the current one; empties all pages first if they take too much
 * memory.
 */
static pg_noinline void
turn_to_page(PfsStackTable *table, int64 number)
{
	bool found;
	StackPage *page;

	/* Only a new page can exceed the limit much; values of a page that is there are still added. */
	if (table->is_full || grows_too_large(table))
		empty_pages(table);
	page = page_table_insert(table->pages, number, &found);
	if (!found)
	{
		Size bytes = sizeof(int64) * PAGE_CAPACITY;

		page->added = 0;
		page->capacity = PAGE_CAPACITY;
		page->values = MemoryContextAlloc(table->pages_context, bytes);
		page->fractions =
			table->max_fractions > 0 ? MemoryContextAlloc(table->pages_context, bytes) : NULL;
		look_at_memory(table);
	}
	table->last = page;
}

/* Inserts a sum of 0 at a place in the last page. */
static pg_noinline void
insert_sum(PfsStackTable *table, int place, uint64 bit)
{
	StackPage *page = table->last;
	int count = pg_popcount64(page->added);
	Size behind = (Size) (count - place);

	if (count == page->capacity)
	{
		/* A capacity is 8, 16, 32 or 64 and never more, because a page has PAGE_STACKS stacks. */
		page->capacity = (uint8) (page->capacity * 2);
		page->values = repalloc(page->values, sizeof(int64) * page->capacity);
		if (page->fractions != NULL)
			page->fractions = repalloc(page->fractions, sizeof(int64) * page->capacity);
		look_at_memory(table);
	}
	memmove(page->values + place + 1, page->values + place, sizeof(int64) * behind);
	page->values[place] = 0;
	if (page->fractions != NULL)
	{
		memmove(page->fractions + place + 1, page->fractions + place, sizeof(int64) * behind);
		page->fractions[place] = 0;
	}
	page->added |= bit;
}

/* Makes the page of a stack the last one, and returns the place of the stack's sum in it. */
static inline int
turn_to_stack(PfsStackTable *table, int64 stack_id)
{
	uint64 bit = UINT64CONST(1) << (stack_id & (PAGE_STACKS - 1));
	int place;

	if (table->last == NULL || stack_id >> PAGE_BITS != table->last->number)
		turn_to_page(table, stack_id >> PAGE_BITS);
	/* The number of sums of smaller ids is the place of this one. */
	place = pg_popcount64(table->last->added & (bit - 1));
	if (!(table->last->added & bit))
		insert_sum(table, place, bit);
	return place;
}

void
pfs_stack_table_settle(PfsStackTable *table)
{
	if (MemoryContextMemAllocated(table->pages_context, false) > SETTLED_SHARE(table->bytes))
		empty_pages(table);
}

static inline void
add_whole(PfsStackTable *table, int64 stack_id, int64 value)
{
	/* Call it first: it may move the page's values. */
	int place = turn_to_stack(table, stack_id);

	table_add_value(table, stack_id, &table->last->values[place], value);
}

void
pfs_stack_table_add(PfsStackTable *table, int64 stack_id, int128 value, int64 fraction)
{
	int place = turn_to_stack(table, stack_id);
	StackPage *page = table->last;

	/* An average of many series may exceed int8 before it is added to others. */
	pfs_add_wide_carrying(&page->values[place], value, &table->carries, 0, stack_id);
	/* A table without fractions gets none, and page->fractions is NULL. */
	if (fraction != 0)
		add_fraction(table, stack_id, &page->values[place], &page->fractions[place], fraction);
}

/* rows of one stack are summed first, as long as their sum does not overflow */
void
pfs_stack_table_add_rows(PfsStackTable *table, const int64 *stacks, const int64 *values,
						 uint32 row_count)
{
	uint32 row = 0;

	while (row < row_count)
	{
		int64 stack_id = stacks[row];
		int64 sum = values[row++];
		int64 more;

		while (row < row_count && stacks[row] == stack_id &&
			   !pg_add_s64_overflow(sum, values[row], &more))
		{
			sum = more;
			row++;
		}
		add_whole(table, stack_id, sum);
	}
}

static void
read_ahead(PfsStackTable *table)
{
	int64 row[SUM_COLUMNS];

	table->has_ahead = pfs_row_sorter_next(table->sorter, row);
	if (table->has_ahead)
		table->ahead = (Sum){ row[0], row[1], row[2] };
}

Size
pfs_stack_table_finish(PfsStackTable *table)
{
	MemoryContext caller = MemoryContextSwitchTo(table->context);
	Size count = sort_pages(table);

	/* Some sums are in the sort, so all must go there to be read in order. */
	if (table->sorter != NULL)
	{
		sort_all(table);
		pfs_row_sorter_sort(table->sorter);
		read_ahead(table);
		count = PFS_COUNT_UNKNOWN;
	}
	MemoryContextSwitchTo(caller);
	return count;
}

static bool
next_sum(PfsStackTable *table, Sum *sum)
{
	if (table->sorter == NULL)
		return next_in_pages(table, sum);
	if (!table->has_ahead)
		return false;
	/* if pages were emptied several times, the rows of one stack follow each other in the sort */
	*sum = table->ahead;
	for (read_ahead(table); table->has_ahead && table->ahead.stack_id == sum->stack_id;
		 read_ahead(table))
		/* Carries are kept by stack, whichever row a carry arose from. */
		add_sum(table, sum, &table->ahead);
	return true;
}

/*
 * Rounds value and fraction to the nearest whole number, halves away from 0. Each fraction was
 * truncated by less than 1 unit, so a fraction that lacks at most max_fractions units counts as a
 * half.
 */
static int64
round_sum(const PfsStackTable *table, const Sum *sum)
{
	int128 value = pfs_with_carry(&table->carries, 0, sum->stack_id, sum->value);
	int64 fraction = sum->fraction;
	int64 cut = table->max_fractions;

	/* give both parts the same sign first */
	if (value > 0 && fraction < 0)
	{
		value--;
		fraction += ONE;
	}
	else if (value < 0 && fraction > 0)
	{
		value++;
		/* fraction is now negative or 0, like value. */
		fraction -= ONE;
	}
	if (fraction >= HALF - cut)
		value++;
	else if (fraction <= -(HALF - cut))
		value--;
	return pfs_clip(value);
}

uint32
pfs_stack_table_read(PfsStackTable *table, PfsStackSum *sums, uint32 room)
{
	uint32 count = 0;
	Sum sum;

	while (count < room && next_sum(table, &sum))
	{
		int64 value = round_sum(table, &sum);

		if (count % INTERRUPT_STACKS == 0)
			CHECK_FOR_INTERRUPTS();
		/* A sum of 0 has no place in a result, and costs a walk as much as any other. */
		if (value != 0)
			sums[count++] = (PfsStackSum){ sum.stack_id, { value, 0 } };
	}
	return count;
}

void
pfs_stack_table_end(PfsStackTable *table)
{
	pfs_memory_look();
	MemoryContextDelete(table->pages_context);
	if (table->sorter != NULL)
		pfs_row_sorter_end(table->sorter);
	if (table->carries.table != NULL)
		pfs_series_table_destroy(table->carries.table);
	pfree(table);
}
