/*
 * test_unwind_room.c
 *		Unwind tables when the kernel's are full: which are evicted, which return, and the share of
 *		one file or process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/reader/unwind_tables.h"
#include "memory_tables.h"
#include "unwind/cfi/rule_set.h"
#include "unwind/extent_pool.h"

#define MAX_FRAMES 128

#define BINARIES 8

#define OWNER 1 /* owner of the process */

/* Copies of this program, each in a file of its own, mapped one after the other. */
typedef struct World
{
	char directory[32];
	KernelTables *kernel;
	MappedFileTable *files;
	UnwindTables *tables;
	ExecImage process;
	DescribedMapping mappings[BINARIES];
	bool same; /* the copies are equal */
} World;

static int
find_own_code(struct dl_phdr_info *info, size_t size, void *context)
{
	DescribedMapping *code = context;

	(void) size;
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X))
			*code = (DescribedMapping){ .end = (header->p_filesz + 4095) & ~UINT64_C(4095),
										.file_offset = header->p_offset };
	}
	return 1; /* the program's mapping comes first */
}

/* Makes a copy a different program: its code ends some bytes later, which no row covers. */
static void
make_different(const char *path, int number)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	Elf64_Ehdr header;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (int i = 0; i < header.e_phnum; i++)
	{
		off_t place = (off_t) (header.e_phoff + (size_t) i * sizeof(Elf64_Phdr));
		Elf64_Phdr segment;

		assert_int_equal(pread(fd, &segment, sizeof(segment), place), sizeof(segment));
		if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0)
			continue;
		segment.p_filesz += (Elf64_Xword) number;
		assert_int_equal(pwrite(fd, &segment, sizeof(segment), place), sizeof(segment));
	}
	close(fd);
}

static void
map_copy(World *world, int number, const DescribedMapping *code)
{
	char command[128];
	char path[64];
	struct stat file;
	ProcMapping map = { .name = path };

	snprintf(path, sizeof(path), "%s/%d", world->directory, number);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int) getpid(), path);
	assert_int_equal(system(command), 0);
	if (!world->same)
		make_different(path, number);
	assert_int_equal(stat(path, &file), 0);
	map.inode = file.st_ino;
	map.device = file.st_dev;
	map.start = UINT64_C(0x10000000) * (uint64_t) (number + 1);
	map.end = map.start + code->end;
	map.file_offset = code->file_offset;
	world->mappings[number] = (DescribedMapping){ map.start, map.end, map.file_offset, NULL };
	assert_int_equal(mapped_file_acquire_mapping(world->files, 0, (uint32_t) getpid(), &map,
												 &world->mappings[number].file),
					 0);
	assert_int_equal(unlink(path), 0);
}

/* Limits the kernel's tables to this many of the copies. */
static void
set_up(World *world, uint32_t room, bool same)
{
	DescribedMapping code = { 0 };
	UnwinderStats one;

	memset(world, 0, sizeof(*world));
	world->same = same;
	world->process = (ExecImage){ (uint32_t) getpid(), 1, 1 };
	strcpy(world->directory, "/tmp/unwind_full_XXXXXX");
	assert_non_null(mkdtemp(world->directory));
	dl_iterate_phdr(find_own_code, &code);
	world->kernel = memory_tables_create();
	assert_int_equal(mapped_file_table_create(&world->files), 0);
	assert_int_equal(unwind_tables_create(world->files, world->kernel, NULL, &world->tables), 0);
	for (int i = 0; i < BINARIES; i++)
		map_copy(world, i, &code);

	/* the size of one table */
	assert_int_equal(unwind_tables_describe(world->tables, &world->process, 0, world->mappings, 1,
											0),
					 0);
	assert_int_not_equal(unwind_tables_want(world->tables, &world->process, OWNER,
											world->mappings[0].start + 64, 0),
						 0);
	assert_int_not_equal(unwind_tables_load_wanted(world->tables, 0), 0);
	unwind_tables_stats(world->tables, &one);
	assert_int_equal(one.loaded, 1);
	unwind_tables_free(world->tables);
	world->kernel->line_limit = (uint32_t) one.lines * room;
	assert_int_equal(unwind_tables_create(world->files, world->kernel, NULL, &world->tables), 0);
	assert_int_equal(unwind_tables_describe(world->tables, &world->process, 0, world->mappings,
											BINARIES, 0),
					 0);
}

static void
tear_down(World *world)
{
	unwind_tables_free(world->tables);
	for (int i = 0; i < BINARIES; i++)
		mapped_file_release(world->files, world->mappings[i].file);
	mapped_file_table_free(world->files);
	memory_tables_free(world->kernel);
	assert_int_equal(rmdir(world->directory), 0);
}

/*
 * Returns true if a walk of the process finds a table. Otherwise the walk requests one, and gets it
 * if there is room.
 */
