/*
 * test_unwind_cost.c
 *		The cost of hostile CFI: steps and bytes are counted, because times depend on the machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/reader/unwind_tables.h"
#include "base/clock.h"
#include "memory_tables.h"
#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_sections.h"
#include "unwind/jit_frames.h"
#include "unwind/late_walk.h"

#define CODE_START UINT64_C(0x10000)
#define CODE_BYTES UINT64_C(0x1000000)
#define MIB		   (UINT64_C(1) << 20)

/* An .eh_frame section while it is being written. */
typedef struct Frames
{
	uint8_t *bytes;
	size_t length;
	size_t room;
	uint64_t functions;
} Frames;

static void
put(Frames *frames, const void *bytes, size_t length)
{
	assert_true(frames->length + length <= frames->room);
	memcpy(frames->bytes + frames->length, bytes, length);
	frames->length += length;
}

static void
put_word(Frames *frames, uint32_t word)
{
	put(frames, &word, sizeof(word));
}

/*
 * Appends a CIE with a number of instructions without effect, after the one that defines frames.
 * Returns its position.
 */
static size_t
put_cie(Frames *frames, size_t instructions)
{
	static const uint8_t head[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x03 /* udata4 */ };
	static const uint8_t real[] = { DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1 };
	size_t at = frames->length;

	put_word(frames, (uint32_t) (4 + sizeof(head) + sizeof(real) + instructions));
	put_word(frames, 0);
	put(frames, head, sizeof(head));
	put(frames, real, sizeof(real));
	assert_true(frames->length + instructions <= frames->room);
	memset(frames->bytes + frames->length, DW_CFA_nop, instructions);
	frames->length += instructions;
	return at;
}

/* Appends an FDE of 16 bytes of code without an instruction, after the previous ones. */
static void
put_fde(Frames *frames, size_t cie)
{
	static const uint8_t no_augmentation = 0;

	put_word(frames, 4 + 4 + 4 + 1);
	put_word(frames, (uint32_t) (frames->length - cie));
	put_word(frames, (uint32_t) (CODE_START + 16 * frames->functions++));
	put_word(frames, 16);
	put(frames, &no_augmentation, 1);
}

/* Writes as many FDEs as fit, which refer to a number of CIEs in turn. */
static Frames
make_frames(size_t length, size_t cie_count, size_t instructions)
{
	Frames frames = { calloc(length, 1), 0, length, 0 };
	size_t cies[64];
	size_t i = 0;

	assert_non_null(frames.bytes);
	for (size_t cie = 0; cie < cie_count; cie++)
		cies[cie] = put_cie(&frames, instructions);
	while (frames.length + 32 <= length)
		put_fde(&frames, cies[i++ % cie_count]);
	return frames;
}

static CfiInput
input_of(const Frames *frames)
{
	return (CfiInput){ .machine = EM_X86_64,
					   .eh_frame = { frames->bytes, frames->length, 0x1000 },
					   .code_start = CODE_START,
					   .code_end = CODE_START + CODE_BYTES };
}

/* A CIE is parsed once, however long it is, and whatever other CIEs come between. */
static void
runs_a_cie_once(void **state)
{
	Frames frames = make_frames(MIB, 4, 64 * 1024);
	CfiInput input = input_of(&frames);
	uint64_t steps = UINT64_MAX;
	UnwindTable table;
	RuleSet rules;

	input.steps_left = &steps;
	assert_int_equal(rule_set_init(&rules), 0);
	assert_int_equal(cfi_compile(&input, &rules, &table), 0);
	assert_int_equal(table.stats.fdes, frames.functions);
	assert_int_equal(table.stats.fdes_malformed, 0);
	/* each entry twice, each CIE's instructions once */
	assert_in_range(UINT64_MAX - steps, 4 * 64 * 1024,
					4 * (64 * 1024 + 2) + 2 * frames.functions + 4);
	unwind_table_free(&table);

	/* the number of steps is within the limit for the file's size */
	input.steps_left = NULL;
	assert_int_equal(cfi_compile(&input, &rules, &table), 0);
	unwind_table_free(&table);
	rule_set_fini(&rules);
	free(frames.bytes);
}

