/*
 * jfr_read.h
 *		Java's flight recordings: those of the JDK and of async-profiler. Includes no server header.
 *
 * The reader takes samples of execution and of allocations, and waits for monitors and in parks.
 * Each becomes a sample with its own time; a profile has the types of the events in the file.
 */
#ifndef PFS_JFR_READ_H
#define PFS_JFR_READ_H

#include "formats/profile.h"

/*
 * Numeric labels of samples in profiles that are pushed, with the fields that a fork of
 * async-profiler adds to events. They are absent if they are 0.
 */
#define PFS_JFR_CONTEXT_ID \
	"contextId" /* a set of labels, which the agent sends beside the recording */
#define PFS_JFR_SPAN_ID	   "spanId"
#define PFS_JFR_SPAN_NAME  "spanName"  /* a text beside the recording */
#define PFS_JFR_TRACE_HIGH "traceIdHi" /* halves of a trace's id */
#define PFS_JFR_TRACE_LOW  "traceIdLo"

bool pfs_is_jfr(const uint8_t *bytes, size_t length);

/* Like pfs_pprof_read(). Samples of one stack share their frames. */
PfsReadStatus pfs_jfr_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
						   PfsReadError *error);

#endif
