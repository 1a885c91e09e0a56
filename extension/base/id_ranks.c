/*
 * id_ranks.c
 *		Divides a list of ids into runs, and finds the run of an id.
 */
#include "base/id_ranks.h"

#include "base/arrays.h"

/* A longer gap between two ids, in pages, begins a new run. So an id has at most 8 pages. */
#define LONGEST_GAP 8

static inline int64
page_number(int64 id)
{
	return id >> PFS_RANK_PAGE_BITS;
}

/* Returns the number of pages from one id's page to that of a larger id. */
static inline uint64
pages_between(int64 id, int64 larger)
{
	return (uint64) page_number(larger) - (uint64) page_number(id);
}

/* Returns the number of runs, and adds up their pages. */
static uint32
count_runs(const int64 *ids, uint32 count, uint64 *page_count)
{
	uint32 run_count = Min(count, 1);

	*page_count = run_count;
	for (uint32 i = 1; i < count; i++)
	{
		bool begins_run = pages_between(ids[i - 1], ids[i]) > LONGEST_GAP;

		run_count += begins_run;
		*page_count += begins_run ? 1 : pages_between(ids[i - 1], ids[i]);
	}
	return run_count;
}

PfsIdRanks
pfs_id_ranks(const int64 *ids, uint32 count)
{
	uint64 page_count;
	uint32 run_count = count_runs(ids, count, &page_count);
	PfsRankRun *runs = PFS_ARRAY(PfsRankRun, run_count);
	PfsRankPage *pages = PFS_ARRAY0(PfsRankPage, page_count);
	PfsRankRun *run = runs - 1;
	PfsRankPage *page = pages - 1; /* page of the id before */

	for (uint32 i = 0; i < count; i++)
	{
		uint64 step = i == 0 ? PG_UINT64_MAX : pages_between(ids[i - 1], ids[i]);

		if (step > LONGEST_GAP)
		{
			page++;
			*++run = (PfsRankRun){ .number = page_number(ids[i]), .page_count = 1, .pages = page };
			page->first = i;
		}
		else if (step > 0)
		{
			page += step;
			run->page_count += step;
			page->first = i;
		}
		page->bits |= UINT64CONST(1) << (ids[i] & (PFS_RANK_PAGE_IDS - 1));
	}
	return (PfsIdRanks){ .runs = runs, .run_count = run_count };
}

static bool
run_has(const PfsRankRun *run, int64 number)
{
	return (uint64) number - (uint64) run->number < run->page_count;
}

/* Ids mostly ascend, so the run often follows the last one. */
bool
pfs_id_ranks_turn(PfsIdRanks *ranks, int64 id)
{
	int64 number = page_number(id);
	uint32 low = 0;
	uint32 high = ranks->run_count;

	if (ranks->last_run + 1 < high && run_has(&ranks->runs[ranks->last_run + 1], number))
	{
		ranks->last_run++;
		return true;
	}
	PFS_BISECT(low, high, middle, ranks->runs[middle].number <= number);
	if (low == 0 || !run_has(&ranks->runs[low - 1], number))
		return false;
	ranks->last_run = low - 1;
	return true;
}
