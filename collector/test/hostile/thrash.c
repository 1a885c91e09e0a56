/*
 * thrash.c
 *		Runs code of libraries in turn whose CFI is larger than any compiler's.
 *
 * thrash DIRECTORY COUNT FUNCTIONS writes the libraries there. Each has so many functions of 16
 * bytes, with eight rows in .debug_frame, and differs from all others.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TEXT_AT		   0x1000
#define FUNCTION_BYTES 16
#define ROWS		   7 /* behind the first */
#define TURN_NS		   150000000L
#define LIBRARIES_MAX  64

/* Counts its argument down. */
static const uint8_t code[] = {
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
static const uint8_t cie[] = { 0x14, 0,	   0,  0,	 0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0,
							   1,	 0x78, 16, 0x0c, 7,	   8,	 0x90, 1,	 0, 0, 0, 0 };

typedef struct Fde
{
	uint32_t length;
	uint32_t cie;
	uint64_t start;
	uint64_t bytes;
	uint8_t instructions[ROWS][3];
	uint8_t padding[3];
} Fde;

static void
put(int fd, const void *bytes, size_t length, uint64_t *at)
{
	if (pwrite(fd, bytes, length, (off_t) *at) != (ssize_t) length)
	{
		perror("write");
		exit(1);
	}
	*at += length;
}

/* Rules of the functions; one of them has others than in all other libraries. */
static void
put_frames(int fd, uint32_t functions, uint32_t other, uint64_t *at)
{
	uint64_t text = TEXT_AT + 64;
	Fde *fdes = calloc(functions, sizeof(*fdes));

	for (uint32_t i = 0; fdes != NULL && i < functions; i++)
	{
		fdes[i] = (Fde){ sizeof(Fde) - 4, 0, text + (uint64_t) i * FUNCTION_BYTES, FUNCTION_BYTES };
		for (uint8_t row = 0; row < ROWS; row++)
		{
			/* DW_CFA_advance_loc 2; DW_CFA_def_cfa_offset */
			fdes[i].instructions[row][0] = 0x42;
			fdes[i].instructions[row][1] = 0x0e;
			fdes[i].instructions[row][2] = (uint8_t) (16 + 8 * ((row + (i == other)) % 2));
		}
	}
	if (fdes == NULL)
		exit(1);
	put(fd, cie, sizeof(cie), at);
	put(fd, fdes, functions * sizeof(*fdes), at);
	free(fdes);
}

/* Writes a library and maps its code. */
static void (*make_library(const char *directory, uint32_t number, uint32_t functions))(long)
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
	uint64_t text_bytes = 64 + (uint64_t) functions * FUNCTION_BYTES;
	Elf64_Phdr segment = { PT_LOAD, PF_R | PF_X, TEXT_AT,	 TEXT_AT,
						   TEXT_AT, text_bytes,	 text_bytes, 0x1000 };
	Elf64_Shdr sections[3] = { { 0 } };
	uint64_t at = TEXT_AT + text_bytes;
	char path[512];
	void *text;
	int fd;

	snprintf(path, sizeof(path), "%s/lib%u.so", directory, number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	sections[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at };
	put_frames(fd, functions, number, &at);
	sections[1].sh_size = at - sections[1].sh_offset;
	sections[2] = (Elf64_Shdr){
		.sh_name = 14, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(names)
	};
	put(fd, names, sizeof(names), &at);
	at = (at + 7) & ~UINT64_C(7);
	header.e_shoff = at;
	put(fd, sections, sizeof(sections), &at);
	at = 0;
	put(fd, &header, sizeof(header), &at);
	put(fd, &segment, sizeof(segment), &at);
	at = TEXT_AT;
	put(fd, code, sizeof(code), &at);
	text = mmap(NULL, text_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, TEXT_AT);
	if (text == MAP_FAILED)
	{
		perror("mmap");
		exit(1);
	}
	return (void (*)(long)) text;
}

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int
main(int argc, char **argv)
{
	uint32_t count = argc == 4 ? (uint32_t) atoi(argv[2]) : 0;
	void (*libraries[LIBRARIES_MAX])(long);

	if (count == 0 || count > LIBRARIES_MAX)
		return 2;
	for (uint32_t i = 0; i < count; i++)
		libraries[i] = make_library(argv[1], i, (uint32_t) atoi(argv[3]));
	for (uint32_t i = 0;; i = (i + 1) % count)
	{
		int64_t end = now_ns() + TURN_NS;

		while (now_ns() < end)
			libraries[i](1000000);
	}
}
