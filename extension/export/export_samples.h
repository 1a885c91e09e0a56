/*
 * export_samples.h
 *		The stacks of a selection one by one, for formats that keep them.
 */
#ifndef PFS_EXPORT_SAMPLES_H
#define PFS_EXPORT_SAMPLES_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "select/selection.h"
#include "tree/symbols.h"

/* A stack that the filters let pass: ids of its locations, leaf first, and its value. */
typedef void (*PfsExportFn)(void *argument, const int32 *location_ids, uint32 count, int64 value);

/*
 * Calls the function for each stack, in the order of stack ids and in CurrentMemoryContext, which
 * has nothing else of the stream's parts when this returns. The locations are in the dictionary's
 * cache. pfs_dictionary_begin has been called.
 */
void pfs_export_stacks(PfsStackStream *stream, PfsSymbols *symbols, PfsExportFn function,
					   void *argument);

/*
 * The part of a selection that has these labels, for index 0 .. distinct_count - 1; equal labels
 * under another period are another part. Lives in CurrentMemoryContext.
 */
PfsSelection *pfs_selection_part(const PfsSelection *selection, int32 index);

#endif
