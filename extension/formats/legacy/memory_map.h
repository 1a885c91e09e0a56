/*
 * memory_map.h
 *		Which file was where: /proc/PID/maps at the end of a profile. Knows no server header.
 *
 * Lines are those of /proc/PID/maps, or shorter: "40000-80000 /path (@ff00) build-id", where all
 * but the range may be absent. "name=value" is put in for "$name" in the files of what follows.
 * Prefixes of logs ("file.cc:12] ") go, and so do lines that are neither.
 */
#ifndef PFS_MEMORY_MAP_H
#define PFS_MEMORY_MAP_H

#include "formats/lines.h"

/* Goes to the line that says that a map follows, or to the end. */
void pfs_memory_map_find(PfsLineReader *lines);

/* Whether a line says so. */
bool pfs_is_memory_map(PfsText line);

/*
 * Reads all that is left as a map: code becomes mappings, the program's first, and locations get
 * theirs with the address in its file. PFS_READ_TOO_LARGE for too many variables, or without
 * memory.
 */
PfsReadStatus pfs_memory_map_read(PfsLineReader *lines, PfsProfile *profile);

#endif
