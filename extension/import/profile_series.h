/*
 * profile_series.h
 *		Series of a profile: one for each label set of its samples and sample type.
 */
#ifndef PFS_PROFILE_SERIES_H
#define PFS_PROFILE_SERIES_H

#include "profstore.h"

#include "import/import_request.h"

/* The series of type t and label set s is the one at s * type_count + t. */
typedef struct PfsProfileSeries
{
	uint32 count; /* at least one for each sample type */
	const int32 *ids;
	PfsProfileSets sets;
} PfsProfileSeries;

/*
 * SPI is connected, and known ids have begun; the arrays live until it is finished. Raises what
 * interning raises, and INVALID_PARAMETER_VALUE for two sample types of one name.
 */
PfsProfileSeries pfs_profile_series(const PfsImport *import);

#endif
