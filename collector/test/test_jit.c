/*
 * test_jit.c
 *		Perf maps: lines, code at an address over time, and maps of a process that writes, rewrites
 *		and fakes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "jit/code_map.h"
#include "jit/jit_names.h"
#include "jit/jit_source.h"
#include "jit/perf_map.h"
#include "process/mapping_list.h"

#define LIMIT_BYTES ((size_t) 16 << 20)

/* Largest delay of a file's time, with a margin. */
#define FILE_CLOCK_US 60000

static void
test_lines(void **state)
{
	static const struct
	{
		const char *line;
		uint64_t start;
		uint64_t end;
		const char *name; /* NULL: not a valid line */
	} cases[] = {
		{ "7f0000001000 20 foo", 0x7f0000001000, 0x7f0000001020, "foo" },
		{ "0x00007f0000001000 0x0000000000000020 a b, c", 0x7f0000001000, 0x7f0000001020,
		  "a b, c" },
		{ "  10\t20   x\r", 0x10, 0x30, "x" },
		{ "AbC 1 x", 0xabc, 0xabd, "x" },
		{ "0 1 x", 0, 1, "x" },
		{ "", 0, 0, NULL },
		{ "10", 0, 0, NULL },
		{ "10 20", 0, 0, NULL },
		{ "10 20 ", 0, 0, NULL },
		{ "10 20 \r", 0, 0, NULL },
		{ "10 0 x", 0, 0, NULL },
		{ "g 10 x", 0, 0, NULL },
		{ "0x 10 x", 0, 0, NULL },
		{ "-1 10 x", 0, 0, NULL },
		{ "10 1g x", 0, 0, NULL },
		{ "ffffffffffffffff 10 x", 0, 0, NULL },
		{ "10 ffffffffffffffff x", 0, 0, NULL },
		{ "10000000000000000 1 x", 0, 0, NULL },
		{ "ffffffffffffff 10 x", 0, 0, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char line[128];
		PerfMapLine parsed;

		strcpy(line, cases[i].line);
		assert_int_equal(perf_map_parse_line(line, &parsed), cases[i].name != NULL);
		if (cases[i].name == NULL)
			continue;
		assert_int_equal(parsed.start, cases[i].start);
		assert_int_equal(parsed.end, cases[i].end);
		assert_string_equal(parsed.name, cases[i].name);
	}
}

static void
test_marks(void **state)
{
	static const struct
	{
		const char *text;
		CodeName name;
	} cases[] = {
		{ "JS:*f /app/x.js:12:7", { "[javascript]", "f", "/app/x.js", 12, 12 } },
		{ "JS:~ node:internal/x:3:1", { "[javascript]", "(anonymous)", "node:internal/x", 3, 3 } },
		{ "JS:^g file:///a b.js:4", { "[javascript]", "g", "file:///a b.js", 4, 4 } },
		{ "LazyCompile:h x:1:2", { "[javascript]", "h", "x", 1, 1 } },
		{ "JS:*", { "[javascript]", "(anonymous)", "", 0, 0 } },
		{ "JS:f x:99999999999:1", { "[javascript]", "f", "x:99999999999", 1, 1 } },
		{ "py::Class.method:/app/y.py", { "[python]", "Class.method", "/app/y.py", 0, 0 } },
		{ "py::", { "[python]", "(anonymous)", "", 0, 0 } },
		{ "void [a] B::c()[Tier0]", { "[jit]", "void [a] B::c()", "", 0, 0 } },
		{ "[Tier0]", { "[jit]", "[Tier0]", "", 0, 0 } },
		{ "$lists:map/2", { "[erlang]", "lists:map/2", "", 0, 0 } },
		{ "$", { "[jit]", "$", "", 0, 0 } },
		{ "$x", { "[jit]", "$x", "", 0, 0 } },
		{ "TRACE-12$Shop::total$7", { "[php]", "Shop::total", "", 0, 0 } },
		{ "TRACE-1$/app/index.php$3", { "[php]", "/app/index.php", "", 0, 0 } },
		{ "TRACE-1$a$b$3", { "[php]", "a$b", "", 0, 0 } },
		{ "JIT$total", { "[php]", "total", "", 0, 0 } },
		{ "JIT$$trace_exit", { "[jit]", "JIT$$trace_exit", "", 0, 0 } },
		{ "JIT$", { "[jit]", "JIT$", "", 0, 0 } },
		{ "TRACE-", { "[jit]", "TRACE-", "", 0, 0 } },
		{ "TRACE-1", { "[jit]", "TRACE-1", "", 0, 0 } },
		{ "TRACE-1$", { "[jit]", "TRACE-1$", "", 0, 0 } },
		{ "TRACE-1$$3", { "[jit]", "TRACE-1$$3", "", 0, 0 } },
		{ "TRACE-1$f", { "[jit]", "TRACE-1$f", "", 0, 0 } },
		{ "TRACE-x$f$1", { "[jit]", "TRACE-x$f$1", "", 0, 0 } },
		{ "TRACE-1$f$1x", { "[jit]", "TRACE-1$f$1x", "", 0, 0 } },
		{ "java.lang.String::hashCode", { "[jit]", "java.lang.String::hashCode", "", 0, 0 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char text[128];
		CodeName name;

		strcpy(text, cases[i].text);
		name = perf_map_name(text);
		assert_string_equal(name.runtime, cases[i].name.runtime);
		assert_string_equal(name.name, cases[i].name.name);
		assert_string_equal(name.file, cases[i].name.file);
		assert_int_equal(name.start_line, cases[i].name.start_line);
		assert_int_equal(name.line, cases[i].name.line);
	}
}

/* All reports in their order, for a slow and simple oracle. */
typedef struct Told
{
	uint64_t start;
	uint64_t end;
	CodeObject *code;
	size_t look;
} Told;

#define ROUNDS	   24
#define LOOKS	   40
#define TOLD_MAX   4000
#define ADDRESSES  400
#define LOOK_NS(i) (1000 + 100 * (uint64_t) (i))

/* Returns the code at an address. exact: readings happen at the moments at which code appears. */
static CodeObject *
plain_answer(const Told *told, size_t count, bool exact, uint64_t address, uint64_t time_ns)
{
	CodeObject *found = NULL;

	for (size_t i = 0; i < count; i++)
	{
		size_t gone = LOOKS; /* the reading in which the code was missing */

		if (address < told[i].start || address >= told[i].end)
			continue;
		for (size_t later = i + 1; later < count && gone == LOOKS; later++)
		{
			if (told[later].start < told[i].end && told[i].start < told[later].end)
				gone = told[later].look;
		}
		if (gone < LOOKS && LOOK_NS(gone) <= time_ns)
			continue;
		if (exact ? LOOK_NS(told[i].look) >= time_ns
				  : told[i].look > 0 && LOOK_NS(told[i].look - 1) >= time_ns)
			continue;
		if (found != NULL && found != told[i].code)
			return NULL;
		found = told[i].code;
	}
	return found;
}

/* For random code and random times, the map's answer equals that of the oracle. */
static void
test_code_map(void **state)
{
	Budget budget = { .limit_bytes = LIMIT_BYTES };
	Told *told = calloc(TOLD_MAX, sizeof(*told));
	CodeTable *table;
	CodeObject *codes[8];
	size_t answers = 0;

	assert_non_null(told);
	assert_int_equal(code_table_create(LIMIT_BYTES, &table), 0);
	for (size_t i = 0; i < 8; i++)
	{
		const char letters[] = { (char) ('a' + i), '\0' };

		codes[i] = code_table_add(table, &(CodeName){ "[jit]", letters, "", 0, 0 });
		assert_non_null(codes[i]);
	}
	srandom(20261122);
	for (int round = 0; round < ROUNDS; round++)
	{
		CodeMap map;
		size_t count = 0;
		/* sizes from crowded to sparse, so that there are runs of empty places */
		uint64_t most = (uint64_t) 1 << (round % 6);
		bool exact = round >= ROUNDS / 2;

		code_map_init(&map, &budget);
		for (size_t at = 0; at < LOOKS; at++)
		{
			size_t added = (size_t) random() % 100;

			if (exact)
				code_map_at(&map, LOOK_NS(at));
			else
				code_map_look(&map, LOOK_NS(at));
			for (size_t i = 0; i < added; i++)
			{
				uint64_t start = (uint64_t) random() % ADDRESSES;
				uint64_t end = start + 1 + (uint64_t) random() % most;
				CodeObject *code = codes[random() % 8];

				told[count++] = (Told){ start, end, code, at };
				assert_int_equal(code_map_add(&map, start, end, code_object_retain(code)), 0);
			}
			for (int i = 0; i < 50; i++)
			{
				uint64_t address = (uint64_t) random() % (ADDRESSES + 40);
				uint64_t time_ns = LOOK_NS(at) - (uint64_t) random() % 1000;
				CodeObject *answer = code_map_find(&map, address, time_ns);

				assert_ptr_equal(answer, plain_answer(told, count, exact, address, time_ns));
				answers += answer != NULL;
				code_object_release(answer);
			}
		}
		code_map_fini(&map);
	}
	assert_true(answers > 5000);
	assert_int_equal(budget.used_bytes, 0);
	for (size_t i = 0; i < 8; i++)
		code_object_release(codes[i]);
	code_table_free(table);
	free(told);
}

/*
 * Lines whose cost would be quadratic if each one passed over all places that earlier ones left
 * empty.
 */
static void
test_code_map_cost(void **state)
{
	const uint64_t count = 100000;
	Budget budget = { .limit_bytes = (size_t) 64 << 20 };
	CodeTable *table;
	CodeObject *code;
	CodeMap map;
	clock_t begin = clock();

	assert_int_equal(code_table_create(LIMIT_BYTES, &table), 0);
	code = code_table_add(table, &(CodeName){ "[jit]", "f", "", 0, 0 });
	code_map_init(&map, &budget);
	code_map_look(&map, 1);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(code_map_add(&map, 16 * i, 16 * i + 16, code_object_retain(code)), 0);
	/* half of the code is removed, then each line passes over the empty places */
	assert_int_equal(code_map_add(&map, 0, 8 * count, code_object_retain(code)), 0);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(code_map_add(&map, 16 * (i % 1000), 8 * count, code_object_retain(code)),
						 0);
	print_message("%.2f s\n", (double) (clock() - begin) / CLOCKS_PER_SEC);
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
	code_map_fini(&map);
	code_object_release(code);
	code_table_free(table);
}

/*
 * If more code goes at once than is remembered, there is no answer rather than a wrong or slow one.
 */
static void
test_much_gone(void **state)
{
	Budget budget = { .limit_bytes = LIMIT_BYTES };
	CodeTable *table;
	CodeObject *code;
	CodeObject *found;
	CodeMap map;

	assert_int_equal(code_table_create(LIMIT_BYTES, &table), 0);
	code = code_table_add(table, &(CodeName){ "[jit]", "f", "", 0, 0 });
	code_map_init(&map, &budget);
	code_map_look(&map, 100);
	for (uint64_t i = 0; i <= CODE_MAP_GONE_MAX; i++)
		assert_int_equal(code_map_add(&map, 16 * i, 16 * i + 16, code_object_retain(code)), 0);
	code_map_look(&map, 200);
	code_map_void(&map);
	assert_true(map.gone_count <= CODE_MAP_GONE_MAX);
	assert_int_equal(code_map_add(&map, 0, 16, code_object_retain(code)), 0);
	assert_null(code_map_find(&map, 8, 150));
	found = code_map_find(&map, 8, 201);
	assert_ptr_equal(found, code);
	code_object_release(found);
	code_map_fini(&map);
	assert_int_equal(budget.used_bytes, 0);
	code_object_release(code);
	code_table_free(table);
}

/* A map of this process, as a runtime in it would write it. */
typedef struct World
{
	char path[64];
	JitNames *names;
	CodeNamer namer;
	ExecImage image;
} World;

static void
begin(World *world)
{
	*world = (World){ .image = { .pid = (uint32_t) getpid(), .start_time_ns = 1, .exec_id = 1 } };
	snprintf(world->path, sizeof(world->path), "/tmp/perf-%d.map", getpid());
	(void) unlink(world->path);
	assert_int_equal(jit_names_create(LIMIT_BYTES, &world->names), 0);
	world->namer = jit_names_namer(world->names);
}

static void
end(World *world)
{
	jit_names_free(world->names);
	(void) unlink(world->path);
}

static void
write_map(const World *world, const char *mode, const char *text)
{
	FILE *file = fopen(world->path, mode);

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/*
 * Returns the time after the pause between two readings: 10 ms, or four times the CPU time of the
 * reading, which is longer on a slow processor. This process has used at least that time since the
 * last call.
 */
static uint64_t
now(void)
{
	static int64_t last_used_ns;
	int64_t used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int64_t pause_us = 12000 + 4 * (used_ns - last_used_ns) / 1000;

	(void) usleep(pause_us < 500000 ? (useconds_t) pause_us : 500000);
	last_used_ns = used_ns;
	return (uint64_t) clock_ns(CLOCK_MONOTONIC);
}

/* Returns the name of the frame at time_ns; "" if it is unknown. */
static const char *
name_at(World *world, uint64_t address, uint64_t time_ns)
{
	static char name[64];
	const UserFrame frame = { .code = address };
	CodeObject *objects[CODE_INLINED_MAX];
	CodeObject *code = NULL;

	world->namer.prepare(world->namer.context, &world->image, &(CodeWalk){ .time_ns = time_ns });
	if (world->namer.name(world->namer.context, &world->image, &frame, time_ns, objects) > 0)
		code = objects[0];
	snprintf(name, sizeof(name), "%s", code != NULL ? code_object_name(code)->name : "");
	code_object_release(code);
	return name;
}

static void
test_growing_map(void **state)
{
	World world;
	uint64_t before_ns;
	uint64_t after_ns;

	begin(&world);
	write_map(&world, "w", "1000 10 first\n2000 10 sec");
	assert_string_equal(name_at(&world, 0x1008, now()), "first");
	assert_string_equal(name_at(&world, 0x2008, now()), "");
	/* the third function may or may not have existed when the first was last seen */
	before_ns = now();
	write_map(&world, "a", "ond\n1000 10 third\n");
	assert_string_equal(name_at(&world, 0x1008, before_ns), "");
	assert_string_equal(name_at(&world, 0x2008, before_ns), "second");
	after_ns = now();
	assert_string_equal(name_at(&world, 0x1008, after_ns), "third");
	assert_string_equal(name_at(&world, 0x1010, after_ns), "");
	end(&world);
}

/*
 * Code of one reading may have been replaced before it: only its last line is valid, from then on.
 */
static void
test_passing_code(void **state)
{
	World world;
	uint64_t before_ns;

	begin(&world);
	write_map(&world, "w", "3000 10 other\n");
	assert_string_equal(name_at(&world, 0x3008, now()), "other");
	before_ns = now();
	write_map(&world, "a", "1000 10 passes\n1000 10 stays\n2000 10 alone\n");
	assert_string_equal(name_at(&world, 0x2008, before_ns), "alone");
	assert_string_equal(name_at(&world, 0x1008, before_ns), "");
	assert_string_equal(name_at(&world, 0x1008, now()), "stays");
	end(&world);
}

/* By its time stamp the file was written before a sample, though no reading was that early. */
static void
test_time_of_map(void **state)
{
	World world;
	uint64_t time_ns;

	begin(&world);
	write_map(&world, "w", "1000 10 first\n");
	assert_string_equal(name_at(&world, 0x1008, now()), "first");
	write_map(&world, "a", "1000 10 second\n");
	(void) usleep(FILE_CLOCK_US);
	time_ns = now();
	assert_string_equal(name_at(&world, 0x1008, time_ns), "second");
	end(&world);

	/*
	 * an invalid time stamp is ignored: before the reading that did not see the line, or in the
	 * future
	 */
	for (int i = 0; i < 2; i++)
	{
		const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
										   { i == 0 ? 1 : 1L << 33, 0 } };

		begin(&world);
		write_map(&world, "w", "1000 10 first\n");
		assert_string_equal(name_at(&world, 0x1008, now()), "first");
		write_map(&world, "a", "1000 10 second\n");
		assert_int_equal(utimensat(AT_FDCWD, world.path, times, 0), 0);
		(void) usleep(FILE_CLOCK_US);
		assert_string_equal(name_at(&world, 0x1008, now()), "");
		assert_string_equal(name_at(&world, 0x1008, now()), "second");
		end(&world);
	}
}

/* Memory that is used again may have been used since the last reading: a later sample must wait. */
static void
test_stale_map(void **state)
{
	World world;
	uint64_t looked_ns;

	begin(&world);
	write_map(&world, "w", "1000 10 first\n");
	assert_string_equal(name_at(&world, 0x1008, now()), "first");
	looked_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	/* at once, so no reading is in between */
	assert_string_equal(name_at(&world, 0x1008, looked_ns), "first");
	write_map(&world, "a", "1000 10 second\n");
	(void) usleep(FILE_CLOCK_US);
	assert_string_equal(name_at(&world, 0x1008, now()), "second");
	looked_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	write_map(&world, "a", "1000 10 third\n");
	assert_string_not_equal(name_at(&world, 0x1008, looked_ns + 1000000), "second");
	end(&world);
}

/* Changed maps: shorter, longer, of another file, and empty for a moment. */
static void
test_rewritten_map(void **state)
{
	char other[80];
	World world;
	uint64_t before_ns;

	begin(&world);
	write_map(&world, "w", "1000 10 first\n2000 10 second\n");
	assert_string_equal(name_at(&world, 0x2008, now()), "second");
	write_map(&world, "w", "");
	assert_string_equal(name_at(&world, 0x2008, now()), "second");
	before_ns = now();
	write_map(&world, "w", "2000 10 new\n");
	assert_string_equal(name_at(&world, 0x2008, before_ns), "");
	assert_string_equal(name_at(&world, 0x2008, now()), "new");
	assert_string_equal(name_at(&world, 0x1008, now()), "");
	before_ns = now();
	write_map(&world, "w", "1000 10 first\n2000 10 longer than what it was\n3000 1 x\n");
	assert_string_equal(name_at(&world, 0x2008, before_ns), "");
	assert_string_equal(name_at(&world, 0x2008, now()), "longer than what it was");
	/* an unchanged map is as certain as before */
	write_map(&world, "w", "2000 10 longer than what it was\n");
	assert_string_equal(name_at(&world, 0x2008, now()), "longer than what it was");
	snprintf(other, sizeof(other), "%s.other", world.path);
	assert_int_equal(rename(world.path, other), 0);
	write_map(&world, "w", "2000 10 another file\n");
	assert_int_equal(unlink(other), 0);
	(void) usleep(1000000); /* the map is searched for once a second */
	(void) name_at(&world, 0x2008, now());
	assert_string_equal(name_at(&world, 0x2008, now()), "another file");
	end(&world);
}

/* A map that is not read to its end may have a contradicting line there. */
static void
test_long_map(void **state)
{
	const char *name;
	World world;
	FILE *file;

	begin(&world);
	file = fopen(world.path, "w");
	assert_non_null(file);
	fputs("1000 10 old\n", file);
	for (int i = 0; i < 6 << 20; i += 64)
		fprintf(file, "%63s\n", "no line");
	fputs("1000 10 new\n", file);
	assert_int_equal(fclose(file), 0);
	do
	{
		name = name_at(&world, 0x1008, now());
		assert_string_not_equal(name, "old");
	} while (name[0] == '\0');
	assert_string_equal(name, "new");
	end(&world);
}

/*
 * Files that are not a map, or belong to another process, are ignored, and no sample waits for
 * them.
 */
static void
test_false_maps(void **state)
{
	JitNamesStats stats;
	World world;
	char line[20000];

	begin(&world);
	assert_int_equal(mkfifo(world.path, 0600), 0);
	assert_string_equal(name_at(&world, 0x1008, now()), "");
	end(&world);

	begin(&world);
	assert_int_equal(symlink("/dev/zero", world.path), 0);
	assert_string_equal(name_at(&world, 0x1008, now()), "");
	end(&world);

	begin(&world);
	write_map(&world, "w", "1000 10 planted\n");
	if (geteuid() == 0 && chown(world.path, 12345, 12345) == 0)
	{
		assert_string_equal(name_at(&world, 0x1008, now()), "");
		jit_names_stats(world.names, &stats);
		assert_int_equal(stats.maps.refused, 1);
		assert_int_equal(stats.maps.files, 0);
	}
	end(&world);

	begin(&world);
	memset(line, 'x', sizeof(line));
	memcpy(line, "1000 10 ", 8);
	strcpy(line + sizeof(line) - 16, "\n2000 10 short\n");
	write_map(&world, "w", line);
	write_map(&world, "a", "nonsense\n\n3000 10 last\n");
	assert_string_equal(name_at(&world, 0x2008, now()), "short");
	assert_string_equal(name_at(&world, 0x3008, now()), "last");
	assert_string_equal(name_at(&world, 0x1008, now()), "");
	jit_names_stats(world.names, &stats);
	assert_int_equal(stats.maps.pieces, 5);
	assert_int_equal(stats.maps.bad, 3);
	assert_int_equal(stats.maps.files, 1);
	end(&world);
}

/*
 * A map that was written before the process began belongs to another one, unless this process has
 * it open.
 */
static void
test_map_of_former_process(void **state)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { time(NULL) - 86400, 0 } };
	JitNamesStats stats;
	World world;
	FILE *open_map;

	begin(&world);
	write_map(&world, "w", "1000 10 former\n");
	assert_int_equal(utimensat(AT_FDCWD, world.path, times, 0), 0);
	assert_string_equal(name_at(&world, 0x1008, now()), "");
	jit_names_stats(world.names, &stats);
	assert_int_equal(stats.maps.refused, 1);
	jit_names_free(world.names);

	assert_int_equal(jit_names_create(LIMIT_BYTES, &world.names), 0);
	world.namer = jit_names_namer(world.names);
	open_map = fopen(world.path, "a");
	assert_non_null(open_map);
	assert_string_equal(name_at(&world, 0x1008, now()), "former");
	fclose(open_map);
	end(&world);
}

/*
 * Starts the first process of a pid namespace, which shares /tmp with the host. It writes its map,
 * opens it if requested, and waits. Returns 0 if this machine does not allow that.
 */
static pid_t
start_in_namespace(const char *map, bool keeps_open)
{
	int ready[2];
	pid_t pid = 0;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0)
	{
		pid_t inner = unshare(CLONE_NEWPID) == 0 ? fork() : -1;

		if (inner == 0)
		{
			FILE *file = fopen(map, "w");

			if (file == NULL)
				_exit(1);
			fputs("1000 10 tenant\n", file);
			fflush(file);
			if (!keeps_open)
				fclose(file);
			pause();
			_exit(0);
		}
		(void) !write(ready[1], &inner, sizeof(inner));
		_exit(0);
	}
	assert_int_equal(read(ready[0], &pid, sizeof(pid)), sizeof(pid));
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return pid;
}

