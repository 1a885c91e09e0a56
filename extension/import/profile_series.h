/*
 * profile_series.h
 *		The series of a profile: one for each label set of its samples and each sample type.
 */
#ifndef PFS_PROFILE_SERIES_H
#define PFS_PROFILE_SERIES_H

#include "profstore.h"

#include "import/import_request.h"

/* Ids of the series. That of sample type t and label set s is at position s * type_count + t. */
typedef struct PfsProfileSeries
{
	uint32 count; /* at least one for each sample type */
	const int32 *ids;
	PfsProfileSets sets;
} PfsProfileSeries;

/*
 * Finds or interns the series. SPI is connected, and pfs_known_ids_begin() was called. The arrays
 * live until SPI_finish(). Raises the errors of interning, and INVALID_PARAMETER_VALUE for two
 * sample types with one name.
 */
PfsProfileSeries pfs_profile_series(const PfsImport *import);

#endif