static bool
is_walked_of(World *world, const ExecImage *process, uint64_t owner, int number, uint64_t now_ns)
{
	struct pfs_late late = { .at = { .innermost = 1 } };
	uint64_t frames[MAX_FRAMES];
	int status;

	late.at.pc = world->mappings[number].start + 64;
	(void) unwind_tables_walk(world->tables, process, 1, &late, 1, false, frames, NULL, MAX_FRAMES,
							  &status);
	if (status != PFS_WALK_NO_TABLE)
		return true;
	if (unwind_tables_want(world->tables, process, owner, late.at.pc, now_ns) != 0)
		(void) unwind_tables_load_wanted(world->tables, now_ns);
	return false;
}

static bool
is_walked_by_table(World *world, int number, uint64_t now_ns)
{
	return is_walked_of(world, &world->process, OWNER, number, now_ns);
}

/*
 * If the kernel's tables are full, older ones are evicted for requested ones; nothing is tried over
 * and over.
 */
static void
test_full_tables(void **state)
{
	World world;
	uint64_t now_ns = 0;
	uint64_t failures;
	UnwinderStats stats;

	(void) state;
	set_up(&world, 5, false);
	for (int i = 0; i < BINARIES; i++)
	{
		for (int tries = 0; !is_walked_by_table(&world, i, now_ns); tries++)
		{
			assert_true(tries < 8);
			now_ns += 2 * EXTENT_GRACE_NS;
		}
	}
	unwind_tables_stats(world.tables, &stats);
	assert_true(stats.unloaded > 0);
	assert_true(stats.lines <= world.kernel->line_limit);
	/* evicted tables return when they are used */
	for (int i = 0; i < BINARIES; i++)
	{
		for (int tries = 0; !is_walked_by_table(&world, i, now_ns); tries++)
		{
			assert_true(tries < 8);
			now_ns += 2 * EXTENT_GRACE_NS;
		}
	}
	/* at one moment, all attempts but the first end before a table is made */
	unwind_tables_stats(world.tables, &stats);
	failures = stats.load_failures;
	for (int round = 0; round < 10; round++)
	{
		for (int i = 0; i < BINARIES; i++)
			(void) is_walked_by_table(&world, i, now_ns);
	}
	unwind_tables_stats(world.tables, &stats);
	assert_in_range(stats.load_failures, failures, failures + BINARIES);
	tear_down(&world);
}

/* CFI beyond a third of --max-memory is not read. */
static void
test_little_memory(void **state)
{
	UnwinderStats stats;
	World world;

	(void) state;
	set_up(&world, BINARIES, false);
	unwind_tables_limit(world.tables, 3 * 4096, 0);
	assert_false(is_walked_by_table(&world, 0, 0));
	unwind_tables_limit(world.tables, 384 << 20, 0); /* the limit of all tests that follow */
	unwind_tables_stats(world.tables, &stats);
	assert_int_equal(stats.loaded, 1);
	assert_in_range(stats.lines, 0, world.kernel->line_limit / BINARIES / 4);
	assert_false(is_walked_by_table(&world, 1, 0));
	unwind_tables_stats(world.tables, &stats);
	assert_int_equal(stats.loaded, 2);
	assert_true(stats.lines > world.kernel->line_limit / BINARIES / 2);
	tear_down(&world);
}

/* The oldest table of all stays while another owner's tables take more than their share. */
static void
test_owner_with_most(void **state)
{
	uint64_t now_ns = 0;
	UnwinderStats stats;
	ExecImage bystander = { (uint32_t) getpid() + 1, 1, 1 };
	World world;

	(void) state;
	set_up(&world, 5, false);
	assert_int_equal(unwind_tables_describe(world.tables, &bystander, 0, world.mappings, 1, 0), 0);
	assert_false(is_walked_of(&world, &bystander, OWNER + 1, 0, now_ns));
	assert_true(is_walked_of(&world, &bystander, OWNER + 1, 0, now_ns));
	for (int turn = 0; turn < 10 * BINARIES; turn++)
	{
		now_ns += 10 * EXTENT_GRACE_NS;
		(void) is_walked_by_table(&world, 1 + turn % (BINARIES - 1), now_ns);
		assert_true(is_walked_of(&world, &bystander, OWNER + 1, 0, now_ns));
	}
	unwind_tables_stats(world.tables, &stats);
	assert_true(stats.unloaded > 0);
	tear_down(&world);
}

/*
 * Files of containers of one image: they are different files, but have one table. It is released
 * with its last user.
 */
