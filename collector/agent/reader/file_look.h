/*
 * file_look.h
 *		Reads the parts of a file that unwinding needs, with a deadline, because the file may be on
 *		a network or user-space file system.
 *
 * If a slow disk exceeds the deadline, the reading continues in the background, so that the next
 * attempt finds the pages in the page cache.
 */
#ifndef COLLECTOR_FILE_LOOK_H
#define COLLECTOR_FILE_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/mapped_file.h"
#include "process/patience.h"
#include "runtimes/runtime_kind.h"
#include "symbols/elf/elf_file.h"
#include "thread_labels.h"
#include "unwind/cfi/cfi_sections.h"

/* Facts from a file's headers. All are 0 if the file is not a program. */
typedef struct FileFacts
{
	ElfRange *segments; /* executable segments; owned */
	uint32_t segment_count;
	struct pfs_label_place labels; /* set if find_labels was true */
	RuntimeFile *runtime;		   /* owned; NULL: the file holds no interpreter */
} FileFacts;

/*
 * Limits the memory of all CFI readings together, including readings that no longer answer.
 * Sections of a file that exceed the limit are left out. Call this before the first look.
 */
void file_look_limit(size_t cfi_bytes);

/* Returns 0, -EAGAIN if the file does not answer, or -ENOMEM. */
int file_look(Patience *patience, MappedFileTable *files, MappedFile *file, bool find_labels,
			  FileFacts *facts);
void file_facts_fini(FileFacts *facts);

/*
 * Reads the CFI of a file. Returns -ENOEXEC if the file is not a program; otherwise like
 * file_look(). The caller calls cfi_sections_fini(). *spent_ns is the CPU time of the reading
 * thread, 0 if the file does not answer.
 */
int file_look_at_cfi(Patience *patience, MappedFileTable *files, MappedFile *file,
					 CfiSections *sections, uint64_t *spent_ns);

#endif
