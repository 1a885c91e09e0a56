/*
 * stack_reader.h
 *		What a table of sums has, or two tables side by side, by ascending stack id.
 */
#ifndef PFS_STACK_READER_H
#define PFS_STACK_READER_H

#include "profstore.h"

#include "merge/stack_table.h"

typedef struct PfsStackReader PfsStackReader;

/*
 * Values are multiplied by numerator / denominator, which is at least 1, and rounded, halves away
 * from 0.
 */
typedef struct PfsScale
{
	int64 numerator;
	int64 denominator; /* 0: there are no values */
} PfsScale;

#define PFS_NO_SCALE ((PfsScale){ 1, 1 })

/* Ends the additions to a table, which becomes the reader's. Lives in CurrentMemoryContext. */
PfsStackReader *pfs_stack_reader_begin(PfsStackTable *values, PfsScale scale);

/* The same with bases beside the values; before the first stack is read. */
void pfs_stack_reader_add_base(PfsStackReader *reader, PfsStackTable *bases, PfsScale scale);

/* How many stacks there are at most; SIZE_MAX: not known. */
Size pfs_stack_reader_count(const PfsStackReader *reader);

/*
 * The next stacks that do not sum to 0 on both sides, so many as there is room for; less at the end
 * alone.
 */
uint32 pfs_stack_reader_next(PfsStackReader *reader, PfsStackSum *sums, uint32 room);

void pfs_stack_reader_end(PfsStackReader *reader);

#endif
