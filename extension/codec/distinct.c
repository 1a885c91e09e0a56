/*
 * distinct.c
 *		Distinct values, by a hash table with open addressing.
 */
#include "codec/distinct.h"

#include <stdlib.h>
#include <string.h>

#include "codec/block.h"

#define MIN_VALUES		4096
#define MIN_VALUES_EACH 4 /* rows per distinct value */
#define MAX_VALUES		(1u << 18)
#define MIN_SAVED_BITS	2 /* ranks must be narrower than values by at least this */
#define NO_RANK			INT64_C(-1)

typedef struct Slot
{
	int64_t value;
	int64_t rank; /* NO_RANK: the slot is empty */
} Slot;

typedef struct Table
{
	Slot *slots;
	unsigned bits; /* there are 2^bits slots */
} Table;

/* Returns the value's slot, or the empty slot where it belongs. */
static inline Slot *
distinct_slot(const Table *table, int64_t value)
{
	size_t mask = ((size_t) 1 << table->bits) - 1;
	/* Multiplicative hashing: the top bits of the product depend on all bits of the value. */
	size_t place = (size_t) ((uint64_t) value * UINT64_C(0x9e3779b97f4a7c15) >> (64 - table->bits));

	/* The table has more than twice as many slots as values, so an empty slot ends every search. */
	while (table->slots[place].rank != NO_RANK && table->slots[place].value != value)
		place = (place + 1) & mask;
	return &table->slots[place];
}

static int
distinct_compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *) left;
	int64_t b = *(const int64_t *) right;

	return a < b ? -1 : a > b;
}

/*
 * Gathers the distinct values in ascending order. Returns their number, or 0 if it exceeds limit.
 */
static uint32_t
distinct_gather(const int64_t *values, uint32_t count, uint32_t limit, Table *table,
				int64_t *distinct)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++)
	{
		Slot *slot = distinct_slot(table, values[i]);

		if (slot->rank != NO_RANK)
			continue;
		/* Too many distinct values are the usual case. Giving up here spares sorting them. */
		if (found == limit)
			return 0;
		/*
		 * Any rank other than NO_RANK marks the slot as used; find_ranks() stores the real one
		 * after sorting.
		 */
		*slot = (Slot){ values[i], 0 };
		distinct[found++] = values[i];
	}
	qsort(distinct, found, sizeof(*distinct), distinct_compare);
	return found;
}

/* Returns true if ranks are narrower than the values in units of their common divisor. */
static bool
ranks_pay(const int64_t *distinct, uint32_t count)
{
	uint64_t divisor = 0;
	uint64_t range = (uint64_t) distinct[count - 1] - (uint64_t) distinct[0];

	for (uint32_t i = 1; i < count && divisor != 1; i++)
		/*
		 * A block would store values in units of this divisor, so ranks compete with those, and not
		 * with the values.
		 */
		divisor = pfs_common_divisor(divisor, (uint64_t) distinct[i] - (uint64_t) distinct[i - 1]);
	/* divisor is 0 if there is a single value. */
	return divisor != 0 && pfs_bit_width(range / divisor) >= pfs_bit_width(count) + MIN_SAVED_BITS;
}

/* Stores each distinct value's rank in its slot, then looks up the rank of every row. */
static bool
find_ranks(const int64_t *values, uint32_t count, PfsAllocator allocator, const Table *table,
		   PfsDistinct *distinct)
{
	distinct->ranks = allocator.realloc(allocator.context, NULL, count * sizeof(*distinct->ranks));
	if (distinct->ranks == NULL)
		return false;
	for (uint32_t rank = 0; rank < distinct->count; rank++)
		distinct_slot(table, distinct->values[rank])->rank = rank;
	for (uint32_t i = 0; i < count; i++)
		distinct->ranks[i] = distinct_slot(table, values[i])->rank;
	return true;
}

bool
pfs_distinct_find(const int64_t *values, uint32_t count, PfsAllocator allocator,
				  PfsDistinct *distinct)
{
	uint32_t limit = count / MIN_VALUES_EACH < MAX_VALUES ? count / MIN_VALUES_EACH : MAX_VALUES;
	/* at least twice as many slots as values */
	Table table = { NULL, pfs_bit_width(limit) + 1 };
	bool done;

	memset(distinct, 0, sizeof(*distinct));
	/*
	 * A dictionary costs each scan a look-up per value and a stream of its own, which few values do
	 * not repay.
	 */
	if (count < MIN_VALUES)
		return true;
	distinct->values =
		allocator.realloc(allocator.context, NULL, limit * sizeof(*distinct->values));
	table.slots = allocator.realloc(allocator.context, NULL, sizeof(Slot) << table.bits);
	done = distinct->values != NULL && table.slots != NULL;
	if (done)
	{
		/* all bytes 0xff make rank NO_RANK */
		memset(table.slots, 0xff, sizeof(Slot) << table.bits);
		distinct->count = distinct_gather(values, count, limit, &table, distinct->values);
		if (distinct->count > 0 && !ranks_pay(distinct->values, distinct->count))
			distinct->count = 0;
		if (distinct->count > 0)
			done = find_ranks(values, count, allocator, &table, distinct);
	}
	if (table.slots != NULL)
		allocator.realloc(allocator.context, table.slots, 0);
	if (!done || distinct->count == 0)
		pfs_distinct_free(distinct, allocator);
	return done;
}

void
pfs_distinct_free(PfsDistinct *distinct, PfsAllocator allocator)
{
	if (distinct->values != NULL)
		allocator.realloc(allocator.context, distinct->values, 0);
	if (distinct->ranks != NULL)
		allocator.realloc(allocator.context, distinct->ranks, 0);
	memset(distinct, 0, sizeof(*distinct));
}
