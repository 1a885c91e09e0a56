/*
 * test_jitdump.c
 *		Jitdumps: records cut at every byte and invented ones, and the dump of a process that loads,
 *		moves and replaces code at times that it reports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "jit/jit_names.h"
#include "jit/jitdump.h"

#define LIMIT_BYTES ((size_t) 16 << 20)
#define CODE		UINT64_C(0x100000)

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

/* Bytes of a dump, as a runtime would write them. */
typedef struct Bytes
{
	uint8_t at[4096];
	size_t length;
} Bytes;

static void
put(Bytes *bytes, const void *data, size_t length)
{
	assert_true(bytes->length + length <= sizeof(bytes->at));
	memcpy(bytes->at + bytes->length, data, length);
	bytes->length += length;
}

static void
put_u32(Bytes *bytes, uint32_t value)
{
	put(bytes, &value, sizeof(value));
}

static void
put_u64(Bytes *bytes, uint64_t value)
{
	put(bytes, &value, sizeof(value));
}

static void
put_prefix(Bytes *bytes, uint32_t kind, size_t length, uint64_t time_ns)
{
	put_u32(bytes, kind);
	put_u32(bytes, (uint32_t) length);
	put_u64(bytes, time_ns);
}

static void
put_header(Bytes *bytes)
{
	put_u32(bytes, 0x4a695444);
	put_u32(bytes, 1);
	put_u32(bytes, 40);
	put_u32(bytes, MACHINE);
	put_u32(bytes, 0xdeadbeef);
	put_u32(bytes, 1);
	put_u64(bytes, 0);
	put_u64(bytes, 0);
}

