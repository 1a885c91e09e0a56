/*
 * json_read.h
 *		Profiles in JSON: speedscope's, .cpuprofile of V8, Chrome's trace events. Knows no server
 *		header.
 */
#ifndef PFS_JSON_READ_H
#define PFS_JSON_READ_H

#include "formats/profile.h"

/*
 * As pfs_pprof_read, of a file for which pfs_is_json is true. The error names formats that are
 * known and not read. Samples of one stack share their frames.
 */
PfsReadStatus pfs_json_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							PfsReadError *error);

#endif
