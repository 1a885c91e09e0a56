/*
 * stack_filter.h
 *		Whether a stack passes the filters, while samples are read.
 *
 * Each stack is judged when it is first met, so one scan is enough. Verdicts take a quarter of
 * work_mem at most; beyond, they are forgotten, and made again. They stay for the session's next
 * query with these filters.
 */
#ifndef PFS_STACK_FILTER_H
#define PFS_STACK_FILTER_H

#include "profstore.h"

#include "tree/filters.h"

typedef struct PfsStackFilter PfsStackFilter;

/*
 * NULL where there are no filters: every stack passes. filters must outlive it. Begins the use of
 * the dictionary. Lives in CurrentMemoryContext.
 */
PfsStackFilter *pfs_stack_filter_create(const PfsFilters *filters);

/*
 * Which of so many stacks pass; those that are new are judged together. filter is a PfsStackFilter,
 * so that this can be the PfsJudgeStacks of a scan of samples.
 */
void pfs_stack_filter_judge(void *filter, const int64 *stacks, uint32 count, bool *passes);

#endif
