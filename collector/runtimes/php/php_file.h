/*
 * php_file.h
 *		Whether a file holds PHP, which version, and the places of its state and its loop.
 *
 * PHP is a program of its own, a module of Apache, or a library. Each exports the state and the
 * loop to PHP's extensions. The version's offsets are those of its headers. php_frames_fit()
 * decides whether a process has them.
 */
#ifndef COLLECTOR_PHP_FILE_H
#define COLLECTOR_PHP_FILE_H

#include <stdbool.h>

#include "files/elf_headers.h"
#include "runtime_types.h"
#include "runtimes/common/loop_code.h"

/* What was read of a file. Addresses are ELF virtual addresses. */
typedef struct PhpFile
{
	uint32_t version; /* 802 is 8.2; 0: not known, or PHP for several threads */
	uint64_t current; /* of the word that has the innermost frame */
	LoopCode loop;
	struct pfs_php_layout layout; /* offsets; the process's addresses are not filled in */
} PhpFile;

/* Returns false if the file does not hold PHP. */
bool php_file_read(const ElfSource *source, PhpFile *file);

/* Sets the offsets of a version. Returns false if they are not known. */
bool php_layout_of(uint32_t version, struct pfs_php_layout *layout);

#endif
