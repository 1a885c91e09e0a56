/*
 * series_sums.h
 *		Sums by (series or group, some int64), within a part of work_mem, on disk beyond it.
 */
#ifndef PFS_SERIES_SUMS_H
#define PFS_SERIES_SUMS_H

#include "profstore.h"

#include "query/series_table.h"

typedef struct PfsSeriesSums PfsSeriesSums;

/* No sums yet; bytes is what they may take. Lives in CurrentMemoryContext. */
PfsSeriesSums *pfs_series_sums_begin(Size bytes);

/* Raises NUMERIC_VALUE_OUT_OF_RANGE where a sum does not fit int8. */
void pfs_series_sums_add(PfsSeriesSums *sums, int32 series, int64 id, int64 value);

/* After the last addition, for who wants the keys by id, then series. */
void pfs_series_sums_sort(PfsSeriesSums *sums);

/* After the last addition: the next key and its sum, in no particular order unless they were sorted; false at the end. */
bool pfs_series_sums_next(PfsSeriesSums *sums, PfsSeriesKey *key, int64 *value);

void pfs_series_sums_end(PfsSeriesSums *sums);

#endif
