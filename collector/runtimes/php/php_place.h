/*
 * php_place.h
 *		Finds the state of a thread in PHP that is built for several threads (ZTS).
 *
 * Such a build has a block of globals for each thread. A thread-local variable leads to the block,
 * and an exported number is the offset of the executor's globals in the block.
 */
#ifndef COLLECTOR_PHP_PLACE_H
#define COLLECTOR_PHP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime_types.h"
#include "unwind/remote_memory.h"

/*
 * Searches below the thread pointer for the variable of a thread that executes PHP. distance:
 * address of the exported number. state_current: offset of the word with the innermost frame in the
 * executor's globals. Returns false if no variable fits; otherwise sets current in the
 * layout, and the offset of the variable from the thread pointer.
 */
bool php_place_find(RemoteMemory *memory, uint64_t distance, uint64_t state_current,
					uint64_t thread_pointer, struct pfs_php_layout *layout, int32_t *offset);

#endif
