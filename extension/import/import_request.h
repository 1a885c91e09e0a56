/*
 * import_request.h
 *		A profile in memory, and the arguments of its import.
 */
#ifndef PFS_IMPORT_REQUEST_H
#define PFS_IMPORT_REQUEST_H

#include "profstore.h"

#include "datatype/timestamp.h"
#include "utils/array.h"
#include "utils/jsonb.h"

#include "formats/series_names.h"

typedef struct PfsImport
{
	const PfsProfile *profile;
	PfsBytes bytes;	   /* texts point into these bytes, and offsets in errors refer to them */
	PfsMaking *making; /* memory for data derived from the profile */
	int encoding;	   /* encoding of its texts */
	const char *default_name; /* name of the profile type if the labels have no __name__ */
	Jsonb *labels;			  /* labels of all series; __name__ is the name of the profile type */
	TimestampTz time;		  /* time of the profile */
	bool delta;				  /* values are summed over time */
	/* text[] with the keys that become labels of series; NULL if all do */
	ArrayType *sample_labels;
} PfsImport;

#endif
