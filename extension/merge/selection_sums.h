/*
 * selection_sums.h
 *		Sums the samples of a selection by stack, as stack_stream.h defines.
 */
#ifndef PFS_SELECTION_SUMS_H
#define PFS_SELECTION_SUMS_H

#include "profstore.h"

#include "merge/stack_table.h"
#include "select/selection.h"

/*
 * Scans the samples, using at most bytes of memory. The table and memory of the scan are in
 * CurrentMemoryContext.
 */
PfsStackTable *pfs_selection_sum(const PfsSelection *selection, Size bytes);

#endif
