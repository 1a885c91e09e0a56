/*
 * json_read.h
 *		Reads profiles in JSON: speedscope's, V8's .cpuprofile, Chrome's trace events. Includes no
 *		server header.
 */
#ifndef PFS_JSON_READ_H
#define PFS_JSON_READ_H

#include "formats/profile.h"

/*
 * Like pfs_pprof_read(), for a file for which pfs_is_json() is true. For a known format that is not
 * supported the error names it. Samples of one stack share their frames.
 */
PfsReadStatus pfs_json_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							PfsReadError *error);

#endif
