/*
 * export_samples.h
 *		The stacks of a selection one by one, for formats that store stacks.
 */
#ifndef PFS_EXPORT_SAMPLES_H
#define PFS_EXPORT_SAMPLES_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "select/selection.h"
#include "tree/frames/symbols.h"

/* Receives a stack that passes the filters: ids of its locations, leaf first, and its value. */
typedef void (*PfsExportFn)(void *argument, const int32 *location_ids, uint32 count, int64 value);

/*
 * Calls the function for each stack, in the order of stack ids. The locations are in the
 * dictionary's cache. pfs_dictionary_begin() must have been called. The function runs in
 * CurrentMemoryContext, in which nothing of the stream's parts is left when this returns.
 */
void pfs_export_stacks(PfsStackStream *stream, PfsSymbols *symbols, PfsExportFn function,
					   void *argument);

/*
 * Returns a part of a selection: the series of one label set and period, given by PfsSeries.index
 * (0 .. distinct_count - 1). Lives in CurrentMemoryContext.
 */
PfsSelection *pfs_selection_part(const PfsSelection *selection, int32 index);

#endif
