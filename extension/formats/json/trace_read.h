/*
 * trace_read.h
 *		Reads trace events of Chrome and many tracers. Includes no server header.
 */
#ifndef PFS_TRACE_READ_H
#define PFS_TRACE_READ_H

#include "formats/json/json.h"

/* Reads the next array. */
PfsReadStatus pfs_trace_read(PfsJson *json);

#endif
