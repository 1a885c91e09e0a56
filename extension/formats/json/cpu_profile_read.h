/*
 * cpu_profile_read.h
 *		.cpuprofile, as node --cpu-prof and Chrome write it. Knows no server header.
 */
#ifndef PFS_CPU_PROFILE_READ_H
#define PFS_CPU_PROFILE_READ_H

#include "formats/json/json.h"

/* Reads the object that is next. */
PfsReadStatus pfs_cpu_profile_read(PfsJson *json);

#endif
