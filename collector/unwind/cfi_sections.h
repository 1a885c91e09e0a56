/*
 * cfi_sections.h
 *		The CFI sections of an ELF file, read into memory for the compiler.
 */
#ifndef COLLECTOR_CFI_SECTIONS_H
#define COLLECTOR_CFI_SECTIONS_H

#include "base/memory_share.h"
#include "files/elf_headers.h"
#include "unwind/cfi_input.h"

/*
 * The largest programs have some 25 MB of CFI, of Go's table 60; a sparse or compressed file may
 * claim any size, and as many sections of it as it likes.
 */
#define CFI_SECTION_MAX_BYTES  (UINT64_C(64) << 20)
#define CFI_SECTIONS_MAX_BYTES (UINT64_C(96) << 20) /* of one file */
#define CFI_RELOCATIONS_MAX	   (UINT64_C(1) << 21)	/* looked through for one word */

#define CFI_SECTIONS	   14
#define CFI_BUILD_ID_BYTES (2 * ELF_BUILD_ID_MAX_BYTES + 1)

typedef struct CfiSections
{
	CfiInput input; /* points into the buffers */
	uint8_t *buffers[CFI_SECTIONS];
	uint64_t bytes;					   /* read, and uncompressed */
	MemoryPool *pool;				   /* they are charged to it; NULL: to none */
	char build_id[CFI_BUILD_ID_BYTES]; /* hexadecimal; "" where there is none */
} CfiSections;

/*
 * Reads the sections of a 64-bit ELF file from a descriptor, which stays the caller's. They are
 * read, never mapped: a file cut short under us must not raise SIGBUS. A section beyond the limits
 * counts as absent, and of several with one name the first is taken. 0 or -ENOEXEC.
 */
int cfi_sections_init(CfiSections *sections, int fd);

/*
 * Like cfi_sections_init(), but charges the buffers to a pool of several readers. -EAGAIN if others
 * hold what the pool has; a section that the whole pool could not hold counts as absent.
 */
int cfi_sections_init_within(CfiSections *sections, int fd, MemoryPool *pool);

void cfi_sections_fini(CfiSections *sections);

#endif
