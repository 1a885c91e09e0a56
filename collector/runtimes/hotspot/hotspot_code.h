/*
 * hotspot_code.h
 *		Reads names of Java methods from the memory of the process that runs them.
 */
#ifndef COLLECTOR_HOTSPOT_CODE_H
#define COLLECTOR_HOTSPOT_CODE_H

#include <stddef.h>

#include "runtimes/common/runtime_code.h"
#include "runtimes/hotspot/hotspot_layout.h"
#include "unwind/remote_memory.h"

/*
 * Reads the functions of frames, RUNTIME_CODES_MAX at most. A key's check is the frame's further
 * word. heaps: the PFS_HOTSPOT_HEAPS heaps of code. Functions that have changed since the sample,
 * or are unreadable, have no name.
 */
void hotspot_codes_read(RemoteMemory *memory, const HotSpotLayout *layout,
						const struct pfs_hotspot_heap *heaps, CodeWanted *wanted, size_t count);

#endif
