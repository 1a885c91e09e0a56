/*
 * series_names.h
 *		What the series of a profile are called: whoever stores a profile, server or client, stores
 *		it under these. Knows no server header.
 */
#ifndef PFS_SERIES_NAMES_H
#define PFS_SERIES_NAMES_H

#include "formats/series_labels.h"

/* A label of the importer that is none of the series', but the name of the profile type. */
#define PFS_NAME_LABEL "__name__"

/* What the importer says of a profile. */
typedef struct PfsSeriesRules
{
	PfsLabels own;		 /* labels of all series; without PFS_NAME_LABEL */
	const PfsText *kept; /* keys of sample labels that become labels of series */
	uint32_t kept_count;
	bool keeps_all; /* all of them do */
} PfsSeriesRules;

/* Distinct label sets of the samples: a series each, of each sample type. At least one. */
typedef struct PfsProfileSets
{
	uint32_t count;
	PfsLabels *labels; /* beside the importer's, by set */
	uint32_t *set_of_sample;
} PfsProfileSets;

/*
 * Groups the samples by those of their labels that are kept and tell no trace or span, in whatever
 * order they stand. The result goes with the scratch. PFS_READ_OK, PFS_READ_TOO_LARGE or
 * PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_profile_sets(PfsMaking *making, const PfsProfile *profile,
							   const PfsSeriesRules *rules, PfsProfileSets *sets,
							   PfsReadError *error);

/* Names of profile types that are known by what they measure; NULL: the first sample type's. */
const char *pfs_pprof_default_name(const PfsProfile *profile);

/* What was sampled over a time adds up, and so does processor time without one. */
bool pfs_pprof_is_delta(const PfsProfile *profile);

/* Parts of a profile type in the order in which they stand in it; texts are clean. */
typedef struct PfsTypeParts
{
	PfsText name;
	PfsText sample_type;
	PfsText sample_unit;
	PfsText period_type;
	PfsText period_unit;
	bool delta;
} PfsTypeParts;

/* Bytes that the result has room for, with the zero behind it. */
#define PFS_TYPE_PART_MAX	 255
#define PFS_PROFILE_TYPE_MAX (5 * (PFS_TYPE_PART_MAX + 1) + sizeof("delta"))

/*
 * Writes "name:sample_type:sample_unit:period_type:period_unit[:delta]": parts are cut at
 * PFS_TYPE_PART_MAX bytes, what may not be in them becomes "_", "unknown" stands for what must be
 * there and is not.
 */
void pfs_profile_type_name(const PfsTypeParts *parts, char result[PFS_PROFILE_TYPE_MAX]);

/* Dictionary partition of stacks of a program without a build ID: service, else "import". */
PfsText pfs_labels_partition(const PfsLabels *labels);

#endif