static void
test_shared_tables(void **state)
{
	World world;
	UnwinderStats stats;
	uint64_t lines;

	(void) state;
	/* an eighth of the memory that separate tables would take, and at most a quarter for one */
	set_up(&world, 4, true);
	for (int i = 0; i < BINARIES; i++)
	{
		assert_false(is_walked_by_table(&world, i, 0));
		assert_true(is_walked_by_table(&world, i, 0));
	}
	unwind_tables_stats(world.tables, &stats);
	assert_int_equal(stats.loaded, BINARIES);
	assert_int_equal(stats.shared, BINARIES - 1);
	assert_int_equal(stats.load_failures, 0);
	assert_int_equal(stats.unloaded, 0);
	lines = stats.lines;
	assert_int_equal(lines, world.kernel->line_limit / 4);

	/* all but one are unmapped */
	assert_int_equal(unwind_tables_describe(world.tables, &world.process, 0, world.mappings, 1, 0),
					 0);
	unwind_tables_sweep(world.tables, 2 * UNWIND_TABLES_KEEP_NS, UNWIND_TABLES_KEEP_NS);
	unwind_tables_stats(world.tables, &stats);
	assert_int_equal(stats.binaries, 1);
	assert_int_equal(stats.lines, lines);
	assert_true(is_walked_by_table(&world, 0, 2 * UNWIND_TABLES_KEEP_NS));
	unwind_tables_forget(world.tables, &world.process, 2 * UNWIND_TABLES_KEEP_NS);
	unwind_tables_sweep(world.tables, 4 * UNWIND_TABLES_KEEP_NS, UNWIND_TABLES_KEEP_NS);
	unwind_tables_stats(world.tables, &stats);
	assert_int_equal(stats.lines, 0);
	tear_down(&world);
}

/* A file whose table would exceed its share is not tried again, and does not affect others. */
static void
test_too_large_table(void **state)
{
	World world;
	UnwinderStats stats;

	(void) state;
	set_up(&world, 3, false);
	assert_false(is_walked_by_table(&world, 0, 0));
	assert_false(is_walked_by_table(&world, 0, 100 * EXTENT_GRACE_NS));
	unwind_tables_stats(world.tables, &stats);
	assert_int_equal(stats.load_failures, 1);
	assert_int_equal(stats.lines, 0);
	assert_int_equal(stats.entries, 0);
	tear_down(&world);
}

/*
 * Processes find no room for their mappings until others are evicted; one process cannot take all
 * of it.
 */
