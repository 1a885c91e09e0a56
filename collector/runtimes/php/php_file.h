/*
 * php_file.h
 *		Recognizes files that contain PHP: the version, and the addresses of its state and its loop.
 *
 * PHP is a program of its own, a module of Apache, or a library. Each exports the loop to PHP's
 * extensions, and the state or its place among a thread's globals (ZTS). Offsets come from the
 * version's headers; php_frames_fit() checks whether a process has them.
 */
#ifndef COLLECTOR_PHP_FILE_H
#define COLLECTOR_PHP_FILE_H

#include <stdbool.h>

#include "files/elf_headers.h"
#include "runtime_types.h"
#include "runtimes/common/loop_code.h"

/* Facts from a file. Addresses are ELF virtual addresses. */
typedef struct PhpFile
{
	uint32_t version; /* 802 is 8.2; 0: not known */
	uint64_t state;	  /* address of the executor's globals; 0 if each thread has its own */
	/* address of the number that leads to a thread's state (php_place.h); otherwise 0 */
	uint64_t distance;
	LoopCode loop;
	struct pfs_php_layout layout; /* as php_layout_of() sets it */
} PhpFile;

/* Returns false if the file does not contain PHP. */
bool php_file_read(const ElfSource *source, PhpFile *file);

/*
 * Sets the offsets of a version; current is the offset of the word with the innermost frame in the
 * executor's globals. Returns false if the version is unknown.
 */
bool php_layout_of(uint32_t version, struct pfs_php_layout *layout);

#endif
