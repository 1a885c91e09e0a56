/*
 * trace_read.h
 *		Trace events, as Chrome and many tracers write them. Knows no server header.
 */
#ifndef PFS_TRACE_READ_H
#define PFS_TRACE_READ_H

#include "formats/json/json.h"

/* Reads the array that is next. */
PfsReadStatus pfs_trace_read(PfsJson *json);

#endif