static void
test_full_mappings(void **state)
{
	KernelTables *kernel = memory_tables_create();
	Unwinder *unwinder;
	UnwindSpan spans[64] = { 0 };
	ExecImage process = { 1, 1, 1 };
	int err = 0;

	(void) state;
	for (uint32_t i = 0; i < 64; i++)
		spans[i] = (UnwindSpan){ .start = 4096 * (i + 1), .end = 4096 * (i + 2) };
	kernel->mapping_limit = 64;
	assert_int_equal(unwinder_create(kernel, &unwinder), 0);
	assert_int_equal(unwinder_process_set(unwinder, &process, spans, 17, 0), -E2BIG);
	while (process.pid < 100 && err == 0)
	{
		err = unwinder_process_set(unwinder, &process, spans, 16, 0);
		process.pid += err == 0;
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(process.pid, 5);
	unwinder_process_forget(unwinder, &(ExecImage){ 1, 1, 1 }, 0);
	assert_int_equal(unwinder_process_set(unwinder, &process, spans, 16, 0), -ENOSPC);
	assert_int_equal(unwinder_process_set(unwinder, &process, spans, 16, EXTENT_GRACE_NS), 0);
	unwinder_free(unwinder);
	memory_tables_free(kernel);
}

#define MADE_UP_RULES 100

/*
 * Writes CFI for 64 MiB of code from 0x1000 on, with MADE_UP_RULES rules that no CFI of another
 * number has.
 */
static size_t
make_rules_up(uint8_t *bytes, uint32_t number)
{
	static const uint8_t start[] = {
		0x14, 0,	0, 0,	 0,	   0,  0, 0, 1,
		'z',  'R',	0, 1,	 0x78, 16, 1, 0, /* CIE, plain addresses */
		0x0c, 7,	8, 0x90, 1,	   0,  0,	 /* CFA = rsp + 8, return address at CFA - 8 */
		0,	  0,	0, 0,	 0x1c, 0,  0, 0, /* FDE of this CIE */
		0,	  0x10, 0, 0,	 0,	   0,  0, 0, 0,
		0,	  0,	4, 0,	 0,	   0,  0, 0, /* from 0x1000, 64 MiB */
	};
	size_t at = sizeof(start);
	uint32_t length;

	memcpy(bytes, start, sizeof(start));
	for (uint32_t i = 0; i < MADE_UP_RULES; i++)
	{
		uint32_t offset = 8 * (number * MADE_UP_RULES + i + 2);

		bytes[at++] = 0x41; /* one byte further */
		bytes[at++] = 0x0e; /* CFA = rsp + offset, of 21 bits */
		bytes[at++] = (uint8_t) (offset & 0x7f) | 0x80;
		bytes[at++] = (uint8_t) (offset >> 7 & 0x7f) | 0x80;
		bytes[at++] = (uint8_t) (offset >> 14 & 0x7f);
	}
	while (at % 8 != 0)
		bytes[at++] = 0;
	length = (uint32_t) (at - 28);
	memcpy(bytes + 24, &length, sizeof(length));
	return at;
}

#define MADE_UP_BYTES	  (64 << 20)
#define MADE_UP_LENGTH_AT 40 /* place of the code's length among these bytes */
/* Directory entries of the table of made-up rules: one for each page, and the header. */
#define MADE_UP_ENTRIES	  ((MADE_UP_BYTES >> PFS_UNWIND_PAGE_BITS) + 2)

/* Kernel's tables in which this many tables of generated code have room, and an unwinder. */
typedef struct GeneratedWorld
{
	KernelTables *kernel;
	Unwinder *unwinder;
	uint8_t *bytes;
} GeneratedWorld;

static GeneratedWorld
generated_begin(uint32_t room)
{
	GeneratedWorld world = { memory_tables_create(), NULL, malloc(MADE_UP_RULES * 5 + 128) };

	assert_true(world.kernel != NULL && world.bytes != NULL);
	world.kernel->entry_limit = 4 * (room * MADE_UP_ENTRIES + 1);
	assert_int_equal(unwinder_create(world.kernel, &world.unwinder), 0);
	return world;
}

static void
generated_end(GeneratedWorld *world)
{
	unwinder_free(world->unwinder);
	memory_tables_free(world->kernel);
	free(world->bytes);
}

/* Loads a table of `length` bytes of code for an owner, with the made-up rules of a number. */
static int
generated_try(GeneratedWorld *world, UnwindBinary *binary, uint64_t owner, uint32_t number,
			  uint32_t length, uint64_t now_ns)
{
	CfiInput input = { .machine = EM_X86_64, .code_start = 0x1000, .code_end = 0x1000 + length };
	uint64_t start = 0;
	uint64_t end;
	int err;

	input.eh_frame =
		(CfiSection){ .data = world->bytes, .length = make_rules_up(world->bytes, number) };
	memcpy(world->bytes + MADE_UP_LENGTH_AT, &length, sizeof(length));
	err = unwinder_binary_load_jit(world->unwinder, binary, &input, owner, now_ns, &start, &end);
	assert_int_equal(start, err == 0 ? 0x1000 : 0);
	return err;
}

/* Loads a table that finds room. */
static UnwindBinary *
generated_load(GeneratedWorld *world, uint64_t owner, uint32_t number, uint64_t now_ns)
{
	UnwindBinary *binary = unwinder_binary_create(world->unwinder);

	assert_non_null(binary);
	assert_int_equal(generated_try(world, binary, owner, number, MADE_UP_BYTES, now_ns), 0);
	return binary;
}

/*
 * The code that programs write while they run gets at most a quarter of all tables, and releases
 * it. An owner loses its oldest tables.
 */
static void
test_generated_code_is_bounded(void **state)
{
	enum
	{
		FIT = 2,
		TRIED = 6,
	};
	GeneratedWorld world = generated_begin(FIT);
	UnwindBinary *binaries[TRIED];
	UnwinderStats stats;

	(void) state;
	for (uint32_t round = 0; round < 2; round++)
	{
		for (uint32_t i = 0; i < TRIED; i++)
			binaries[i] = generated_load(&world, OWNER, i, round * EXTENT_GRACE_NS);
		for (uint32_t i = 0; i < TRIED; i++)
			assert_int_equal(unwinder_binary_has_table(binaries[i]), i >= TRIED - FIT);
		unwinder_stats(world.unwinder, &stats);
		assert_int_equal(stats.entries, FIT * MADE_UP_ENTRIES);
		assert_int_equal(stats.generated_displaced, (round + 1) * (TRIED - FIT));
		assert_in_range(stats.rules, 2, 1 + RULE_SET_SHARE);
		for (uint32_t i = 0; i < TRIED; i++)
			unwinder_binary_release(world.unwinder, binaries[i], 0);
		unwinder_stats(world.unwinder, &stats);
		assert_int_equal(stats.entries, 0);
		assert_int_equal(stats.lines, 0);
	}
	generated_end(&world);
}

static uint32_t
first_kind(const Unwinder *unwinder, const ExecImage *process)
{
	struct pfs_unwind_process entry;

	assert_true(unwinder_find_process(unwinder, process, &entry));
	return pfs_mapping_kind(unwinder_mapping(unwinder, entry.first));
}

/* An owner whose generated code fills the part for such code leaves another owner an equal one. */
static void
test_generated_code_of_owners(void **state)
{
	enum
	{
		FIT = 4,
		TRIED = 6,
	};
	GeneratedWorld world = generated_begin(FIT);
	const ExecImage processes[2] = { { 1, 1, 1 }, { 2, 1, 1 } };
	UnwindBinary *many[TRIED];
	UnwindBinary *few[FIT / 2];
	UnwinderStats stats;

	(void) state;
	for (uint32_t i = 0; i < TRIED; i++)
		many[i] = generated_load(&world, OWNER, i, 0);
	for (uint32_t i = 0; i < 2; i++)
	{
		const UnwindSpan span = {
			.start = 0x1000, .end = 0x4001000, .binary = many[3 + i], .generated = true
		};

		assert_int_equal(unwinder_process_set(world.unwinder, &processes[i], &span, 1, 0), 0);
	}
	for (uint32_t i = 0; i < FIT / 2; i++)
		few[i] = generated_load(&world, OWNER + 1, TRIED + i, 0);
	for (uint32_t i = 0; i < FIT / 2; i++)
		assert_true(unwinder_binary_has_table(few[i]));
	for (uint32_t i = 0; i < TRIED; i++)
		assert_int_equal(unwinder_binary_has_table(many[i]), i >= TRIED - FIT / 2);
	assert_int_equal(first_kind(world.unwinder, &processes[0]), PFS_MAPPING_FRAME_POINTER);
	assert_int_equal(first_kind(world.unwinder, &processes[1]), PFS_MAPPING_JIT);
	unwinder_stats(world.unwinder, &stats);
	assert_int_equal(stats.generated_displaced, TRIED - FIT + FIT / 2);
	assert_int_equal(stats.generated_refused, 0);
	/* more of it displaces no table of the other owner, though that one's are the oldest */
	for (uint32_t i = 0; i < TRIED; i++)
	{
		unwinder_binary_release(world.unwinder, many[i], 0);
		many[i] = generated_load(&world, OWNER, 2 * TRIED + i, EXTENT_GRACE_NS);
	}
	for (uint32_t i = 0; i < FIT / 2; i++)
		assert_true(unwinder_binary_has_table(few[i]));
	for (uint32_t i = 0; i < TRIED; i++)
		unwinder_binary_release(world.unwinder, many[i], 0);
	for (uint32_t i = 0; i < FIT / 2; i++)
		unwinder_binary_release(world.unwinder, few[i], 0);
	generated_end(&world);
}

/* A table that would give its owner the most displaces no other owner's. */
static void
test_generated_code_of_newcomer(void **state)
{
	enum
	{
		FIT = 4,
	};
	GeneratedWorld world = generated_begin(FIT);
	UnwindBinary *others[FIT - 1];
	UnwindBinary *binary = unwinder_binary_create(world.unwinder);
	UnwinderStats stats;

	(void) state;
	for (uint32_t i = 0; i < FIT - 1; i++)
		others[i] = generated_load(&world, OWNER + i, i, 0);
	assert_non_null(binary);
	assert_int_equal(generated_try(&world, binary, OWNER + FIT, FIT, FIT * MADE_UP_BYTES, 0),
					 -E2BIG);
	assert_false(unwinder_binary_has_table(binary));
	unwinder_stats(world.unwinder, &stats);
	assert_int_equal(stats.generated_displaced, 0);
	assert_int_equal(stats.generated_refused, 1);
	for (uint32_t i = 0; i < FIT - 1; i++)
	{
		assert_true(unwinder_binary_has_table(others[i]));
		unwinder_binary_release(world.unwinder, others[i], 0);
	}
	/* beside owners that leave it room it fits */
	assert_int_equal(generated_try(&world, binary, OWNER + FIT, FIT, FIT * MADE_UP_BYTES,
								   EXTENT_GRACE_NS),
					 0);
	unwinder_binary_release(world.unwinder, binary, 0);
	generated_end(&world);
}

/* An owner that invents rules without end leaves as many for others as it has. */
static void
test_generated_rules_of_owners(void **state)
{
	GeneratedWorld world = generated_begin(1);
	UnwinderStats before;
	UnwinderStats stats;
	uint32_t number = 0;

	(void) state;
	for (; number * MADE_UP_RULES < 2 * RULE_SET_SHARE; number++)
		unwinder_binary_release(world.unwinder,
								generated_load(&world, OWNER, number, number * EXTENT_GRACE_NS),
								number * EXTENT_GRACE_NS);
	unwinder_stats(world.unwinder, &before);
	assert_in_range(before.rules, RULE_SET_SHARE / 2, RULE_SET_SHARE / 2 + 1);
	assert_in_range(before.generated_refused, 1, number - 1);
	unwinder_binary_release(world.unwinder,
							generated_load(&world, OWNER + 1, number, number * EXTENT_GRACE_NS),
							number * EXTENT_GRACE_NS);
	unwinder_stats(world.unwinder, &stats);
	assert_int_equal(stats.rules, before.rules + MADE_UP_RULES);
	assert_int_equal(stats.generated_refused, before.generated_refused);
	/* all rules are freed together, and then the owner may add rules again */
	unwinder_forget_rules(world.unwinder, number * EXTENT_GRACE_NS);
	number++;
	unwinder_binary_release(world.unwinder,
							generated_load(&world, OWNER, number, number * EXTENT_GRACE_NS),
							number * EXTENT_GRACE_NS);
	unwinder_stats(world.unwinder, &stats);
	assert_in_range(stats.rules, MADE_UP_RULES, MADE_UP_RULES + 2);
	assert_int_equal(stats.generated_refused, before.generated_refused);
	generated_end(&world);
}

#define LIBRARY_RULES 5000

/* Creates a library with LIBRARY_RULES rules that no library of another number has. */
static int
open_library(const char *directory, int number)
{
	char command[512];
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/rules.so", directory);
	snprintf(command, sizeof(command),
			 "printf '.text\n.cfi_startproc\n.set offset, %d\n.rept %d\nnop\n"
			 ".cfi_def_cfa_offset offset\n.set offset, offset + 8\n.endr\nret\n.cfi_endproc\n"
			 ".section .note.GNU-stack\n' | gcc -shared -nostdlib -x assembler - -o %s",
			 8 * (number * LIBRARY_RULES + 2), LIBRARY_RULES, path);
	assert_int_equal(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	return fd;
}

/*
 * Rules that programs invent are limited for each program, and if all of them fill the set it is
 * emptied.
 */
static void
test_full_rules(void **state)
{
	KernelTables *kernel = memory_tables_create();
	Unwinder *unwinder;
	char directory[] = "/tmp/unwind_rules_XXXXXX";
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	UnwindBinary *program;
	TableCache *cache;
	UnwinderStats stats;

	(void) state;
	assert_int_equal(unwinder_create(kernel, &unwinder), 0);
	assert_non_null(mkdtemp(directory));
	assert_int_equal(table_cache_open(directory, 1 << 20, &cache), 0);
	unwinder_use_cache(unwinder, cache);
	for (uint32_t i = 0; i < 4; i++)
	{
		UnwindBinary *binary = unwinder_binary_create(unwinder);
		int library = open_library(directory, (int) i);

		/* the last one finds less than its share */
		assert_int_equal(unwinder_binary_load(unwinder, binary, library, 0), i < 3 ? 0 : -ENOSPC);
		unwinder_stats(unwinder, &stats);
		assert_in_range(stats.rules, 1, 1 + (i + 1) * RULE_SET_SHARE);
		unwinder_binary_release(unwinder, binary, 0);
		close(library);
	}
	assert_int_equal(stats.rules, PFS_UNWIND_RULES);

	program = unwinder_binary_create(unwinder);
	assert_int_equal(unwinder_binary_load(unwinder, program, fd, 0), -ENOSPC);
	assert_false(unwinder_binary_has_table(program));
	assert_true(unwinder_rules_are_full(unwinder));
	assert_int_equal(rmdir(directory), 0); /* no table that lacks rules was stored */
	assert_int_equal(mkdir(directory, 0700), 0);
	unwinder_forget_rules(unwinder, 0);
	assert_false(unwinder_rules_are_full(unwinder));
	assert_int_equal(unwinder_binary_load(unwinder, program, fd, EXTENT_GRACE_NS - 1), -ENOSPC);
	assert_int_equal(unwinder_binary_load(unwinder, program, fd, EXTENT_GRACE_NS), 0);
	assert_true(unwinder_binary_has_table(program));
	unwinder_stats(unwinder, &stats);
	assert_in_range(stats.rules, 2, 1000);
	unwinder_binary_release(unwinder, program, EXTENT_GRACE_NS);
	table_cache_close(cache);
	assert_int_equal(rmdir(directory), 0);
	unwinder_free(unwinder);
	memory_tables_free(kernel);
	close(fd);
}

/*
 * Gaps between a program's functions cost directory entries: those of browsers, which have CFI for
 * few functions, fit.
 */
static void
test_sparse_program(void **state)
{
	static const char function[] =
		".cfi_startproc\nnop\n.cfi_adjust_cfa_offset 8\nret\n.cfi_endproc\n";
	KernelTables *kernel = memory_tables_create();
	char path[] = "/tmp/unwind_sparse_XXXXXX";
	int fd = mkstemp(path);
	char command[512];
	Unwinder *unwinder;
	UnwindBinary *program;
	UnwinderStats stats;

	(void) state;
	snprintf(command, sizeof(command),
			 "printf '.text\n%s.section .far, \"ax\"\n%s.section .note.GNU-stack\n' |"
			 "gcc -shared -nostdlib -Wl,--section-start=.far=0x18000000 -x assembler - -o %s",
			 function, function, path);
	assert_int_equal(system(command), 0);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	kernel->entry_limit = PFS_UNWIND_ENTRIES;
	assert_int_equal(unwinder_create(kernel, &unwinder), 0);
	program = unwinder_binary_create(unwinder);
	assert_int_equal(unwinder_binary_load(unwinder, program, fd, 0), 0);
	unwinder_stats(unwinder, &stats);
	assert_in_range(stats.entries, (384 << 20) >> PFS_UNWIND_PAGE_BITS, PFS_UNWIND_ENTRIES / 4);
	assert_in_range(stats.lines, 2, 4);
	unwinder_binary_release(unwinder, program, 0);
	unwinder_free(unwinder);
	memory_tables_free(kernel);
	close(fd);
}

/* Tables of the code of a library that this process has mapped. */
typedef struct Library
{
	MappedFileTable *files;
	DescribedMapping code;
	ExecImage process;
	KernelTables *kernel;
	UnwindTables *tables;
	uint64_t now_ns;
} Library;

static int
find_code(struct dl_phdr_info *info, size_t size, void *context)
{
	Library *library = context;
	char name[256];
	struct stat status;
	ProcMapping map = { .name = name };

	(void) size;
	snprintf(name, sizeof(name), "%s", info->dlpi_name);
	if (strstr(info->dlpi_name, "/libcrypto.so") == NULL)
		return 0;
	assert_int_equal(stat(info->dlpi_name, &status), 0);
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0)
			continue;
		map.inode = status.st_ino;
		map.device = status.st_dev;
		map.start = info->dlpi_addr + header->p_vaddr;
		map.end = map.start + header->p_filesz;
		map.file_offset = header->p_offset;
		library->code = (DescribedMapping){ map.start, map.end, map.file_offset, NULL };
	}
	assert_int_equal(mapped_file_acquire_mapping(library->files, 0, (uint32_t) getpid(), &map,
												 &library->code.file),
					 0);
	return 1;
}

