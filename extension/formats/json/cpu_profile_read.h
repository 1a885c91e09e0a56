/*
 * cpu_profile_read.h
 *		Reads .cpuprofile files of node --cpu-prof and Chrome. Includes no server header.
 */
#ifndef PFS_CPU_PROFILE_READ_H
#define PFS_CPU_PROFILE_READ_H

#include "formats/json/json.h"

/* Reads a .cpuprofile, which is the next object of the JSON. */
PfsReadStatus pfs_cpu_profile_read(PfsJson *json);

#endif
