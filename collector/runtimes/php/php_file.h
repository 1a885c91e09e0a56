/*
 * php_file.h
 *		Whether a file holds PHP, which version, and the places of its state and its loop.
 *
 * PHP is a program of its own, a module of Apache, or a library. Each exports the loop to PHP's
 * extensions, and the state or its place among a thread's globals (ZTS). The version's offsets are
 * those of its headers. php_frames_fit() decides whether a process has them.
 */
#ifndef COLLECTOR_PHP_FILE_H
#define COLLECTOR_PHP_FILE_H

#include <stdbool.h>

#include "files/elf_headers.h"
#include "runtime_types.h"
#include "runtimes/common/loop_code.h"

#define PHP_STATE_CURRENT 488 /* in the state: the innermost frame (current_execute_data) */

/* Facts from a file. Addresses are ELF virtual addresses. */
typedef struct PhpFile
{
	uint32_t version; /* 802 is 8.2; 0: not known */
	uint64_t current; /* of the word that has the innermost frame; 0 if threads have a state each */
	uint64_t distance; /* of the number that leads to a thread's state (php_place.h); otherwise 0 */
	LoopCode loop;
	struct pfs_php_layout layout; /* offsets; the process's addresses are not filled in */
} PhpFile;

/* Returns false if the file does not hold PHP. */
bool php_file_read(const ElfSource *source, PhpFile *file);

/* Sets the offsets of a version. Returns false if they are not known. */
bool php_layout_of(uint32_t version, struct pfs_php_layout *layout);

#endif