/* More CIEs than are cached: 20,000 FDEs would run 16,000 instructions each. */
static void
bounds_steps_by_size(void **state)
{
	Frames frames = make_frames(MIB, 40, 16 * 1024);
	CfiInput input = input_of(&frames);
	UnwindTable table;
	RuleSet rules;

	assert_true(frames.functions > 20000);
	assert_int_equal(rule_set_init(&rules), 0);
	assert_int_equal(cfi_compile(&input, &rules, &table), -E2BIG);
	assert_null(table.rows);
	rule_set_fini(&rules);
	free(frames.bytes);
}

/* A number that is padded to 1,000 bytes, as no producer does, and that is read for each FDE. */
static void
refuses_endless_headers(void **state)
{
	static const uint8_t before[] = { 1, 'z', 'R', 0, 0x81 };
	static const uint8_t behind[] = { 0, 0x78, 16, 1, 0x03, DW_CFA_def_cfa, 7, 8 };
	uint8_t padding[1000];
	Frames frames = { calloc(MIB, 1), 0, MIB, 0 };
	CfiInput input;
	UnwindTable table;
	RuleSet rules;

	assert_non_null(frames.bytes);
	memset(padding, 0x80, sizeof(padding));
	put_word(&frames, 4 + sizeof(before) + sizeof(padding) + sizeof(behind));
	put_word(&frames, 0);
	put(&frames, before, sizeof(before));
	put(&frames, padding, sizeof(padding));
	put(&frames, behind, sizeof(behind));
	for (int i = 0; i < 100; i++)
		put_fde(&frames, 0);
	input = input_of(&frames);
	assert_int_equal(rule_set_init(&rules), 0);
	assert_int_equal(cfi_compile(&input, &rules, &table), 0);
	assert_int_equal(table.stats.fdes, 0);
	assert_int_equal(table.stats.fdes_malformed, 100);
	unwind_table_free(&table);
	rule_set_fini(&rules);
	free(frames.bytes);
}

static uint64_t
bytes_read(void)
{
	FILE *file = fopen("/proc/self/io", "r");
	unsigned long long count = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "rchar: %llu", &count), 1);
	fclose(file);
	return count;
}

/*
 * Creates an ELF file with a page of code, whose section headers all refer to one hole. Names
 * repeat. The kernel supplies the zeroes, so the file costs an attacker nothing.
 */
static int
make_sparse(uint32_t sections, uint64_t hole)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.gopclntab\0.init\0.go.module";
	static const uint32_t places[] = { 1, 11, 24, 35, 41 };
	Elf64_Shdr *headers = calloc(sections + 1, sizeof(*headers));
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
									   EV_CURRENT },
						  .e_type = ET_DYN,
						  .e_machine = EM_X86_64,
						  .e_version = EV_CURRENT,
						  .e_ehsize = sizeof(Elf64_Ehdr),
						  .e_phentsize = sizeof(Elf64_Phdr),
						  .e_phoff = sizeof(Elf64_Ehdr),
						  .e_phnum = 1,
						  .e_shentsize = sizeof(Elf64_Shdr),
						  .e_shoff = 4096 + hole,
						  .e_shnum = (Elf64_Half) (sections + 1),
						  .e_shstrndx = 1 };
	Elf64_Phdr code = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE_START, .p_filesz = 4096
	};
	int fd = memfd_create("sparse", MFD_CLOEXEC);

	assert_non_null(headers);
	headers[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = 1024, .sh_size = sizeof(names) };
	for (uint32_t i = 2; i <= sections; i++)
		headers[i] = (Elf64_Shdr){ .sh_name = places[i % 5],
								   .sh_type = i % 7 == 0 ? SHT_RELA : SHT_PROGBITS,
								   .sh_offset = 4096,
								   .sh_size = hole };
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &code, sizeof(code), sizeof(header)), sizeof(code));
	assert_int_equal(pwrite(fd, names, sizeof(names), 1024), sizeof(names));
	assert_int_equal(pwrite(fd, headers, (sections + 1) * sizeof(*headers), (off_t) (4096 + hole)),
					 (sections + 1) * sizeof(*headers));
	free(headers);
	return fd;
}

