/*
 * speedscope_read.h
 *		Reads files of speedscope. Includes no server header.
 */
#ifndef PFS_SPEEDSCOPE_READ_H
#define PFS_SPEEDSCOPE_READ_H

#include "formats/json/json.h"

/* Reads the next object. */
PfsReadStatus pfs_speedscope_read(PfsJson *json);

#endif
