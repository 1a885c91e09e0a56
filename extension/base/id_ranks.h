/*
 * id_ranks.h
 *		Finds the place of an id in a sorted list of ids.
 *
 * A bit stands for each id of a run, which has no gap of more than a few pages of 64 ids, and a
 * number for each page. So ids of the dictionary, which are nearly dense, are found without a
 * search, in a tenth of the list's memory.
 */
#ifndef PFS_ID_RANKS_H
#define PFS_ID_RANKS_H

#include "profstore.h"

#include "port/pg_bitutils.h"

#define PFS_RANK_PAGE_BITS 6
#define PFS_RANK_PAGE_IDS  (1 << PFS_RANK_PAGE_BITS) /* as many as a 64-bit word has bits */

#define PFS_NO_RANK PG_UINT32_MAX

typedef struct PfsRankPage
{
	uint64 bits;  /* a bit for each id of the page that the list has */
	uint32 first; /* place of the first of them in the list */
} PfsRankPage;

typedef struct PfsRankRun
{
	int64 number; /* id >> PFS_RANK_PAGE_BITS of the run's first page */
	uint64 page_count;
	const PfsRankPage *pages;
} PfsRankRun;

typedef struct PfsIdRanks
{
	const PfsRankRun *runs; /* by ascending numbers */
	uint32 run_count;
	uint32 last_run; /* run in which an id was found last */
} PfsIdRanks;

/* Lists ids, which ascend without repetition, in CurrentMemoryContext. */
PfsIdRanks pfs_id_ranks(const int64 *ids, uint32 count);

/* Turns to the run of an id; returns false if no run has its page. */
bool pfs_id_ranks_turn(PfsIdRanks *ranks, int64 id);

/* Returns the place of an id in the list; PFS_NO_RANK if the list does not have it. */
static inline uint32
pfs_id_rank(PfsIdRanks *ranks, int64 id)
{
	uint64 bit = UINT64CONST(1) << (id & (PFS_RANK_PAGE_IDS - 1));
	int64 number = id >> PFS_RANK_PAGE_BITS;
	const PfsRankRun *run;
	const PfsRankPage *page;

	if (ranks->run_count == 0)
		return PFS_NO_RANK;
	run = &ranks->runs[ranks->last_run];
	if (unlikely((uint64) number - (uint64) run->number >= run->page_count))
	{
		if (!pfs_id_ranks_turn(ranks, id))
			return PFS_NO_RANK;
		run = &ranks->runs[ranks->last_run];
	}
	page = &run->pages[number - run->number];
	if ((page->bits & bit) == 0)
		return PFS_NO_RANK;
	return page->first + (uint32) pg_popcount64(page->bits & (bit - 1));
}

#endif
