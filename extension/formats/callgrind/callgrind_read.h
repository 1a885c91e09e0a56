/*
 * callgrind_read.h
 *		What Valgrind's Callgrind and Cachegrind, and Xdebug, write. Knows no server header.
 */
#ifndef PFS_CALLGRIND_READ_H
#define PFS_CALLGRIND_READ_H

#include "formats/profile.h"

bool pfs_is_callgrind(const uint8_t *bytes, size_t length);

/*
 * As pfs_pprof_read. The format has costs of functions and calls, and no stacks: those of the
 * profile are made of them (call_graph.h). Samples of one stack share their frames.
 */
PfsReadStatus pfs_callgrind_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
								 PfsReadError *error);

#endif