static void
test_map_of_namespaces(void **state)
{
	static const char map[] = "/tmp/perf-1.map";
	static const char *const names[] = { "", "tenant" };

	for (int i = 0; i < 2; i++)
	{
		struct stat status = { 0 };
		World world;
		pid_t pid;

		begin(&world);
		(void) unlink(map);
		pid = start_in_namespace(map, i == 1);
		if (pid <= 0)
		{
			end(&world);
			skip();
		}
		for (int tries = 0; tries < 10000 && status.st_size == 0; tries++)
			(void) (stat(map, &status) == 0 || usleep(1000));
		assert_true(status.st_size > 0);
		world.image.pid = (uint32_t) pid;
		assert_string_equal(name_at(&world, 0x1008, now()), names[i]);
		kill(pid, SIGKILL);
		(void) unlink(map);
		end(&world);
	}
}

/* Starts a process with so many mappings that reading them takes long. */
static pid_t
start_much_mapped(void)
{
	const size_t pages = 60000;
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
	{
		char *memory = mmap(NULL, pages * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t i = 0; i < pages; i += 2)
			(void) mprotect(memory + i * 4096, 4096, PROT_READ | PROT_EXEC);
		if (write(ready[1], "", 1) == 1)
			(void) pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* The search for a process's dump, in another thread, is charged, too. */
static void
test_costly_process(void **state)
{
	pid_t pid = start_much_mapped();
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	JitReading reading = { .budget.limit_bytes = 1 << 20 };
	JitSource source = { 0 };
	MappingList list;
	uint64_t cost_ns;

	assert_int_equal(code_table_create(1 << 20, &reading.table), 0);
	assert_int_equal(prober_create(&reading.prober), 0);
	jit_source_init(&source, JIT_SOURCE_DUMP, &reading, (uint32_t) pid);
	jit_source_read(&source, &reading, now_ns, now_ns);
	cost_ns = (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID);
	assert_int_equal(mapping_list_read((uint32_t) pid, MAPPINGS_MAX, &list), 0);
	cost_ns = (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) - cost_ns;
	mapping_list_release(NULL, &list);
	/* four times as much as if both were equal */
	assert_true(reading.looks.paid_ns - now_ns > 1000000000 / 200 + cost_ns);
	jit_source_fini(&source);
	prober_free(reading.prober);
	code_table_free(reading.table);
	free(reading.bytes);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_code_map),
		cmocka_unit_test(test_code_map_cost),
		cmocka_unit_test(test_growing_map),
		cmocka_unit_test(test_rewritten_map),
		cmocka_unit_test(test_false_maps),
		cmocka_unit_test(test_much_gone),
		cmocka_unit_test(test_long_map),
		cmocka_unit_test(test_costly_process),
		cmocka_unit_test(test_passing_code),
		cmocka_unit_test(test_time_of_map),
		cmocka_unit_test(test_stale_map),
		cmocka_unit_test(test_map_of_former_process),
		cmocka_unit_test(test_map_of_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
