/*
 * callgrind_read.h
 *		Reads files of Valgrind's Callgrind and Cachegrind, and of Xdebug. Includes no server
 *		header.
 */
#ifndef PFS_CALLGRIND_READ_H
#define PFS_CALLGRIND_READ_H

#include "formats/profile.h"

bool pfs_is_callgrind(const uint8_t *bytes, size_t length);

/*
 * Like pfs_pprof_read(). The format has costs of functions and calls but no stacks, so stacks are
 * built from these (call_graph.h). Samples of one stack share their frames.
 */
PfsReadStatus pfs_callgrind_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
								 PfsReadError *error);

#endif
