/*
 * fuzz_unwind.c
 *		Foreign CFI on its way: sections of an ELF file, compiler, packed table, walks over foreign
 *		stacks.
 *
 * An input is an ELF file, or a byte of flags and the bytes of one section, around which an ELF
 * file is built. Its last bytes are the registers and the stack of a process that maps it.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory_tables.h"
#include "unwind/cfi/cfi_sections.h"
#include "unwind/late_walk.h"
#include "unwind/packed_table.h"

#define FLAG_AARCH64	 0x01
#define FLAG_DEBUG_FRAME 0x02
#define FLAG_PCLNTAB	 0x04
#define FLAG_PLT		 0x08

#define SECTION_ADDRESS 0x800000
#define CODE_BYTES		0x1000000
#define BIAS			0x7f0000000000
#define STACK_ADDRESS	0x7ffff0000000
#define MAX_FRAMES		64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char section_names[] = "\0.shstrtab\0.eh_frame\0.debug_frame\0.gopclntab\0.plt";

typedef struct Wrapping
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	char names[sizeof(section_names)];
} Wrapping;

static int
file_of(const void *head, size_t head_bytes, const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, head, head_bytes) != (ssize_t) head_bytes ||
		write(fd, data, size) != (ssize_t) size)
		abort();
	return fd;
}

static int
wrapped(uint8_t flags, const uint8_t *section, size_t length)
{
	Wrapping file = {
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
					.e_type = ET_DYN,
					.e_machine = flags & FLAG_AARCH64 ? EM_AARCH64 : EM_X86_64,
					.e_version = EV_CURRENT,
					.e_phoff = offsetof(Wrapping, segment),
					.e_shoff = offsetof(Wrapping, sections),
					.e_ehsize = sizeof(Elf64_Ehdr),
					.e_phentsize = sizeof(Elf64_Phdr),
					.e_phnum = 1,
					.e_shentsize = sizeof(Elf64_Shdr),
					.e_shnum = 3,
					.e_shstrndx = 1 },
		.segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = CODE_BYTES },
		.sections = { { 0 },
					  { .sh_name = 1,
						.sh_type = SHT_STRTAB,
						.sh_offset = offsetof(Wrapping, names),
						.sh_size = sizeof(section_names) },
					  { .sh_name = flags & FLAG_PLT			  ? 45
								   : flags & FLAG_PCLNTAB	  ? 34
								   : flags & FLAG_DEBUG_FRAME ? 21
															  : 11,
						.sh_type = SHT_PROGBITS,
						.sh_addr = SECTION_ADDRESS,
						.sh_offset = sizeof(Wrapping),
						.sh_size = length } },
	};
	int fd;

	memcpy(file.names, section_names, sizeof(section_names));
	file.segment.p_filesz = CODE_BYTES;
	fd = file_of(&file, sizeof(file), section, length);
	if (ftruncate(fd, CODE_BYTES) != 0)
		abort();
	return fd;
}

/* Rows that are packed one after the other result in the table of all of them at once. */
static void
check_pieces(const CfiInput *input, RuleSet *rules, const PackedTable *whole)
{
	PackedTable pieces;
	CfiStats stats;

	if (packed_table_compile(input, rules, &pieces, &stats) != 0)
		abort();
	if (pieces.line_count != whole->line_count || pieces.page_count != whole->page_count ||
		(whole->line_count > 0 &&
		 memcmp(pieces.lines, whole->lines, whole->line_count * sizeof(*whole->lines)) != 0))
		abort();
	packed_table_free(&pieces);
}

/* Rows ascend and neighbours differ; packing keeps their meaning. */
static void
check_table(const CfiInput *input)
{
	UnwindTable table;
	PackedTable packed;
	RuleSet rules;

	if (rule_set_init(&rules) != 0)
		abort();
	if (cfi_compile(input, &rules, &table) == 0)
	{
		for (size_t i = 1; i < table.count; i++)
		{
			if (table.rows[i - 1].offset >= table.rows[i].offset)
				abort();
		}
		if (table.count > 0 && table.rows[table.count - 1].rule != 0)
			abort();
		if (packed_table_build(&table, &packed) == 0)
		{
			for (size_t i = 0; i < packed.page_count; i++)
			{
				const PackedPage *page = &packed.pages[i];

				if (page->line_count == 0 || page->line_count > 4096 ||
					page->first_line + page->line_count > packed.line_count ||
					(i > 0 && packed.pages[i - 1].page >= page->page))
					abort();
			}
			check_pieces(input, &rules, &packed);
			packed_table_free(&packed);
		}
		unwind_table_free(&table);
	}
	rule_set_fini(&rules);
}

/*
 * The end of the input as a process's memory: registers, then the stack from the stack pointer on.
 */
static void
walk(const Unwinder *unwinder, const ExecImage *process, const uint8_t *bytes, size_t length)
{
	uint64_t frames[MAX_FRAMES];
	struct pfs_walk_state at = { .innermost = 1 };
	LateMemory stack = { bytes, length, STACK_ADDRESS, .chunks = UINT64_MAX };
	int status = -1;

	for (size_t i = 0; i < PFS_REGISTER_COUNT; i++)
	{
		uint64_t value = 0;

		(void) late_memory_read(&stack, STACK_ADDRESS + 8 * i, &value);
		at.registers[i] = value;
	}
	at.pc = BIAS + at.registers[PFS_REGISTER_PC] % CODE_BYTES;
	at.sp = STACK_ADDRESS + at.registers[PFS_REGISTER_SP] % 256;
	at.fp = STACK_ADDRESS + at.registers[PFS_REGISTER_FP] % 256;
	if (late_walk(unwinder, &(LateWalk){ process, &at, late_memory_read, &stack, false }, frames,
				  MAX_FRAMES, &status) > MAX_FRAMES ||
		status <= PFS_WALK_RUNNING || status >= PFS_WALK_STATUS_COUNT)
		abort();
}

static void
load_and_walk(int fd, const uint8_t *data, size_t size)
{
	static KernelTables *tables;
	const ExecImage process = { 1, 1, 1 };
	Unwinder *unwinder;
	UnwindBinary *binary;

	if (tables == NULL)
		tables = memory_tables_create();
	if (tables == NULL || unwinder_create(tables, &unwinder) != 0)
		abort();
	binary = unwinder_binary_create(unwinder);
	if (binary == NULL)
		abort();
	if (unwinder_binary_load(unwinder, binary, fd, 0) == 0)
	{
		const UnwindSpan span = { BIAS, BIAS + CODE_BYTES, BIAS, binary, false };

		if (unwinder_process_set(unwinder, &process, &span, 1, 0) != 0)
			abort();
		for (size_t length = size < 1024 ? size : 1024; length >= 64; length /= 2)
			walk(unwinder, &process, data + size - length, length);
	}
	unwinder_binary_release(unwinder, binary, 0);
	unwinder_free(unwinder);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CfiSections sections;
	int fd;

	if (size < 4)
		return 0;
	if (memcmp(data, ELFMAG, SELFMAG) == 0)
		fd = file_of(NULL, 0, data, size);
	else
		fd = wrapped(data[0], data + 1, size - 1);
	if (cfi_sections_init(&sections, fd) == 0)
	{
		check_table(&sections.input);
		cfi_sections_fini(&sections);
	}
	load_and_walk(fd, data, size);
	close(fd);
	return 0;
}
