/*
 * stack_filter.h
 *		Whether a stack passes the filters, while samples are read.
 *
 * Each stack is judged when it is first met, so one scan is enough. Verdicts take a quarter of
 * work_mem at most; beyond, they are forgotten, and made again.
 */
#ifndef PFS_STACK_FILTER_H
#define PFS_STACK_FILTER_H

#include "profstore.h"

#include "select/sample_scan.h"
#include "tree/filters.h"

typedef struct PfsStackFilter PfsStackFilter;

/*
 * NULL where there are no filters: every stack passes. filters must outlive it. Begins the use of
 * the dictionary. Lives in CurrentMemoryContext.
 */
PfsStackFilter *pfs_stack_filter_create(const PfsFilters *filters);

/* Rows first .. end - 1 of a block. */
typedef struct PfsRowRange
{
	uint32 first;
	uint32 end;
} PfsRowRange;

/*
 * The rows whose stacks pass, until the next call; returns the number of ranges, each of
 * one stack. Stacks that are new are judged together.
 */
uint32 pfs_stack_filter_rows(PfsStackFilter *filter, const PfsSampleBlock *block,
							 const PfsRowRange **ranges);

#endif