static void
set_up_library(Library *library, TableCache *cache)
{
	*library = (Library){ .process = { (uint32_t) getpid(), 1, 1 } };
	library->kernel = memory_tables_create();
	assert_int_equal(mapped_file_table_create(&library->files), 0);
	assert_int_equal(dl_iterate_phdr(find_code, library), 1);
	assert_int_equal(unwind_tables_create(library->files, library->kernel, cache, &library->tables),
					 0);
	assert_int_equal(unwind_tables_describe(library->tables, &library->process, 0, &library->code,
											1, 0),
					 0);
}

/* All memory of a library's tables is released when no process maps it. */
static void
tear_down_library(Library *library)
{
	UnwinderStats stats;

	unwind_tables_forget(library->tables, &library->process, library->now_ns);
	unwind_tables_sweep(library->tables, library->now_ns + 1, 0);
	unwind_tables_stats(library->tables, &stats);
	assert_int_equal(stats.lines, 0);
	assert_int_equal(stats.entries, 0);
	unwind_tables_free(library->tables);
	mapped_file_release(library->files, library->code.file);
	mapped_file_table_free(library->files);
	memory_tables_free(library->kernel);
}

/*
 * Walks from an address in the library, over a stack full of such addresses, and loads the tables
 * that it needs.
 */
