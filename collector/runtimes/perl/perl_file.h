/*
 * perl_file.h
 *		Recognizes files that contain Perl: the version, and the addresses of its state and its
 *		loop.
 *
 * Perl is a program of its own, or a library. Either exports the loop and the version. Perl that is
 * built for threads exports the key of threads' interpreters, other Perl the variables of its only
 * interpreter.
 */
#ifndef COLLECTOR_PERL_FILE_H
#define COLLECTOR_PERL_FILE_H

#include <stdbool.h>

#include "files/elf_headers.h"
#include "runtime_types.h"
#include "runtimes/common/loop_code.h"

#define PERL_VERSION_FIRST 28 /* N of 5.N */
#define PERL_VERSION_LAST  42

#define PERL_LOOPS 3

/* Facts from a file. Addresses are ELF virtual addresses. */
typedef struct PerlFile
{
	uint32_t version; /* N of 5.N; 0: unknown */
	uint64_t key;	  /* address of the number of the key; 0 in Perl without threads */
	LoopCode
		loops[PERL_LOOPS]; /* loops of subroutines, and of evals, which may call the loop again */
	struct pfs_perl_layout layout; /* of Perl without threads: with addresses */
} PerlFile;

/* Returns false if the file does not contain Perl. */
bool perl_file_read(const ElfSource *source, PerlFile *file);

/* Sets the layout of a version. Returns false if it is unknown. */
bool perl_layout_of(uint32_t version, struct pfs_perl_layout *layout);

#endif
