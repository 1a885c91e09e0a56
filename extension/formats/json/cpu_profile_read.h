/*
 * cpu_profile_read.h
 *		Reads .cpuprofile files of node --cpu-prof and Chrome. Knows no server header.
 */
#ifndef PFS_CPU_PROFILE_READ_H
#define PFS_CPU_PROFILE_READ_H

#include "formats/json/json.h"

/* Reads the next object. */
PfsReadStatus pfs_cpu_profile_read(PfsJson *json);

#endif
