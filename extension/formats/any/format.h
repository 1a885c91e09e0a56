/*
 * format.h
 *		Determines the format of a file from its content. Includes no server header.
 */
#ifndef PFS_FORMAT_H
#define PFS_FORMAT_H

#include "formats/profile.h"

/* Formats by their reader: pfs_profile_read() reads all but the two line formats. */
typedef enum PfsFormat
{
	PFS_FORMAT_PROFILE,
	PFS_FORMAT_FOLDED,
	PFS_FORMAT_PERF_SCRIPT
} PfsFormat;

/*
 * Returns the format that a file must be read with. An unknown file is given to pfs_profile_read(),
 * which reports it.
 */
PfsFormat pfs_format_of(const uint8_t *bytes, size_t length);

/*
 * Replaces the error for a file that a reader refused, if its format is known but not supported or
 * belongs to another reader. Leaves other errors unchanged.
 */
void pfs_format_explain(const uint8_t *bytes, size_t length, PfsFormat reader, PfsReadError *error);

#endif
