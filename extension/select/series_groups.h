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
	/* the label's value; label="value", … of several; the type where by is empty */
	const char *metric;
	Jsonb *labels; /* those of the labels asked for that the series have */
} PfsSeriesGroup;

typedef struct PfsSeriesGroups
{
	int32 count;
	PfsSeriesGroup *groups; /* by metric */
	int32 *of_series;		/* group of PfsSeries.index */
} PfsSeriesGroups;

/*
 * by is a text array without nulls, or NULL_VALUE_NOT_ALLOWED is raised. Lives in
 * CurrentMemoryContext.
 */
PfsSeriesGroups pfs_series_groups(const PfsSelection *selection, ArrayType *by);

#endif
