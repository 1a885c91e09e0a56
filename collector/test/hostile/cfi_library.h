/*
 * cfi_library.h
 *		Libraries whose CFI is larger than any compiler's: functions of 16 bytes with eight rows
 *		each.
 */
#ifndef COLLECTOR_TEST_CFI_LIBRARY_H
#define COLLECTOR_TEST_CFI_LIBRARY_H

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY_TEXT_AT		   0x1000
#define LIBRARY_FUNCTIONS_AT   (LIBRARY_TEXT_AT + 64)
#define LIBRARY_FUNCTION_BYTES 16
#define LIBRARY_ROWS		   7 /* number of rows after the first */

/* Counts its argument down. */
static const uint8_t library_code[] = {
#ifdef __x86_64__
	0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp,%rbp */
	0x48, 0xff, 0xcf,		/* 1: dec %rdi */
	0x75, 0xfb,				/* jnz 1b */
	0x5d, 0xc3,				/* pop %rbp; ret */
#else
	0x00, 0x04, 0x00, 0xf1, /* 1: subs x0, x0, #1 */
	0xe1, 0xff, 0xff, 0x54, /* b.ne 1b */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

/* CFA = stack pointer + 8, return address at CFA - 8. */
static const uint8_t library_cie[] = { 0x14, 0,	   0,  0,	 0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0,
									   1,	 0x78, 16, 0x0c, 7,	   8,	 0x90, 1,	 0, 0, 0, 0 };

typedef struct LibraryFde
{
	uint32_t length;
	uint32_t cie;
	uint64_t start;
	uint64_t bytes;
	uint8_t instructions[LIBRARY_ROWS][3];
	uint8_t padding[3];
} LibraryFde;

static inline void
library_put(int fd, const void *bytes, size_t length, uint64_t *at)
{
	if (pwrite(fd, bytes, length, (off_t) *at) != (ssize_t) length)
	{
		perror("write");
		exit(1);
	}
	*at += length;
}

/* Writes the rules of the functions; those of the function with the number "other" differ. */
static inline void
library_put_frames(int fd, uint32_t functions, uint32_t other, uint64_t *at)
{
	LibraryFde *fdes = calloc(functions, sizeof(*fdes));

	for (uint32_t i = 0; fdes != NULL && i < functions; i++)
	{
		fdes[i] =
			(LibraryFde){ .length = sizeof(LibraryFde) - 4,
						  .start = LIBRARY_FUNCTIONS_AT + (uint64_t) i * LIBRARY_FUNCTION_BYTES,
						  .bytes = LIBRARY_FUNCTION_BYTES };
		for (uint8_t row = 0; row < LIBRARY_ROWS; row++)
		{
			/* DW_CFA_advance_loc 2; DW_CFA_def_cfa_offset */
			fdes[i].instructions[row][0] = 0x42;
			fdes[i].instructions[row][1] = 0x0e;
			fdes[i].instructions[row][2] = (uint8_t) (16 + 8 * ((row + (i == other)) % 2));
		}
	}
	if (fdes == NULL)
		exit(1);
	library_put(fd, library_cie, sizeof(library_cie), at);
	library_put(fd, fdes, functions * sizeof(*fdes), at);
	free(fdes);
}

static inline size_t
library_text_bytes(uint32_t functions)
{
	return LIBRARY_FUNCTIONS_AT - LIBRARY_TEXT_AT + (size_t) functions * LIBRARY_FUNCTION_BYTES;
}

/* Writes a library to a file and maps its code. Those with different "other" have different CFI. */
static inline void (*library_make(const char *path, uint32_t functions, uint32_t other))(long)
{
	static const char names[] = "\0.debug_frame\0.shstrtab";
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
#ifdef __x86_64__
		.e_machine = EM_X86_64,
#else
		.e_machine = EM_AARCH64,
#endif
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	size_t text_bytes = library_text_bytes(functions);
	Elf64_Phdr segment = { PT_LOAD,			PF_R | PF_X, LIBRARY_TEXT_AT, LIBRARY_TEXT_AT,
						   LIBRARY_TEXT_AT, text_bytes,	 text_bytes,	  0x1000 };
	Elf64_Shdr sections[3] = { { 0 } };
	uint64_t at = LIBRARY_TEXT_AT + text_bytes;
	void *text;
	int fd;

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	sections[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at };
	library_put_frames(fd, functions, other, &at);
	sections[1].sh_size = at - sections[1].sh_offset;
	sections[2] = (Elf64_Shdr){
		.sh_name = 14, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(names)
	};
	library_put(fd, names, sizeof(names), &at);
	at = (at + 7) & ~UINT64_C(7);
	header.e_shoff = at;
	library_put(fd, sections, sizeof(sections), &at);
	at = 0;
	library_put(fd, &header, sizeof(header), &at);
	library_put(fd, &segment, sizeof(segment), &at);
	at = LIBRARY_TEXT_AT;
	library_put(fd, library_code, sizeof(library_code), &at);
	text = mmap(NULL, text_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, LIBRARY_TEXT_AT);
	if (text == MAP_FAILED)
	{
		perror("mmap");
		exit(1);
	}
	close(fd);
	return (void (*)(long)) text;
}

/* Runs a library's code for a while. */
static inline void
library_run(void (*library)(long), long ns)
{
	struct timespec now;
	struct timespec begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
	{
		library(1000000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * INT64_C(1000000000) + now.tv_nsec - begin.tv_nsec < ns);
}

#endif
