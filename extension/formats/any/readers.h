/*
 * readers.h
 *		Finds the reader of a format that is recognizable by its first bytes. Includes no server
 *		header.
 */
#ifndef PFS_READERS_H
#define PFS_READERS_H

#include "formats/legacy/legacy.h"

/*
 * Returns the reader of a format; NULL if the first bytes do not show it. pprof's format has no
 * characteristic first bytes, and the two line formats have readers that users request by name.
 */
PfsReadFn pfs_reader_of(const uint8_t *bytes, size_t length);

#endif