static void
reads_a_hole_under_a_budget(void **state)
{
	static const uint64_t holes[] = { 16 * MIB, 64 * MIB, 1024 * MIB };

	for (size_t i = 0; i < 3; i++)
	{
		int fd = make_sparse(60, holes[i]);
		uint64_t before = bytes_read();
		CfiSections sections;

		assert_int_equal(cfi_sections_init(&sections, fd), 0);
		assert_true(sections.bytes <= CFI_SECTIONS_MAX_BYTES);
		/* the reads include the search for relocations, which is made twice */
		assert_in_range(bytes_read() - before, 0,
						CFI_SECTIONS_MAX_BYTES + 2 * 24 * CFI_RELOCATIONS_MAX + MIB);
		cfi_sections_fini(&sections);
		close(fd);
	}
}

/*
 * Memory that one share holds is not available to another; it is released with the share, and by a
 * share that was refused.
 */
static void
reads_within_a_pool(void **state)
{
	MemoryPool pool = { .limit_bytes = 150 * MIB };
	int fd = make_sparse(60, 16 * MIB);
	CfiSections first;
	CfiSections second;
	size_t held;

	assert_int_equal(cfi_sections_init_within(&first, fd, &pool), 0);
	held = pool.used_bytes;
	assert_int_equal(held, first.bytes);
	assert_in_range(held, 80 * MIB, CFI_SECTIONS_MAX_BYTES);
	assert_int_equal(cfi_sections_init_within(&second, fd, &pool), -EAGAIN);
	assert_int_equal(pool.used_bytes, held);
	cfi_sections_fini(&second);
	assert_int_equal(pool.used_bytes, held);
	cfi_sections_fini(&first);
	assert_int_equal(pool.used_bytes, 0);
	assert_int_equal(cfi_sections_init_within(&second, fd, &pool), 0);
	cfi_sections_fini(&second);
	close(fd);
}

/* A file is read without a section that the pool could never hold. */
static void
leaves_out_what_no_pool_holds(void **state)
{
	MemoryPool pool = { .limit_bytes = 8 * MIB };
	int fd = make_sparse(60, 16 * MIB);
	CfiSections sections;

	assert_int_equal(cfi_sections_init_within(&sections, fd, &pool), 0);
	assert_null(sections.input.eh_frame.data);
	assert_int_equal(sections.input.memory_bytes, pool.limit_bytes);
	assert_int_equal(pool.used_bytes, 0);
	cfi_sections_fini(&sections);
	close(fd);
}

static int
read_nothing(void *context, uint64_t address, uint64_t *value)
{
	return -1;
}

/*
 * Returns the status of a walk in the page of code of make_sparse(), with a frame pointer of zero.
 */
static int
end_at_zero_frame_pointer(const CfiSections *sections)
{
	KernelTables *tables = memory_tables_create();
	ExecImage process = { 1, 1, 1 };
	UnwindSpan span = { .start = CODE_START, .end = CODE_START + 4096 };
	struct pfs_walk_state at = { .pc = CODE_START + 64, .sp = 4096, .innermost = 1 };
	LateWalk from = { &process, &at, read_nothing, NULL, false };
	Unwinder *unwinder;
	uint64_t frames[8];
	int status;

	assert_int_equal(unwinder_create(tables, &unwinder), 0);
	span.binary = unwinder_binary_create(unwinder);
	assert_int_equal(unwinder_binary_load_sections(unwinder, span.binary, sections, NULL, 0), 0);
	assert_int_equal(unwinder_process_set(unwinder, &process, &span, 1, 0), 0);
	assert_int_equal(late_walk(unwinder, &from, frames, 8, &status), 1);
	unwinder_binary_release(unwinder, span.binary, 0);
	unwinder_free(unwinder);
	memory_tables_free(tables);
	return status;
}