static size_t
walk_library(Library *library, uint64_t offset, uint64_t frames[MAX_FRAMES], int *status)
{
	uint64_t length = library->code.end - library->code.start;
	struct pfs_late *late = calloc(1, sizeof(*late));
	uint64_t random = offset;
	size_t count = 0;

	assert_non_null(late);
	late->at = (struct pfs_walk_state){
		.pc = library->code.start + offset, .sp = 0x7000, .fp = 0x7100, .innermost = 1
	};
	late->address = 0x7000;
	late->chunks = 1;
	late->length = PFS_LATE_CHUNK_BYTES;
	for (size_t i = 0; i < PFS_LATE_CHUNK_BYTES / 8; i++)
	{
		uint64_t word;

		random = random * 6364136223846793005 + 1442695040888963407;
		word = library->code.start + (random >> 33) % length;
		memcpy(late->bytes + 8 * i, &word, sizeof(word));
	}
	for (int tries = 0; tries < MAX_FRAMES; tries++)
	{
		count = unwind_tables_walk(library->tables, &library->process, 1, late, 1, false, frames,
								   NULL, MAX_FRAMES, status);
		if (*status != PFS_WALK_NO_TABLE)
			break;
		assert_int_not_equal(unwind_tables_want(library->tables, &library->process, OWNER,
												frames[count - 1], library->now_ns),
							 0);
		assert_int_not_equal(unwind_tables_load_wanted(library->tables, library->now_ns), 0);
	}
	assert_int_not_equal(*status, PFS_WALK_NO_TABLE);
	free(late);
	return count;
}

