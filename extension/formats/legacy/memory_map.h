/*
 * memory_map.h
 *		Mapped files of a process: /proc/PID/maps at the end of a profile. Includes no server
 *		header.
 *
 * Lines are those of /proc/PID/maps, or shorter: "40000-80000 /path (@ff00) build-id", in which all
 * but the range is optional. "name=value" defines the value for "$name" in the following files.
 * Prefixes of logs ("file.cc:12] ") are removed, and other lines skipped.
 */
#ifndef PFS_MEMORY_MAP_H
#define PFS_MEMORY_MAP_H

#include "formats/lines.h"

/* Skips to the line that announces a map, or to the end. */
void pfs_memory_map_find(PfsLineReader *lines);

/* Returns true for a line that announces a map. */
bool pfs_is_memory_map(PfsText line);

/*
 * Reads the rest as a map: ranges of code become mappings, the program's first, and locations get
 * their mapping and the address in its file. Returns PFS_READ_TOO_LARGE for too many variables, or
 * PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_memory_map_read(PfsLineReader *lines, PfsProfile *profile);

#endif
