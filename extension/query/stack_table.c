/*
 * stack_table.c
 *		Pages of sums, which become a sorted list where they grow too large, which becomes a sort.
 *
 * What is added goes to pages, which are quick but take much. Full, they are merged into a list of sums by id, which takes
 * little; a list that grows too large goes to the sort. So a query of few stacks never leaves the pages, and each of the
 * steps is taken where the one before does not do.
 */
#include "query/stack_table.h"

#include "common/int.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "query/allocate.h"
#include "query/hash.h"
#include "query/row_sorter.h"
#include "query/stack_sums.h"
#include "utils/memutils.h"

#define INITIAL_PAGES 256

/*
 * Sums of the stacks of one page: PAGE_STACKS neighbouring ids. Programs' stacks have neighbouring ids, and segments
 * bring them in order, so the next sum is mostly in the same page, and the result needs no sorting but of pages. Few of the
 * ids are leaves, so a page has sums for those that have come, side by side: sums of many series stay in the CPU's cache.
 */
#define PAGE_BITS	  6
#define PAGE_STACKS	  (1 << PAGE_BITS) /* as many as a word has bits */
#define PAGE_CAPACITY 8				   /* at first */

/* Shares of the memory: of pages, of the list before it is merged with them, and of the sort. */
#define PAGES_SHARE(bytes) ((bytes) / 8 * 3)
#define LIST_SHARE(bytes)  ((bytes) / 4)
#define SORT_SHARE(bytes)  ((bytes) / 8 * 3)

#define MIN_PAGES_BYTES (32 * 1024)

#define ONE	 (INT64CONST(1) << PFS_FRACTION_BITS)
#define HALF (ONE / 2)

/* Fractions are cut, each by less than 1 unit: so many may make up a half. */
#define ROUNDING_SLACK (INT64CONST(1) << 20)

