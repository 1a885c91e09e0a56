/*
 * import_request.h
 *		A profile in memory, and what its caller says of it.
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
	PfsBytes bytes;			  /* that texts point into: offsets in errors count from here */
	PfsMaking *making;		  /* memory for what the profile becomes */
	int encoding;			  /* of its texts */
	const char *default_name; /* of the profile type where the labels do not name it */
	Jsonb *labels;			  /* of all series; __name__ is the name of the profile type */
	TimestampTz time;		  /* of the profile */
	bool delta;				  /* values add up over time */
	ArrayType *sample_labels; /* text[]: keys that become labels of series; NULL: all */
} PfsImport;

#endif