static void
put_load(Bytes *bytes, uint64_t time_ns, uint64_t start, uint64_t size, const char *name)
{
	put_prefix(bytes, 0, 56 + strlen(name) + 1 + size, time_ns);
	put_u32(bytes, 1);
	put_u32(bytes, 1);
	put_u64(bytes, start);
	put_u64(bytes, start);
	put_u64(bytes, size);
	put_u64(bytes, 0);
	put(bytes, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		put(bytes, "\xcc", 1);
}

static void
put_move(Bytes *bytes, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size)
{
	put_prefix(bytes, 1, 64, time_ns);
	put_u64(bytes, 0);
	put_u64(bytes, to);
	put_u64(bytes, from);
	put_u64(bytes, to);
	put_u64(bytes, size);
	put_u64(bytes, 0);
}

static void
put_debug(Bytes *bytes, uint64_t time_ns, uint64_t start, const char *file, uint32_t line)
{
	put_prefix(bytes, 2, 32 + 2 * (16 + strlen(file) + 1), time_ns);
	put_u64(bytes, start);
	put_u64(bytes, 2);
	for (uint32_t i = 0; i < 2; i++)
	{
		put_u64(bytes, start + i);
		put_u32(bytes, line + i);
		put_u32(bytes, 0);
		put(bytes, file, strlen(file) + 1);
	}
}

static void
test_header(void **state)
{
	static const struct
	{
		size_t offset;
		uint32_t value;
		int result;
	} cases[] = {
		{ 0, 0x4a695444, 0 },		 { 0, 0x4454694a, -ENOTSUP }, { 0, 0, -EBADMSG },
		{ 4, 2, -ENOTSUP },			 { 8, 39, -EBADMSG },		  { 8, 48, 0 },
		{ 8, 0xffffffff, -EBADMSG }, { 12, EM_S390, -ENOTSUP },	  { 32, 1, -ENOTSUP },
		{ 20, 0xffffffff, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		Bytes bytes = { .length = 0 };
		uint64_t length = 0;

		put_header(&bytes);
		memcpy(bytes.at + cases[i].offset, &cases[i].value, sizeof(cases[i].value));
		assert_int_equal(jitdump_parse_header(bytes.at, bytes.length, &length), cases[i].result);
		if (cases[i].result == 0)
			assert_int_equal(length, cases[i].offset == 8 ? cases[i].value : 40);
		for (size_t cut = 0; cut < bytes.length; cut++)
			assert_int_equal(jitdump_parse_header(bytes.at, cut, &length), -EAGAIN);
	}
}

/*
 * Expected result of each record by the number of bytes that have arrived; nothing after them is
 * readable.
 */
static void
check_cuts(const Bytes *bytes, size_t needed)
{
	JitdumpRecord record;

	for (size_t cut = 0; cut <= bytes->length; cut++)
	{
		uint8_t *copy = malloc(cut + 1);

		assert_non_null(copy);
		memcpy(copy, bytes->at, cut);
		assert_int_equal(jitdump_parse_record(copy, cut, &record), cut < needed ? -EAGAIN : 0);
		free(copy);
	}
	assert_int_equal(record.length, bytes->length);
	assert_int_equal(record.time_ns, 7);
}

static void
test_records(void **state)
{
	JitdumpRecord record;
	Bytes load = { .length = 0 };
	Bytes move = { .length = 0 };
	Bytes debug = { .length = 0 };
	Bytes other = { .length = 0 };

	put_load(&load, 7, CODE, 32, "name");
	check_cuts(&load, 56 + 5);
	assert_int_equal(jitdump_parse_record(load.at, load.length, &record), 0);
	assert_int_equal(record.kind, JITDUMP_LOAD);
	assert_int_equal(record.start, CODE);
	assert_int_equal(record.end, CODE + 32);
	assert_string_equal(record.text, "name");

	put_move(&move, 7, CODE, 2 * CODE, 32);
	check_cuts(&move, 64);
	assert_int_equal(jitdump_parse_record(move.at, move.length, &record), 0);
	assert_int_equal(record.kind, JITDUMP_MOVE);
	assert_int_equal(record.from, CODE);
	assert_int_equal(record.start, 2 * CODE);

	put_debug(&debug, 7, CODE, "file.x", 12);
	check_cuts(&debug, 32 + 16 + 7);
	assert_int_equal(jitdump_parse_record(debug.at, debug.length, &record), 0);
	assert_int_equal(record.kind, JITDUMP_DEBUG);
	assert_int_equal(record.line, 12);
	assert_string_equal(record.text, "file.x");

	put_prefix(&other, 4, 40, 7);
	put(&other, debug.at, 24);
	check_cuts(&other, 16);
}

/* Invalid numbers: each of these is put into each field of each kind of record. */
static void
test_bad_numbers(void **state)
{
	static const uint64_t numbers[] = {
		0, 1, 15, 16, 55, 56, 63, 0x7fffffff, 0xffffffff, UINT64_C(1) << 56, INT64_MAX, UINT64_MAX
	};
	size_t results[2] = { 0, 0 };

	for (uint32_t kind = 0; kind < 5; kind++)
	{
		for (size_t place = 4; place <= 56; place += 4)
		{
			for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			{
				JitdumpRecord record;
				Bytes bytes = { .length = 0 };
				int result;

				put_load(&bytes, 7, CODE, 32, "a name");
				memcpy(bytes.at, &kind, sizeof(kind));
				memcpy(bytes.at + place, &numbers[i], place == 4 ? 4 : 8);
				result = jitdump_parse_record(bytes.at, bytes.length, &record);
				assert_true(result == 0 || result == -EAGAIN || result == -EBADMSG);
				results[result == 0]++;
				if (result == 0)
				{
					assert_true(record.length >= 16);
					assert_true(record.end >= record.start);
					assert_true(record.end <= UINT64_C(1) << 56);
					assert_true(record.line >= 0);
				}
			}
		}
	}
	assert_true(results[0] > 100 && results[1] > 100);
}

/* A dump of this process, mapped as a runtime in it would do. */
typedef struct World
{
	char path[64];
	int fd;
	void *marker;
	JitNames *names;
	CodeNamer namer;
	ExecImage image;
} World;

static void
begin(World *world)
{
	Bytes bytes = { .length = 0 };

	*world = (World){ .image = { .pid = (uint32_t) getpid(), .start_time_ns = 1, .exec_id = 1 } };
	snprintf(world->path, sizeof(world->path), "/tmp/jit-%d.dump", getpid());
	world->fd = open(world->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(world->fd >= 0);
	put_header(&bytes);
	assert_int_equal(write(world->fd, bytes.at, bytes.length), bytes.length);
	world->marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, world->fd, 0);
	assert_ptr_not_equal(world->marker, MAP_FAILED);
	assert_int_equal(jit_names_create(LIMIT_BYTES, &world->names), 0);
	world->namer = jit_names_namer(world->names);
}

static void
end(World *world)
{
	jit_names_free(world->names);
	(void) munmap(world->marker, 4096);
	(void) close(world->fd);
	(void) unlink(world->path);
}

static void
append(const World *world, const uint8_t *bytes, size_t length)
{
	assert_int_equal(write(world->fd, bytes, length), length);
}

static uint64_t
now(void)
{
	/* longer than the pause between two readings */
	const struct timespec pause = { 0, 12000000 };

	(void) nanosleep(&pause, NULL);
	return (uint64_t) clock_ns(CLOCK_MONOTONIC);
}

/* Returns the name of the frame at time_ns; "" if it is unknown. */
static CodeName
code_at(World *world, uint64_t address, uint64_t time_ns)
{
	static char name[64];
	static char file[64];
	const UserFrame frame = { .code = address };
	CodeName result = { "", name, file, 0, 0 };
	CodeObject *objects[CODE_INLINED_MAX];
	CodeObject *code = NULL;

	world->namer.prepare(world->namer.context, &world->image, &(CodeWalk){ .time_ns = time_ns });
	if (world->namer.name(world->namer.context, &world->image, &frame, time_ns, objects) > 0)
		code = objects[0];
	snprintf(name, sizeof(name), "%s", code != NULL ? code_object_name(code)->name : "");
	snprintf(file, sizeof(file), "%s", code != NULL ? code_object_name(code)->file : "");
	if (code != NULL)
		result.line = code_object_name(code)->line;
	code_object_release(code);
	return result;
}

static const char *
name_at(World *world, uint64_t address, uint64_t time_ns)
{
	return code_at(world, address, time_ns).name;
}

/* Waits until code has this name, at most for a limit that a busy machine needs. */
static void
expect_name(World *world, uint64_t address, const char *expected)
{
	const char *name = "";

	for (int i = 0; i < 500 && strcmp(name, expected) != 0; i++)
		name = name_at(world, address, now());
	assert_string_equal(name, expected);
}

/*
 * Three functions in turn at one address, and code that moves: names are exact to the nanosecond.
 */
static void
test_names_of_the_time(void **state)
{
	Bytes bytes = { .length = 0 };
	JitNamesStats stats;
	CodeName code;
	World world;
	uint64_t t;

	begin(&world);
	t = now() - 1000000;
	put_load(&bytes, t, CODE, 16, "first");
	put_load(&bytes, t + 10, CODE, 16, "second");
	put_move(&bytes, t + 20, CODE, CODE + 0x100, 16);
	put_debug(&bytes, t + 25, CODE, "third.jl", 33);
	put_load(&bytes, t + 30, CODE, 16, "third");
	put_prefix(&bytes, 3, 16, t + 31); /* a record "close" */
	append(&world, bytes.at, bytes.length);
	expect_name(&world, CODE + 8, "third");
	assert_string_equal(name_at(&world, CODE + 8, t), "");
	assert_string_equal(name_at(&world, CODE + 8, t + 1), "first");
	assert_string_equal(name_at(&world, CODE + 8, t + 9), "first");
	assert_string_equal(name_at(&world, CODE + 8, t + 11), "second");
	assert_string_equal(name_at(&world, CODE + 8, t + 21), "");
	assert_string_equal(name_at(&world, CODE + 0x108, t + 19), "");
	assert_string_equal(name_at(&world, CODE + 0x108, t + 21), "second");
	code = code_at(&world, CODE + 8, t + 31);
	assert_string_equal(code.name, "third");
	assert_string_equal(code.file, "third.jl");
	assert_int_equal(code.line, 33);
	assert_string_equal(name_at(&world, CODE + 16, t + 31), "");
	jit_names_stats(world.names, &stats);
	assert_int_equal(stats.dumps.files, 1);
	assert_int_equal(stats.dumps.pieces, 6);
	assert_int_equal(stats.dumps.bad, 0);
	end(&world);
}

/* The dump arrives byte by byte, and code gets its name only from records that have arrived. */
static void
test_growing_dump(void **state)
{
	Bytes bytes = { .length = 0 };
	World world;
	uint64_t t;

	begin(&world);
	assert_string_equal(name_at(&world, CODE, now()), "");
	t = now();
	put_load(&bytes, t, CODE, 2000, "grown");
	append(&world, bytes.at, 30);
	assert_string_equal(name_at(&world, CODE, now()), "");
	append(&world, bytes.at + 30, 30);
	assert_string_equal(name_at(&world, CODE, now()), "");
	append(&world, bytes.at + 60, 40);
	expect_name(&world, CODE, "grown");
	append(&world, bytes.at + 100, bytes.length - 100);
	bytes.length = 0;
	put_load(&bytes, t + 1, CODE + 1000, 16, "behind");
	append(&world, bytes.at, bytes.length);
	expect_name(&world, CODE + 1000, "behind");
	end(&world);
}

/* A deleted file stays mapped; after it was emptied and rewritten, it describes other code. */
static void
test_rewritten_dump(void **state)
{
	Bytes bytes = { .length = 0 };
	World world;
	uint64_t t;

	begin(&world);
	assert_int_equal(unlink(world.path), 0);
	t = now();
	put_load(&bytes, t, CODE, 16, "before");
	put_load(&bytes, t, CODE + 0x100, 16, "gone");
	append(&world, bytes.at, bytes.length);
	expect_name(&world, CODE, "before");
	assert_int_equal(ftruncate(world.fd, 0), 0);
	assert_int_equal(lseek(world.fd, 0, SEEK_SET), 0);
	bytes.length = 0;
	put_header(&bytes);
	put_load(&bytes, now(), CODE, 16, "after");
	append(&world, bytes.at, bytes.length);
	expect_name(&world, CODE, "after");
	assert_string_equal(name_at(&world, CODE + 0x100, now()), "");
	end(&world);
}

/* Invalid bytes end the file: earlier records stay valid for their time only. */
static void
test_broken_dump(void **state)
{
	Bytes bytes = { .length = 0 };
	JitNamesStats stats;
	World world;
	uint64_t t;

	begin(&world);
	t = now();
	put_load(&bytes, t, CODE, 16, "first");
	put_load(&bytes, t + 10, CODE + 0x100, 16, "last");
	put_prefix(&bytes, 0, 15, t + 20);
	put_load(&bytes, t + 30, CODE, 16, "not read");
	append(&world, bytes.at, bytes.length);
	while (name_at(&world, CODE, t + 5)[0] == '\0')
		assert_string_equal(name_at(&world, CODE, now()), "");
	assert_string_equal(name_at(&world, CODE, t + 5), "first");
	jit_names_stats(world.names, &stats);
	assert_int_equal(stats.dumps.bad, 1);
	end(&world);

	begin(&world);
	assert_int_equal(pwrite(world.fd, "JiTD", 4, 0), 4); /* the other byte order */
	do
	{
		assert_string_equal(name_at(&world, CODE, now()), "");
		jit_names_stats(world.names, &stats);
	} while (stats.dumps.files == 0);
	assert_int_equal(stats.dumps.refused, 1);
	end(&world);
}

/* A dump that is larger than one read, most of it code. */
static void
test_long_dump(void **state)
{
	static const char zeros[32768];
	World world;
	uint64_t t;
	const char *name;

	begin(&world);
	t = now();
	for (uint64_t i = 0; i < 1000; i++)
	{
		Bytes bytes = { .length = 0 };
		uint32_t length;

		put_load(&bytes, t + i, CODE + 0x100 * (i % 7), 16, i % 2 ? "odd" : "even");
		length = (uint32_t) (bytes.length + sizeof(zeros));
		memcpy(bytes.at + 4, &length, sizeof(length));
		append(&world, bytes.at, bytes.length);
		append(&world, (const uint8_t *) zeros, sizeof(zeros));
	}
	do
		name = name_at(&world, CODE, now());
	while (name[0] == '\0');
	assert_string_equal(name, "even"); /* function 994 */
	assert_string_equal(name_at(&world, CODE, t + 988), "odd");
	end(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),		 cmocka_unit_test(test_records),
		cmocka_unit_test(test_bad_numbers),	 cmocka_unit_test(test_names_of_the_time),
		cmocka_unit_test(test_growing_dump), cmocka_unit_test(test_rewritten_dump),
		cmocka_unit_test(test_broken_dump),	 cmocka_unit_test(test_long_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
