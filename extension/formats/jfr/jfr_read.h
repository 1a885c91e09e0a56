/*
 * jfr_read.h
 *		Java's flight recordings: those of the JDK and of async-profiler. Knows no server header.
 *
 * Read are samples of execution, of allocations, and waits for monitors and in parks. Each is a
 * sample at its own time; a profile has the types whose events are in the file.
 */
#ifndef PFS_JFR_READ_H
#define PFS_JFR_READ_H

#include "formats/profile.h"

bool pfs_is_jfr(const uint8_t *bytes, size_t length);

/* As pfs_pprof_read. Samples of one stack share their frames. */
PfsReadStatus pfs_jfr_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
						   PfsReadError *error);

#endif
