/*
 * store_profile.h
 *		A profile in memory to series, dictionary and samples.
 */
#ifndef PFS_STORE_PROFILE_H
#define PFS_STORE_PROFILE_H

#include "profstore.h"

#include "datatype/timestamp.h"
#include "formats/profile.h"
#include "utils/array.h"
#include "utils/jsonb.h"

typedef struct PfsImport
{
	const PfsProfile *profile;
	const char *bytes; /* that the profile's texts point into: offsets in errors count from here */
	int encoding;	   /* of its texts */
	const char *default_name; /* of the profile type where the labels do not name it */
	Jsonb *labels;			  /* of all series; __name__ is the name of the profile type */
	TimestampTz time;		  /* of the profile */
	bool delta;				  /* values add up over time */
	ArrayType
		*sample_labels; /* text[]: keys of sample labels that become labels of series; NULL: all */
} PfsImport;

/*
 * A text of the profile in the server's encoding, terminated, in CurrentMemoryContext. In place of bytes that are no UTF-8, and of zero
 * bytes, it has U+FFFD, or "?" where the server's encoding is another one. Raises CHARACTER_NOT_IN_REPERTOIRE, with the place in the file, for
 * characters that the server's encoding lacks.
 */
char *pfs_import_text(const PfsImport *import, PfsText text);

/*
 * Stores all of it as the caller, in the caller's transaction, and returns the number of rows in samples. Samples of equal stack,
 * labels and time add up, as far as sums fit int8: beyond it they stay several rows. Values of 0 are left out, but a series without
 * another row gets one of stack 0. Raises what interning raises, CHARACTER_NOT_IN_REPERTOIRE for characters that the server's encoding
 * lacks, DATETIME_VALUE_OUT_OF_RANGE for times that no sample can have, and PROGRAM_LIMIT_EXCEEDED for samples of more than 366 days.
 */
int64 pfs_profile_store(const PfsImport *import);

#endif
