/*
 * series_names.h
 *		Labels and names of a profile's series: server and clients use these functions, so they
 *		store a profile under the same names. Includes no server header.
 */
#ifndef PFS_SERIES_NAMES_H
#define PFS_SERIES_NAMES_H

#include "formats/series_labels.h"

/* Label of the importer that names the profile type. It does not become a label of series. */
#define PFS_NAME_LABEL "__name__"

/* The importer's settings for a profile. */
typedef struct PfsSeriesRules
{
	PfsLabels own;		 /* labels of all series; without PFS_NAME_LABEL */
	const PfsText *kept; /* keys of the sample labels that become labels of series */
	uint32_t kept_count;
	bool keeps_all; /* all keys become labels */
} PfsSeriesRules;

/*
 * Distinct sets of labels of the samples, at least one. Each set makes a series for each sample
 * type.
 */
typedef struct PfsProfileSets
{
	uint32_t count;
	PfsLabels *labels; /* for each set, its labels in addition to the importer's */
	uint32_t *set_of_sample;
} PfsProfileSets;

/*
 * Groups the samples by their kept labels, in any order, except labels that contain ids of a trace
 * or span. The result is freed with the scratch. Returns PFS_READ_OK, PFS_READ_TOO_LARGE or
 * PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_profile_sets(PfsMaking *making, const PfsProfile *profile,
							   const PfsSeriesRules *rules, PfsProfileSets *sets,
							   PfsReadError *error);

/*
 * Returns the name of profile types that are recognized by their measurements. Returns NULL if the
 * name of the first sample type is to be used.
 */
const char *pfs_pprof_default_name(const PfsProfile *profile);

/* Returns true for profiles with a duration, and for CPU time without one, whose values add up. */
bool pfs_pprof_is_delta(const PfsProfile *profile);

/* Parts of a profile type in their order; texts are clean. */
typedef struct PfsTypeParts
{
	PfsText name;
	PfsText sample_type;
	PfsText sample_unit;
	PfsText period_type;
	PfsText period_unit;
	bool delta;
} PfsTypeParts;

/* Longest part of a profile type, in bytes, and the room for a result with its terminating zero. */
#define PFS_TYPE_PART_MAX	 255
#define PFS_PROFILE_TYPE_MAX (5 * (PFS_TYPE_PART_MAX + 1) + sizeof("delta"))

/*
 * Writes "name:sample_type:sample_unit:period_type:period_unit[:delta]". Parts are cut at
 * PFS_TYPE_PART_MAX bytes, illegal characters become "_", and missing mandatory parts "unknown".
 */
void pfs_profile_type_name(const PfsTypeParts *parts, char result[PFS_PROFILE_TYPE_MAX]);

/*
 * Returns the dictionary partition for stacks of a program without a build ID: the service,
 * otherwise "import".
 */
PfsText pfs_labels_partition(const PfsLabels *labels);

#endif
