/*
 * cfi_sections.h
 *		Reads the CFI sections of an ELF file into memory for the compiler.
 */
#ifndef COLLECTOR_CFI_SECTIONS_H
#define COLLECTOR_CFI_SECTIONS_H

#include "base/memory_share.h"
#include "files/elf_headers.h"
#include "unwind/cfi/cfi_input.h"

/*
 * Limits of sizes. The largest programs have some 25 MB of CFI, or 60 MB of Go's table; a sparse or
 * compressed file may claim any size and number of sections.
 */
#define CFI_SECTION_MAX_BYTES  (UINT64_C(64) << 20)
#define CFI_SECTIONS_MAX_BYTES (UINT64_C(96) << 20) /* limit of all sections of one file */
/* limit of the bytes of relocations that are read to find one word */
#define CFI_RELOCATIONS_MAX	   (UINT64_C(1) << 21)

#define CFI_SECTIONS 14

typedef struct CfiSections
{
	CfiInput input; /* points into buffers */
	uint8_t *buffers[CFI_SECTIONS];
	uint64_t bytes; /* number of bytes read, including decompressed ones */
	/* Pool to which the buffers are charged; NULL: to none. */
	MemoryPool *pool;
	char build_id[ELF_BUILD_ID_TEXT_BYTES]; /* hexadecimal; "" if there is none */
} CfiSections;

/*
 * Reads the sections of a 64-bit ELF file from a descriptor, which the caller keeps. The file is
 * read and never mapped, because a truncation would raise SIGBUS. A section beyond the limits
 * counts as absent; of several with one name the first is taken. Returns 0 or -ENOEXEC.
 */
int cfi_sections_init(CfiSections *sections, int fd);

/*
 * Like cfi_sections_init(), but charges the buffers to a pool that several readers share. Returns
 * -EAGAIN if other readers use up the pool; a section larger than the whole pool counts as absent.
 */
int cfi_sections_init_within(CfiSections *sections, int fd, MemoryPool *pool);

void cfi_sections_fini(CfiSections *sections);

#endif
