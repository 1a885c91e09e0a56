/*
 * series_groups.h
 *		Series grouped by some of their labels: the lines of a series graph.
 */
#ifndef PFS_SERIES_GROUPS_H
#define PFS_SERIES_GROUPS_H

#include "profstore.h"

#include "utils/array.h"

#include "select/selection.h"

typedef struct PfsSeriesGroup
{
	/* the label's value; label="value", … for several labels; the profile type if by is empty */
	const char *metric;
	Jsonb *labels; /* the labels in by that the series of the group have */
} PfsSeriesGroup;

typedef struct PfsSeriesGroups
{
	int32 count;
	PfsSeriesGroup *groups; /* sorted by metric */
	int32 *of_series;		/* group of each PfsSeries.index */
} PfsSeriesGroups;

/*
 * Groups the series by the labels in by, a text array. Raises NULL_VALUE_NOT_ALLOWED if it has
 * nulls. Lives in CurrentMemoryContext.
 */
PfsSeriesGroups pfs_series_groups(const PfsSelection *selection, ArrayType *by);

#endif
