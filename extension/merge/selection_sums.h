/*
 * selection_sums.h
 *		The samples of a selection, added up by stack: stack_stream.h says what a sum is.
 */
#ifndef PFS_SELECTION_SUMS_H
#define PFS_SELECTION_SUMS_H

#include "profstore.h"

#include "merge/stack_table.h"
#include "select/selection.h"

/*
 * Scans the samples; takes so many bytes at most. The table lives in CurrentMemoryContext, as does
 * what the scan leaves.
 */
PfsStackTable *pfs_selection_sum(const PfsSelection *selection, Size bytes);

#endif