/* Walks from addresses in all of the code. */
static void
assert_same_walks(Library *one, Library *other)
{
	for (uint64_t offset = 1; offset < one->code.end - one->code.start; offset += 3989)
	{
		uint64_t frames[MAX_FRAMES];
		uint64_t other_frames[MAX_FRAMES];
		int status;
		int other_status;
		size_t count = walk_library(one, offset, frames, &status);

		assert_int_equal(walk_library(other, offset, other_frames, &other_status), count);
		assert_int_equal(status, other_status);
		assert_memory_equal(frames, other_frames, count * sizeof(*frames));
	}
}

static TableCache *
open_cache(char *directory)
{
	TableCache *cache;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(table_cache_open(directory, 64 << 20, &cache), 0);
	return cache;
}

static void
remove_cache(const char *directory)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	assert_int_equal(system(command), 0);
}

/*
 * Of a large cached table the parts that walks need are loaded. These walks end where those by the
 * whole table do.
 */
static void
test_table_by_parts(void **state)
{
	char directory[] = "/tmp/unwind_parts_XXXXXX";
	TableCache *cache = open_cache(directory);
	uint64_t frames[MAX_FRAMES];
	UnwinderStats whole;
	UnwinderStats parts;
	Library by_whole;
	Library by_parts;
	int status;

	(void) state;
	assert_non_null(dlopen("libcrypto.so.3", RTLD_NOW));
	set_up_library(&by_whole, NULL);
	set_up_library(&by_parts, cache);
	(void) walk_library(&by_whole, 0x10000, frames, &status);
	(void) walk_library(&by_parts, 0x10000, frames, &status);
	unwind_tables_stats(by_whole.tables, &whole);
	unwind_tables_stats(by_parts.tables, &parts);
	assert_true(whole.lines >= PACKED_WHOLE_LINES);
	assert_in_range(parts.lines, 1, whole.lines / 4);
	assert_int_equal(parts.loaded, 1);
	assert_int_equal(parts.entries, whole.entries);

	assert_same_walks(&by_whole, &by_parts);
	unwind_tables_stats(by_parts.tables, &parts);
	assert_int_equal(parts.lines, whole.lines);
	assert_int_equal(parts.rules, whole.rules);
	assert_int_equal(parts.loaded, 1);
	assert_true(parts.parts > 16);
	tear_down_library(&by_whole);
	tear_down_library(&by_parts);
	table_cache_close(cache);
	remove_cache(directory);
}