/* A zero frame pointer proves a root only in files that have no CFI at all. */
static void
proves_no_root_without_its_cfi(void **state)
{
	MemoryPool pool = { .limit_bytes = 8 * MIB };
	int crowded = make_sparse(60, 16 * MIB);
	int plain = make_sparse(1, 4096);
	CfiSections sections;

	assert_int_equal(cfi_sections_init_within(&sections, plain, &pool), 0);
	assert_int_equal(end_at_zero_frame_pointer(&sections), PFS_WALK_END_OF_FRAMES);
	cfi_sections_fini(&sections);
	assert_int_equal(cfi_sections_init_within(&sections, crowded, &pool), 0);
	assert_int_equal(end_at_zero_frame_pointer(&sections), PFS_WALK_NO_RULE);
	cfi_sections_fini(&sections);
	close(plain);
	close(crowded);
}

/* Section headers may be stripped, or too many: the segment shows that there was CFI. */
static void
knows_cfi_by_its_segment(void **state)
{
	Elf64_Phdr segment = { .p_type = PT_GNU_EH_FRAME, .p_vaddr = 0x1000, .p_filesz = 16 };
	Elf64_Half count = 2;
	int fd = make_sparse(1, 4096);
	CfiSections sections;

	assert_int_equal(pwrite(fd, &segment, sizeof(segment), sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr)),
					 sizeof(segment));
	assert_int_equal(pwrite(fd, &count, sizeof(count), offsetof(Elf64_Ehdr, e_phnum)),
					 sizeof(count));
	assert_int_equal(cfi_sections_init(&sections, fd), 0);
	assert_int_equal(end_at_zero_frame_pointer(&sections), PFS_WALK_NO_RULE);
	cfi_sections_fini(&sections);
	close(fd);
}

/* The positions of FDEs take 16 bytes, twice, of three quarters of the memory. */
static void
compiles_within_memory(void **state)
{
	Frames frames = make_frames(MIB, 1, 0);
	CfiInput input = input_of(&frames);
	UnwindTable table;
	RuleSet rules;

	assert_int_equal(rule_set_init(&rules), 0);
	input.memory_bytes = frames.functions * 128 / 3 - 256;
	assert_int_equal(cfi_compile(&input, &rules, &table), -E2BIG);
	assert_null(table.rows);
	input.memory_bytes = frames.functions * 128 / 3 + 256;
	assert_int_equal(cfi_compile(&input, &rules, &table), 0);
	assert_int_equal(table.stats.fdes, frames.functions);
	unwind_table_free(&table);
	rule_set_fini(&rules);
	free(frames.bytes);
}

/* Returns the number of steps for a process's read-only memory with these bytes. */
static uint64_t
steps_in_memory(const uint8_t *bytes, size_t length)
{
	KernelTables *tables = memory_tables_create();
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *memory =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	UnwindSpan spans[JIT_SPANS(1)];
	Unwinder *unwinder;
	Patience patience;
	JitMemory *read;
	uint64_t steps;

	assert_non_null(tables);
	assert_true(code != MAP_FAILED && memory != MAP_FAILED);
	memcpy(memory, bytes, length);
	assert_int_equal(mprotect(memory, length, PROT_READ), 0);
	assert_int_equal(unwinder_create(tables, &unwinder), 0);
	assert_int_equal(patience_init(&patience), 0);
	read = jit_memory_read(&patience, (uint32_t) getpid(), 1);
	assert_non_null(read);
	steps = jit_memory_steps_left(read);
	assert_int_equal(jit_frames_spans(unwinder, read, (uint64_t) (uintptr_t) code,
									  (uint64_t) (uintptr_t) code + 4096, 0, spans),
					 1);
	assert_null(spans[0].binary);
	steps -= jit_memory_steps_left(read);
	jit_memory_free(read);
	patience_fini(&patience);
	unwinder_free(unwinder);
	memory_tables_free(tables);
	munmap(memory, length);
	munmap(code, 4096);
	return steps;
}

