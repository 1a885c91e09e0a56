/*
 * file_look.h
 *		What unwinding needs of a file, read with a deadline: it may be one of a network or
 *		user-space file system.
 *
 * A disk is given its time; what it has read by then is there sooner the next time.
 */
#ifndef COLLECTOR_FILE_LOOK_H
#define COLLECTOR_FILE_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/mapped_file.h"
#include "process/patience.h"
#include "runtimes/runtime_kind.h"
#include "symbols/elf_file.h"
#include "thread_labels.h"
#include "unwind/cfi_sections.h"

/* What a file says of itself. All 0 where it is no program. */
typedef struct FileFacts
{
	ElfRange *segments; /* executable ones; owned */
	uint32_t segment_count;
	struct pfs_label_place labels; /* where they were asked for */
	RuntimeFile *runtime;		   /* owned; NULL: the file holds no interpreter */
} FileFacts;

/*
 * Sets the limit of what all readings of CFI hold at a time, including those that no longer answer.
 * A file that needs more than this has none of the sections beyond it. Call before the first look.
 */
void file_look_limit(size_t cfi_bytes);

/* 0; -EAGAIN: the file does not answer; -ENOMEM. */
int file_look(Patience *patience, MappedFileTable *files, MappedFile *file, bool find_labels,
			  FileFacts *facts);
void file_facts_fini(FileFacts *facts);

/*
 * Reads the CFI of a file; results as of file_look(), or -ENOEXEC. The caller calls
 * cfi_sections_fini(). *spent_ns is the CPU time that another thread used, 0 if the file does not
 * answer.
 */
int file_look_at_cfi(Patience *patience, MappedFileTable *files, MappedFile *file,
					 CfiSections *sections, uint64_t *spent_ns);

#endif
