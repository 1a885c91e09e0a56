/*
 * php_code.h
 *		Reads PHP's functions from the memory of the process that executes them.
 */
#ifndef COLLECTOR_PHP_CODE_H
#define COLLECTOR_PHP_CODE_H

#include <stdbool.h>

#include "runtimes/common/runtime_code.h"
#include "runtimes/php/php_file.h"
#include "unwind/remote_memory.h"

/*
 * Reads at most RUNTIME_CODES_MAX functions. Checks of keys have PFS_PHP_NESTED. Functions that
 * have changed since the sample, or are unreadable, have no name.
 */
void php_codes_read(RemoteMemory *memory, const struct pfs_php_layout *layout, CodeWanted *wanted,
					size_t count);

/*
 * Returns whether the word at layout->current leads to frames, one of which executes a function of
 * a script that fits the layout.
 */
bool php_frames_fit(RemoteMemory *memory, const struct pfs_php_layout *layout);

#endif
