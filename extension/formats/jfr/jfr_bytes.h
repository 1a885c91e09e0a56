/*
 * jfr_bytes.h
 *		Reads numbers and texts of Java's flight recordings. Includes no server header.
 *
 * Integers are little-endian base 128, of at most nine bytes, of which the ninth has eight bits.
 * Every step is counted, because records may refer to each other in circles, overlap, or expand to
 * much more than their bytes.
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

/* Sets the error at the current position. */
PfsReadStatus pfs_jfr_fail(const PfsJfrBytes *in, const char *message);
PfsReadStatus pfs_jfr_refused(const PfsJfrBytes *in); /* status of the budget */

/* Counts a step. Returns PFS_READ_TOO_LARGE if a file needs too many. */
PfsReadStatus pfs_jfr_step(PfsJfrBytes *in);

/* Read a number or a text. Each counts as a step, a long text as several. */
PfsReadStatus pfs_jfr_number(PfsJfrBytes *in, uint64_t *number);
PfsReadStatus pfs_jfr_skip(PfsJfrBytes *in, uint64_t count);

/* A text, or the key of a text in a pool (*reference). A null has neither. */
typedef struct PfsJfrText
{
	PfsText text;
	bool is_reference;
	uint64_t reference;
} PfsJfrText;

/* Reads a text, which becomes clean. */
PfsReadStatus pfs_jfr_text(PfsJfrBytes *in, PfsJfrText *text);
PfsReadStatus pfs_jfr_skip_text(PfsJfrBytes *in);

#endif