/* Parts whose file was removed or damaged are compiled again, and the file is rewritten. */
static void
test_lost_parts(void **state)
{
	static const char *const harms[] = { "rm", "truncate -s -1" };
	char directory[] = "/tmp/unwind_parts_XXXXXX";
	TableCache *cache = open_cache(directory);
	uint64_t frames[MAX_FRAMES];
	UnwinderStats stats;
	Library whole;
	int status;

	(void) state;
	assert_non_null(dlopen("libcrypto.so.3", RTLD_NOW));
	set_up_library(&whole, NULL);
	for (size_t i = 0; i < 2; i++)
	{
		Library library;
		char command[128];

		set_up_library(&library, cache);
		(void) walk_library(&library, 0x10000, frames, &status);
		snprintf(command, sizeof(command), "%s %s/*.unwind", harms[i], directory);
		assert_int_equal(system(command), 0);
		assert_same_walks(&whole, &library);
		unwind_tables_stats(library.tables, &stats);
		assert_int_equal(stats.loaded, 2);
		assert_int_equal(stats.cached, i);
		assert_int_equal(stats.load_failures, 0);
		tear_down_library(&library);
	}
	tear_down_library(&whole);
	table_cache_close(cache);
	remove_cache(directory);
}

/* Without a cached file no parts are omitted. */
static void
test_no_parts_without_a_file(void **state)
{
	char directory[] = "/tmp/unwind_parts_XXXXXX";
	TableCache *cache = open_cache(directory);
	uint64_t frames[MAX_FRAMES];
	UnwinderStats stats;
	UnwinderStats all;
	Library library;
	Library whole;
	int status;

	(void) state;
	assert_non_null(dlopen("libcrypto.so.3", RTLD_NOW));
	set_up_library(&whole, NULL);
	(void) walk_library(&whole, 0x10000, frames, &status);
	unwind_tables_stats(whole.tables, &all);
	set_up_library(&library, cache);
	remove_cache(directory);
	(void) walk_library(&library, 0x10000, frames, &status);
	unwind_tables_stats(library.tables, &stats);
	assert_int_equal(stats.lines, all.lines);
	assert_true(stats.cache_failures > 0);
	tear_down_library(&library);

	/* the file is removed while some parts are not loaded */
	table_cache_close(cache);
	cache = open_cache(strcpy(directory, "/tmp/unwind_parts_XXXXXX"));
	set_up_library(&library, cache);
	(void) walk_library(&library, 0x10000, frames, &status);
	unwind_tables_stats(library.tables, &stats);
	assert_true(stats.lines < all.lines);
	remove_cache(directory);
	assert_same_walks(&whole, &library);
	unwind_tables_stats(library.tables, &stats);
	assert_int_equal(stats.lines, all.lines);
	assert_int_equal(stats.loaded, 2);
	tear_down_library(&library);
	tear_down_library(&whole);
	table_cache_close(cache);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_little_memory),
		cmocka_unit_test(test_full_tables),
		cmocka_unit_test(test_owner_with_most),
		cmocka_unit_test(test_shared_tables),
		cmocka_unit_test(test_too_large_table),
		cmocka_unit_test(test_full_mappings),
		cmocka_unit_test(test_generated_code_is_bounded),
		cmocka_unit_test(test_generated_code_of_owners),
		cmocka_unit_test(test_generated_code_of_newcomer),
		cmocka_unit_test(test_generated_rules_of_owners),
		cmocka_unit_test(test_full_rules),
		cmocka_unit_test(test_sparse_program),
		cmocka_unit_test(test_table_by_parts),
		cmocka_unit_test(test_lost_parts),
		cmocka_unit_test(test_no_parts_without_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
