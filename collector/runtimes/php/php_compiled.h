/*
 * php_compiled.h
 *		Finds the memory of OPcache's compiled code.
 *
 * The code is in memory without a file of its own that PHP's processes share. OPcache allocates it
 * in huge pages if the system has free ones; the setting opcache.preferred_memory_model chooses
 * System V's or POSIX's shared memory instead. The kernel calls these mappings /dev/zero,
 * /anon_hugepage, /SYSV00000000 and /dev/shm/ZendAccelerator.NUMBER.
 */
#ifndef COLLECTOR_PHP_COMPILED_H
#define COLLECTOR_PHP_COMPILED_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/common/loop_code.h"
#include "unwind/remote_memory.h"

#define PHP_SHARED_MAX 64 /* limit, because the process may have any number of mappings */

/* Memory that OPcache may have allocated. Its parts may have different rights. */
typedef struct PhpShared
{
	uint64_t start;
	uint64_t end;
	uint64_t inode;
	LoopCode executable; /* its executable part; both 0: none */
} PhpShared;

/* Lists such memory of a process. Returns its number. Changes the text of the mappings. */
size_t php_shared_list(char *maps, PhpShared shared[PHP_SHARED_MAX]);

/*
 * Finds the memory of compiled code, which exists before the first script runs. It is executable,
 * but writable instead while the compiler adds a function: then its mapping does not differ from
 * the rest of OPcache's memory, and OPcache's description of that memory is read. Both members of
 * the result are 0 if there is no such memory.
 */
LoopCode php_compiled_find(RemoteMemory *memory);

#endif
