/*
 * jfr_bytes.h
 *		Numbers and texts of Java's flight recordings. Knows no server header.
 *
 * Integers are little-endian base 128, of at most nine bytes, of which the ninth has eight bits.
 * Every step is counted: records may refer to each other in circles, lie over each other, or say
 * much in no byte.
 */
#ifndef PFS_JFR_BYTES_H
#define PFS_JFR_BYTES_H

#include "formats/profile.h"

typedef struct PfsJfrBytes
{
	const uint8_t *bytes;
	size_t length;
	size_t at;
	size_t steps_left;
	PfsProfile *profile;
	PfsReadError *error;
} PfsJfrBytes;

/* Sets the error at the place that was reached. */
PfsReadStatus pfs_jfr_fail(const PfsJfrBytes *in, const char *message);
PfsReadStatus pfs_jfr_refused(const PfsJfrBytes *in); /* of memory */

/* Counts a step; PFS_READ_TOO_LARGE where a file takes too many. */
PfsReadStatus pfs_jfr_step(PfsJfrBytes *in);

/* Numbers and texts are steps; long texts are several. */
PfsReadStatus pfs_jfr_number(PfsJfrBytes *in, uint64_t *number);
PfsReadStatus pfs_jfr_skip(PfsJfrBytes *in, uint64_t count);

/* A text that is written in place, or *reference to one of a pool; both absent for null. */
typedef struct PfsJfrText
{
	PfsText text;
	bool is_reference;
	uint64_t reference;
} PfsJfrText;

/* The text is clean. */
PfsReadStatus pfs_jfr_text(PfsJfrBytes *in, PfsJfrText *text);
PfsReadStatus pfs_jfr_skip_text(PfsJfrBytes *in);

#endif
