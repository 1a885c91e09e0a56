/*
 * readers.h
 *		The reader of a file whose format is known by its beginning. Knows no server header.
 */
#ifndef PFS_READERS_H
#define PFS_READERS_H

#include "formats/legacy/legacy.h"

/*
 * NULL for what is of none of these formats: pprof's own has no beginning of its own, and the two
 * of lines have readers that are asked for by name.
 */
PfsReadFn pfs_reader_of(const uint8_t *bytes, size_t length);

#endif
