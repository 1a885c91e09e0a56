/*
 * format.h
 *		What a file is, by its content. Knows no server header.
 */
#ifndef PFS_FORMAT_H
#define PFS_FORMAT_H

#include "formats/profile.h"

/* By the reader: the two formats of lines have their own, pfs_profile_read has all others. */
typedef enum PfsFormat
{
	PFS_FORMAT_PROFILE,
	PFS_FORMAT_FOLDED,
	PFS_FORMAT_PERF_SCRIPT
} PfsFormat;

/*
 * The reader that a file is for. What nothing is known of is for pfs_profile_read, which says so.
 */
PfsFormat pfs_format_of(const uint8_t *bytes, size_t length);

/*
 * Where a file that a reader has refused is of a format that is known and not read, or of one that
 * has another reader, sets what it is as the error. Leaves the error of others as it is.
 */
void pfs_format_explain(const uint8_t *bytes, size_t length, PfsFormat reader, PfsReadError *error);

#endif