typedef struct StackPage
{
	int64 number;	  /* stack id >> PAGE_BITS */
	uint64 added;	  /* bits of the stacks that have a value, though it may be 0 */
	int64 *values;	  /* in the order of the stacks */
	int64 *fractions; /* of them, between -1 and 1; NULL where there are none */
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

/* Columns of sums that are sorted: those of a Sum. */
#define SUM_COLUMNS 3
#define SUM_KEYS	1

/* A page among others by number. */
typedef struct PageOrder
{
	int64 number;
	const StackPage *page;
} PageOrder;

struct PfsStackTable
{
	bool has_fractions;
	Size bytes;
	MemoryContext context;		 /* of the list */
	MemoryContext pages_context; /* of the pages alone, which go at once */
	Size pages_bytes;
	page_table_hash *pages;
	bool is_full;	 /* pages have come to pages_bytes */
	StackPage *last; /* the page that was used last; NULL: none yet */
	Sum *list;		 /* by stack id */
	Size list_count;
	PfsRowSorter *sorter; /* NULL: all is in pages and list */

	/* what is read: pages alone, … */
	PageOrder *order; /* NULL: the list is read, or the sort */
	uint32 next_page;
	uint64 bits; /* of its stacks that are yet to come */
	int place;	 /* of the next among its sums */

	Size next; /* … in the list, … */

	Sum ahead; /* … or the sort's next row, where there is one */
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
pfs_stack_table_begin(bool has_fractions, Size bytes)
{
	PfsStackTable *table = palloc0(sizeof(PfsStackTable));
	Size block_bytes = ALLOCSET_DEFAULT_INITSIZE;

	table->has_fractions = has_fractions;
	table->bytes = bytes;
	table->context = CurrentMemoryContext;
	table->pages_bytes = Max(PAGES_SHARE(bytes), MIN_PAGES_BYTES);
	while (block_bytes < table->pages_bytes / 16 && block_bytes < ALLOCSET_DEFAULT_MAXSIZE)
		block_bytes *= 2;
	table->pages_context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore stack sums",
							  ALLOCSET_DEFAULT_MINSIZE, ALLOCSET_DEFAULT_INITSIZE, block_bytes);
	begin_pages(table);
	return table;
}

/* Adds a fraction; what makes a whole goes to the value. */
static void
add_fraction(int64 *value, int64 *sum, int64 fraction)
{
	*sum += fraction;
	if (*sum >= ONE || *sum <= -ONE)
	{
		*value = pfs_add_values(*value, *sum / ONE);
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

/* Pages in order of their numbers; count gets the number of their stacks. */
static PageOrder *
sort_pages(const PfsStackTable *table, Size *count)
{
	PageOrder *order = PFS_ARRAY(PageOrder, table->pages->members);
	page_table_iterator iterator;
	const StackPage *page;
	uint32 page_count = 0;

	*count = 0;
	page_table_start_iterate(table->pages, &iterator);
	while ((page = page_table_iterate(table->pages, &iterator)) != NULL)
	{
		order[page_count++] = (PageOrder){ page->number, page };
		*count += (Size) pg_popcount64(page->added);
	}
	qsort(order, page_count, sizeof(PageOrder), compare_pages);
	return order;
}

/* Appends a sum, or adds it to the last one where that is of the same stack. */
static inline void
append_sum(Sum *list, Size *count, const Sum *sum)
{
	if (*count > 0 && list[*count - 1].stack_id == sum->stack_id)
	{
		Sum *last = &list[*count - 1];

		last->value = pfs_add_values(last->value, sum->value);
		add_fraction(&last->value, &last->fraction, sum->fraction);
	}
	else
		list[(*count)++] = *sum;
}

/* Moves all sums from pages into the list. */
static void
list_pages(PfsStackTable *table)
{
	uint32 page_count = table->pages->members;
	Size added;
	PageOrder *order = sort_pages(table, &added);
	Sum *merged =
		MemoryContextAllocHuge(table->context, (table->list_count + added + 1) * sizeof(Sum));
	Size count = 0;
	Size next = 0;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; i < page_count; i++)
	{
		const StackPage *page = order[i].page;
		int place = 0;

		for (uint64 bits = page->added; bits != 0; bits &= bits - 1, place++)
		{
			Sum sum = { page->number * PAGE_STACKS + pg_rightmost_one_pos64(bits),
						page->values[place], page->fractions == NULL ? 0 : page->fractions[place] };

			while (next < table->list_count && table->list[next].stack_id <= sum.stack_id)
				append_sum(merged, &count, &table->list[next++]);
			append_sum(merged, &count, &sum);
		}
	}
	while (next < table->list_count)
		append_sum(merged, &count, &table->list[next++]);
	pfree(order);
	if (table->list != NULL)
		pfree(table->list);
	table->list = merged;
	table->list_count = count;
	MemoryContextReset(table->pages_context);
}

/* Moves the list to the sort. */
static void
sort_list(PfsStackTable *table)
{
	if (table->sorter == NULL)
		table->sorter = pfs_row_sorter_begin(SUM_COLUMNS, SUM_KEYS,
											 pfs_row_sorter_kb(SORT_SHARE(table->bytes)));
	for (Size i = 0; i < table->list_count; i++)
	{
		const Sum *sum = &table->list[i];
		int64 row[SUM_COLUMNS] = { sum->stack_id, sum->value, sum->fraction };

		pfs_row_sorter_put(table->sorter, row);
	}
	pfree(table->list);
	table->list = NULL;
	table->list_count = 0;
}

static pg_noinline void
empty_pages(PfsStackTable *table)
{
	MemoryContext caller = MemoryContextSwitchTo(table->context);

	list_pages(table);
	if (table->sorter != NULL || table->list_count > LIST_SHARE(table->bytes) / sizeof(Sum))
		sort_list(table);
	begin_pages(table);
	MemoryContextSwitchTo(caller);
}

static void
look_at_memory(PfsStackTable *table)
{
	table->is_full = MemoryContextMemAllocated(table->pages_context, false) > table->pages_bytes;
}

static pg_noinline void
turn_to_page(PfsStackTable *table, int64 number)
{
	bool found;
	StackPage *page;

	if (table->is_full)
		empty_pages(table);
	page = page_table_insert(table->pages, number, &found);
	if (!found)
	{
		Size bytes = sizeof(int64) * PAGE_CAPACITY;

		page->added = 0;
		page->capacity = PAGE_CAPACITY;
		page->values = MemoryContextAlloc(table->pages_context, bytes);
		page->fractions =
			table->has_fractions ? MemoryContextAlloc(table->pages_context, bytes) : NULL;
		look_at_memory(table);
	}
	table->last = page;
}

/* Makes a sum of 0 at a place among those of the last page. */
static pg_noinline void
insert_sum(PfsStackTable *table, int place, uint64 bit)
{
	StackPage *page = table->last;
	int count = pg_popcount64(page->added);
	Size behind = (Size) (count - place);

	if (count == page->capacity)
	{
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

/* Turns to a stack; its place among the sums of the last page. */
static inline int
turn_to_stack(PfsStackTable *table, int64 stack_id)
{
	uint64 bit = UINT64CONST(1) << (stack_id & (PAGE_STACKS - 1));
	int place;

	if (table->last == NULL || stack_id >> PAGE_BITS != table->last->number)
		turn_to_page(table, stack_id >> PAGE_BITS);
	place = pg_popcount64(table->last->added & (bit - 1));
	if (!(table->last->added & bit))
		insert_sum(table, place, bit);
	return place;
}

static inline void
add_whole(PfsStackTable *table, int64 stack_id, int64 value)
{
	int place = turn_to_stack(table, stack_id);
	int64 *sum = &table->last->values[place];

	*sum = pfs_add_values(*sum, value);
}

void
pfs_stack_table_add(PfsStackTable *table, int64 stack_id, int64 value, int64 fraction)
{
	int place = turn_to_stack(table, stack_id);
	StackPage *page = table->last;

	page->values[place] = pfs_add_values(page->values[place], value);
	if (fraction != 0)
		add_fraction(&page->values[place], &page->fractions[place], fraction);
}

/* Rows of one stack are added up first; those whose sum does not fit are added one by one. */
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
	Size count = 0;

	if (table->list == NULL && table->sorter == NULL)
		table->order = sort_pages(table, &count);
	else
	{
		list_pages(table);
		count = table->list_count;
	}
	if (table->sorter != NULL)
	{
		sort_list(table);
		pfs_row_sorter_sort(table->sorter);
		read_ahead(table);
		count = PFS_COUNT_UNKNOWN;
	}
	MemoryContextSwitchTo(caller);
	return count;
}

static bool
next_in_pages(PfsStackTable *table, Sum *sum)
{
	const StackPage *page;

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
	sum->fraction = page->fractions == NULL ? 0 : page->fractions[table->place];
	table->bits &= table->bits - 1;
	table->place++;
	return true;
}

static bool
next_sum(PfsStackTable *table, Sum *sum)
{
	Size count = 0;

	if (table->order != NULL)
		return next_in_pages(table, sum);
	if (table->sorter == NULL)
	{
		if (table->next == table->list_count)
			return false;
		*sum = table->list[table->next++];
		return true;
	}
	if (!table->has_ahead)
		return false;
	do
	{
		append_sum(sum, &count, &table->ahead);
		read_ahead(table);
	} while (table->has_ahead && table->ahead.stack_id == sum->stack_id);
	return true;
}

/* Value and fraction to the nearest whole number, halves away from 0. */
static int64
round_sum(const Sum *sum)
{
	int64 value = sum->value;
	int64 fraction = sum->fraction;

	if (value > 0 && fraction < 0)
	{
		value--;
		fraction += ONE;
	}
	else if (value < 0 && fraction > 0)
	{
		value++;
		fraction -= ONE;
	}
	if (fraction >= HALF - ROUNDING_SLACK)
		return pfs_add_values(value, 1);
	if (fraction <= -(HALF - ROUNDING_SLACK))
		return pfs_add_values(value, -1);
	return value;
}

uint32
pfs_stack_table_read(PfsStackTable *table, PfsStackSum *sums, uint32 room)
{
	uint32 count = 0;
	Sum sum;

	while (count < room && next_sum(table, &sum))
	{
		int64 value = round_sum(&sum);

		if (value != 0)
			sums[count++] = (PfsStackSum){ sum.stack_id, { value, 0 } };
	}
	return count;
}

void
pfs_stack_table_end(PfsStackTable *table)
{
	MemoryContextDelete(table->pages_context);
	if (table->order != NULL)
		pfree(table->order);
	if (table->list != NULL)
		pfree(table->list);
	if (table->sorter != NULL)
		pfs_row_sorter_end(table->sorter);
	pfree(table);
}