/* Fills memory with the beginnings of CFI sections for which jit_frames.c searches. */
static void
fill_with_beginnings(uint8_t *bytes, size_t length)
{
	static const uint8_t cie_start[] = { 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16 };

	for (size_t i = 0; i + sizeof(cie_start) <= length; i += sizeof(cie_start))
		memcpy(bytes + i, cie_start, sizeof(cie_start));
}

/* Memory full of apparent CFI: one long section, then only beginnings of sections. */
static void
bounds_steps_in_memory(void **state)
{
	const size_t length = MIB - 65536; /* other memory is searched as well */
	Frames frames = make_frames(length, 40, 16 * 1024);

	assert_in_range(steps_in_memory(frames.bytes, length), length / 2, 8 * MIB);
	fill_with_beginnings(frames.bytes, length);
	/* all bytes, but too few steps to examine each entry */
	assert_in_range(steps_in_memory(frames.bytes, length), 8 * MIB - 256, 8 * MIB);
	free(frames.bytes);
}

/*
 * An owner of many processes with such memory gets no more than its CPU time for them, and other
 * owners get theirs. One percent of a CPU may be used for 30 s at once.
 */
static void
charges_owners_for_generated_code(void **state)
{
	const uint64_t at_once_ns = 30 * NS_PER_S / 100;
	const uint64_t processes = 1000;
	const size_t length = MIB - 65536;
	KernelTables *kernel = memory_tables_create();
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *memory =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DescribedMapping mapping = { .start = (uint64_t) (uintptr_t) code };
	ExecImage image = { (uint32_t) getpid(), 0, 1 };
	int64_t begun_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	MappedFileTable *files;
	UnwindTables *tables;
	UnwinderStats stats;

	assert_true(kernel != NULL && code != MAP_FAILED && memory != MAP_FAILED);
	mapping.end = mapping.start + 4096;
	fill_with_beginnings(memory, length);
	assert_int_equal(mprotect(memory, length, PROT_READ), 0);
	assert_int_equal(mapped_file_table_create(&files), 0);
	assert_int_equal(unwind_tables_create(files, kernel, NULL, &tables), 0);
	unwind_tables_limit(tables, 64 * MIB, 1);
	while (image.start_time_ns < processes &&
		   unwind_tables_describe(tables, &image, 1, &mapping, 1, NS_PER_S) == 0)
		image.start_time_ns++;
	assert_in_range(image.start_time_ns, 1, processes - 1);
	assert_in_range(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns, at_once_ns / 2, 3 * at_once_ns);
	unwind_tables_stats(tables, &stats);
	assert_int_equal(stats.generated_put_off, 1);
	assert_int_equal(unwind_tables_describe(tables, &image, 1, &mapping, 1, NS_PER_S), -EAGAIN);
	assert_int_equal(unwind_tables_describe(tables, &image, 2, &mapping, 1, NS_PER_S), 0);
	assert_int_equal(unwind_tables_describe(tables, &image, 1, &mapping, 1, 200 * NS_PER_S), 0);
	unwind_tables_stats(tables, &stats);
	assert_int_equal(stats.generated_put_off, 2);
	unwind_tables_free(tables);
	mapped_file_table_free(files);
	memory_tables_free(kernel);
	munmap(memory, length);
	munmap(code, 4096);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_a_cie_once),
		cmocka_unit_test(bounds_steps_by_size),
		cmocka_unit_test(refuses_endless_headers),
		cmocka_unit_test(reads_a_hole_under_a_budget),
		cmocka_unit_test(reads_within_a_pool),
		cmocka_unit_test(bounds_steps_in_memory),
		cmocka_unit_test(charges_owners_for_generated_code),
		cmocka_unit_test(leaves_out_what_no_pool_holds),
		cmocka_unit_test(compiles_within_memory),
		cmocka_unit_test(proves_no_root_without_its_cfi),
		cmocka_unit_test(knows_cfi_by_its_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
