/*
 * test_past_images.c
 *		The history of processes: events by hand, and programs that have ended when the collector
 *		reads them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "base/clock.h"
#include "process/past_images.h"
#include "process/process.h"
#include "stop_events.h"

static PastImages *
new_images(size_t limit)
{
	PastImages *images;

	assert_int_equal(past_images_create(limit, 1 << 20, &images), 0);
	return images;
}

static void
note_exec(PastImages *images, uint32_t pid, uint64_t time_ns)
{
	SidebandEvent event = { .kind = SIDEBAND_EXEC, .pid = pid, .time_ns = time_ns };

	past_images_note(images, &event);
}

static void
note_fork(PastImages *images, uint32_t parent, uint32_t pid, uint64_t time_ns)
{
	SidebandEvent event = {
		.kind = SIDEBAND_FORK, .time_ns = time_ns, .pid = pid, .parent_pid = parent
	};

	past_images_note(images, &event);
}

static void
note_map_at(PastImages *images, uint32_t pid, uint64_t start, uint64_t end, const char *name,
			uint64_t time_ns)
{
	char copy[64];
	SidebandEvent event = { .kind = SIDEBAND_MAP, .pid = pid, .time_ns = time_ns };

	strcpy(copy, name);
	event.map = (ProcMapping){ .start = start, .end = end, .file_offset = 0x1000, .name = copy };
	event.map.inode = name[0] == '/' ? strlen(name) : 0;
	past_images_note(images, &event);
	memset(copy, 'x', sizeof(copy)); /* names are copied */
}

static void
note_map(PastImages *images, uint32_t pid, uint64_t start, uint64_t end, const char *name)
{
	note_map_at(images, pid, start, end, name, 0);
}

static size_t
find(PastImages *images, uint32_t pid, uint64_t time_ns, const ProcMapping **mappings)
{
	uint64_t last_ns;

	return past_images_find(images, pid, time_ns, mappings, &last_ns);
}

static void
assert_mapping(const ProcMapping *mapping, uint64_t start, uint64_t end, uint64_t file_offset,
			   const char *name)
{
	assert_int_equal(mapping->start, start);
	assert_int_equal(mapping->end, end);
	assert_int_equal(mapping->file_offset, file_offset);
	assert_string_equal(mapping->name, name);
}

/* A sample belongs to the image that was executed when it was taken. */
static void
test_images_in_turn(void **state)
{
	PastImages *images = new_images(8);
	const ProcMapping *mappings;

	note_map(images, 7, 0x1000, 0x2000, "/before");
	assert_int_equal(find(images, 7, 100, &mappings), 0);
	note_exec(images, 7, 10);
	assert_null(past_images_executable(images, 7, 10));
	note_map(images, 7, 0x3000, 0x4000, "/bin/first");
	note_map(images, 7, 0x1000, 0x2000, "/lib/loader");
	note_exec(images, 7, 20);
	note_map(images, 7, 0x5000, 0x6000, "/bin/second");

	assert_int_equal(find(images, 7, 9, &mappings), 0);
	assert_int_equal(find(images, 7, 19, &mappings), 2);
	assert_mapping(&mappings[0], 0x1000, 0x2000, 0x1000, "/lib/loader");
	assert_mapping(&mappings[1], 0x3000, 0x4000, 0x1000, "/bin/first");
	assert_string_equal(past_images_executable(images, 7, 19)->name, "/bin/first");
	assert_int_equal(find(images, 7, 20, &mappings), 1);
	assert_string_equal(past_images_executable(images, 7, 21)->name, "/bin/second");
	past_images_free(images);
}

/* Newer mappings cover older ones, and leave the parts that they do not cover. */
static void
test_overlaps(void **state)
{
	PastImages *images = new_images(8);
	const ProcMapping *mappings;

	note_exec(images, 7, 0);
	note_map(images, 7, 0x1000, 0x9000, "/old");
	note_map(images, 7, 0x4000, 0x6000, "/middle");
	assert_int_equal(find(images, 7, 0, &mappings), 3);
	assert_mapping(&mappings[0], 0x1000, 0x4000, 0x1000, "/old");
	assert_mapping(&mappings[1], 0x4000, 0x6000, 0x1000, "/middle");
	assert_mapping(&mappings[2], 0x6000, 0x9000, 0x6000, "/old");
	note_map(images, 7, 0x0, 0x7000, "/new");
	assert_int_equal(find(images, 7, 0, &mappings), 2);
	assert_mapping(&mappings[0], 0x0, 0x7000, 0x1000, "/new");
	assert_mapping(&mappings[1], 0x7000, 0x9000, 0x7000, "/old");
	past_images_free(images);
}

/*
 * A child has its parent's mappings at the fork; a pid that is used again has none of the earlier
 * process.
 */
static void
test_forks(void **state)
{
	PastImages *images = new_images(8);
	const ProcMapping *mappings;

	note_exec(images, 1, 0);
	note_map(images, 1, 0x1000, 0x2000, "/bin/parent");
	note_fork(images, 1, 2, 10);
	note_map(images, 1, 0x3000, 0x4000, "/lib/parents");
	note_map(images, 2, 0x5000, 0x6000, "/lib/childs");
	assert_int_equal(find(images, 2, 10, &mappings), 2);
	assert_string_equal(mappings[1].name, "/lib/childs");
	assert_int_equal(find(images, 1, 10, &mappings), 2);
	assert_string_equal(mappings[1].name, "/lib/parents");
	assert_string_equal(past_images_executable(images, 2, 10)->name, "/bin/parent");

	note_fork(images, 99, 2, 20); /* a child of an unknown process */
	assert_int_equal(find(images, 2, 20, &mappings), 0);
	assert_int_equal(find(images, 2, 19, &mappings), 2);
	past_images_free(images);
}

static void
note_thread(PastImages *images, SidebandKind kind, uint32_t pid, uint64_t time_ns)
{
	SidebandEvent event = { .kind = kind, .time_ns = time_ns, .pid = pid };

	past_images_note(images, &event);
}

/*
 * Programs that exit neither push out the mappings of programs that run, nor make the records of
 * other processes uncertain.
 */
static void
test_ended(void **state)
{
	PastImages *images = new_images(8);
	const ProcMapping *mappings;

	note_exec(images, 5, 10);
	note_map_at(images, 5, 0x1000, 0x2000, "/bin/stays", 11);
	note_thread(images, SIDEBAND_THREAD, 5, 12);
	note_thread(images, SIDEBAND_EXIT, 5, 13); /* one of its threads continues */
	for (uint32_t pid = 100; pid < 200; pid++)
	{
		note_exec(images, pid, pid);
		note_map_at(images, pid, 0x1000, 0x2000, "/bin/goes", pid);
		note_thread(images, SIDEBAND_EXIT, pid, pid);
	}
	assert_int_equal(find(images, 5, 300, &mappings), 1);
	assert_mapping(&mappings[0], 0x1000, 0x2000, 0x1000, "/bin/stays");
	assert_int_equal(past_images_untold_ns(images, 6), 0);
	/* an earlier sample may belong to a process that has ended, and was forgotten */
	assert_int_equal(past_images_changed(images, 150, 0x1000, 149, 300), PAST_UNTOLD);
	assert_int_equal(past_images_changed(images, 150, 0x1000, 250, 300), PAST_UNCHANGED);

	/* some running processes must be dropped nevertheless, and an unknown pid may be one of them */
	for (uint32_t pid = 300; pid < 330; pid++)
	{
		note_exec(images, pid, pid);
		note_map_at(images, pid, 0x1000, 0x2000, "/bin/stays", pid);
	}
	assert_int_equal(find(images, 5, 400, &mappings), 0);
	assert_in_range(past_images_untold_ns(images, 6), 11, 329);
	past_images_free(images);
}

/* A lost record may have contained anything; and the table has a limit. */
static void
test_forgetting(void **state)
{
	const SidebandEvent lost = { .kind = SIDEBAND_LOST };
	PastImages *images = new_images(3);
	const ProcMapping *mappings;

	for (uint32_t pid = 1; pid <= 4; pid++)
	{
		note_exec(images, pid, 0);
		note_map(images, pid, 0x1000, 0x2000, "/bin/a");
	}
	assert_int_equal(find(images, 1, 0, &mappings), 0);
	assert_int_equal(find(images, 2, 0, &mappings), 1);
	note_exec(images, 4, 1);
	note_exec(images, 4, 2);
	note_exec(images, 4, 3);
	note_exec(images, 4, 4);
	assert_int_equal(find(images, 4, 0, &mappings), 0);
	for (uint64_t i = 0; i < 600; i++) /* more mappings than one image may have */
		note_map(images, 3, 0x10000 + 0x2000 * i, 0x11000 + 0x2000 * i, "");
	assert_int_equal(find(images, 3, 0, &mappings), 0);
	past_images_note(images, &lost);
	assert_int_equal(find(images, 2, 0, &mappings), 0);
	past_images_free(images);
}

static const char *
name_at(PastImages *images, uint32_t pid, uint64_t address, uint64_t time_ns)
{
	const ProcMapping *mapping = past_images_at(images, pid, address, time_ns);

	return mapping != NULL ? mapping->name : "";
}

/* A mapping that replaces another one is distinguished from it by time. */
static void
test_replaced(void **state)
{
	PastImages *images = new_images(8);
	const ProcMapping *mappings;
	uint64_t last_ns;

	note_exec(images, 7, 5);
	note_map_at(images, 7, 0x1000, 0x4000, "/lib/a", 10);
	note_map_at(images, 7, 0x2000, 0x3000, "/lib/bb", 20);
	note_map_at(images, 7, 0x1000, 0x4000, "/lib/a", 30);
	assert_string_equal(name_at(images, 7, 0x2fff, 9), "");
	assert_string_equal(name_at(images, 7, 0x2fff, 10), "/lib/a");
	assert_string_equal(name_at(images, 7, 0x2fff, 19), "/lib/a");
	assert_string_equal(name_at(images, 7, 0x2fff, 20), "/lib/bb");
	assert_string_equal(name_at(images, 7, 0x3000, 20), "/lib/a");
	assert_string_equal(name_at(images, 7, 0x2fff, 31), "/lib/a");

	assert_int_equal(past_images_changed(images, 7, 0x2000, 10, 19), PAST_UNCHANGED);
	assert_int_equal(past_images_changed(images, 7, 0x2000, 10, 20), PAST_CHANGED);
	assert_int_equal(past_images_changed(images, 7, 0x2000, 20, 29), PAST_UNCHANGED);
	assert_int_equal(past_images_changed(images, 7, 0x3000, 10, 29), PAST_UNCHANGED);
	assert_int_equal(past_images_changed(images, 7, 0x3000, 10, 30), PAST_CHANGED);
	assert_int_equal(past_images_changed(images, 7, 0x5000, 5, 100), PAST_UNCHANGED);
	assert_int_equal(past_images_file_mapped_ns(images, 7), 30);

	/* a part of an existing mapping is not new, wherever its protection was changed */
	note_map_at(images, 7, 0x1000, 0x4000, "/lib/a", 40);
	assert_int_equal(past_images_changed(images, 7, 0x2000, 30, 50), PAST_UNCHANGED);
	assert_int_equal(past_images_file_mapped_ns(images, 7), 30);
	assert_int_equal(past_images_find(images, 7, 6, &mappings, &last_ns), 1);
	assert_int_equal(last_ns, 30);
	past_images_free(images);
}

/*
 * Of a process that began before the collector only later mappings are known; a lost record may
 * have contained anything.
 */
static void
test_beginning_unseen(void **state)
{
	const SidebandEvent lost = { .kind = SIDEBAND_LOST, .lost = 3 };
	PastImages *images = new_images(8);
	const ProcMapping *mappings;
	uint64_t lost_ns;

	assert_int_equal(past_images_changed(images, 7, 0x1000, 1, 2), PAST_UNCHANGED);
	note_map_at(images, 7, 0x1000, 0x2000, "/lib/a", 10);
	assert_int_equal(past_images_changed(images, 7, 0x1000, 1, 9), PAST_UNCHANGED);
	assert_int_equal(past_images_changed(images, 7, 0x1000, 1, 10), PAST_CHANGED);
	assert_int_equal(find(images, 7, 11, &mappings), 0);

	past_images_note(images, &lost);
	lost_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(past_images_take_lost(images), 3);
	assert_int_equal(past_images_take_lost(images), 0);
	assert_in_range(past_images_untold_ns(images, 7), 11, lost_ns);
	assert_int_equal(past_images_changed(images, 7, 0x1000, 11, lost_ns), PAST_UNTOLD);
	assert_int_equal(past_images_changed(images, 7, 0x1000, lost_ns, lost_ns + 9), PAST_UNCHANGED);
	note_map_at(images, 7, 0x1000, 0x2000, "/lib/bb", lost_ns + 10);
	assert_int_equal(past_images_changed(images, 7, 0x1000, 11, lost_ns), PAST_UNTOLD);
	assert_int_equal(past_images_changed(images, 7, 0x1000, lost_ns, lost_ns + 9), PAST_UNCHANGED);
	assert_int_equal(past_images_changed(images, 7, 0x1000, lost_ns, lost_ns + 10), PAST_CHANGED);
	past_images_free(images);
}

/*
 * Mappings of a living process that are read later must not replace those at the time of the
 * sample, nor the reverse.
 */
static void
test_resolved_as_sampled(void **state)
{
	struct pfs_sample sample = { .pid = (uint32_t) getpid() };
	uint64_t start = (uint64_t) (uintptr_t) mmap(NULL, 0x1000, PROT_READ | PROT_EXEC,
												 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t code = (uint64_t) (uintptr_t) test_resolved_as_sampled;
	uint64_t before_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint64_t after_ns;
	uint64_t mapped_ns;
	PastImages *past = new_images(8);
	ProcessTable *processes;
	MappedFileTable *files;
	Process *process;
	ProcessDescription description;
	ProcessAddress where;
	ProcStat stat;

	assert_int_equal(proc_stat_read(sample.pid, &stat), 0);
	sample.start_time_ns =
		stat.start_ticks * (UINT64_C(1000000000) / (uint64_t) sysconf(_SC_CLK_TCK));
	sample.arg_start = stat.arg_start;
	assert_int_equal(mapped_file_table_create(&files), 0);
	assert_int_equal(process_table_create(files, 4, &processes), 0);
	process_table_remember(processes, past);
	process = process_table_get(processes, &sample, before_ns);
	assert_true(process_take_description(processes, process, &description));
	process_described(processes, process, 1, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	process_description_fini(files, &description);
	after_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	assert_true(process_resolve(processes, process, start, before_ns, true, after_ns, &where));
	assert_int_equal(where.kind, MAPPING_ANONYMOUS);

	/*
	 * a file replaces anonymous memory; it cannot be opened, but the place does not count as
	 * anything else
	 */
	mapped_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	note_map_at(past, sample.pid, start, start + 0x1000, "/no/such/library", mapped_ns);
	assert_true(process_resolve(processes, process, start, after_ns, true, mapped_ns, &where));
	assert_int_equal(where.kind, MAPPING_ANONYMOUS);
	assert_true(process_walk_held(processes, process, start, after_ns, false));
	assert_true(process_resolve(processes, process, start, mapped_ns, true, mapped_ns, &where));
	assert_int_equal(where.kind, MAPPING_FILE);
	assert_null(where.file);
	assert_false(process_walk_held(processes, process, start, mapped_ns, false));
	assert_true(process_walk_held(processes, process, code, mapped_ns, false));

	/* after another reading the present mapping is known, but the one at the sample still is not */
	process_reread_before(processes, process, mapped_ns + 1, mapped_ns);
	assert_true(process_resolve(processes, process, start, (uint64_t) clock_ns(CLOCK_MONOTONIC),
								true, mapped_ns, &where));
	assert_int_equal(where.kind, MAPPING_ANONYMOUS);
	assert_false(process_covers(process, 0x1000));
	assert_true(process_resolve(processes, process, code, before_ns, true, mapped_ns, &where));
	assert_ptr_equal(where.file, process_executable(process));

	process_table_free(processes);
	mapped_file_table_free(files);
	past_images_free(past);
	munmap((void *) (uintptr_t) start, 0x1000);
}

/* Subscribes to the kernel's records; skips the test if this is not permitted. */
static void
listen_or_skip(PastImages *past)
{
	int result = past_images_listen(past, SIZE_MAX);

	if (result == 0)
		return;
	print_message("skipped: %s\n", strerror(-result));
	assert_true(result == -EACCES || result == -EPERM);
	past_images_free(past);
	skip();
}

/*
 * An unknown process may have mapped something up to the time of the last forgotten image, or of
 * the last lost record, whichever is later.
 */
static void
test_mapped(void **state)
{
	PastImages *images = new_images(8);
	SidebandEvent lost = { .kind = SIDEBAND_LOST };
	uint64_t begin_ns;

	(void) state;
	listen_or_skip(images);
	begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	for (uint32_t pid = 100; pid < 200; pid++)
	{
		note_exec(images, pid, begin_ns + pid);
		note_map_at(images, pid, 0x1000, 0x2000, "/bin/goes", begin_ns + pid);
		note_thread(images, SIDEBAND_EXIT, pid, begin_ns + pid);
	}
	assert_int_equal(past_images_mapped_ns(images, 99, begin_ns + 50), begin_ns + 191);
	assert_true(past_images_mapped_ns(images, 99, begin_ns + 250) <= begin_ns);
	while ((uint64_t) clock_ns(CLOCK_MONOTONIC) <= begin_ns + 250)
		continue;
	past_images_note(images, &lost);
	assert_true(past_images_mapped_ns(images, 99, begin_ns + 250) > begin_ns + 250);
	assert_true(past_images_mapped_ns(images, 99, begin_ns + 50) > begin_ns + 250);
	past_images_free(images);
}

/*
 * A program that ends and is waited for before the collector reads it still has its executable,
 * mappings and files.
 */
static void
test_gone(void **state)
{
	struct pfs_sample sample = { .start_time_ns = 1, .parent_pid = (uint32_t) getpid() };
	PastImages *past = new_images(64);
	ProcessTable *processes;
	MappedFileTable *files;
	Process *process;
	ProcessDescription description;
	const ProcMapping *executable;
	struct stat status;
	pid_t pid;

	listen_or_skip(past);
	pid = fork();
	if (pid == 0)
	{
		execl("/bin/true", "true", (char *) NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	sample.pid = (uint32_t) pid;
	sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(mapped_file_table_create(&files), 0);
	assert_int_equal(process_table_create(files, 4, &processes), 0);
	process_table_remember(processes, past);
	process = process_table_get(processes, &sample, sample.time_ns);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_int_equal(stat("/bin/true", &status), 0);
	executable = past_images_executable(past, sample.pid, sample.time_ns);
	assert_int_equal(executable->inode, status.st_ino);
	assert_string_equal(process_exe(process), executable->name);
	assert_non_null(process_executable(process));
	assert_true(process_take_description(processes, process, &description));
	assert_true(description.count >= 3); /* the program, its loader, the C library */
	process_description_fini(files, &description);
	process_table_free(processes);
	mapped_file_table_free(files);
	past_images_free(past);
}

/*
 * A process that maps code in a loop is read again as often as others are, not at each of its
 * samples; the last reading is then correct.
 */
static void
test_maps_in_a_loop(void **state)
{
	const uint64_t ms = UINT64_C(1000000);
	struct pfs_sample sample = { .pid = (uint32_t) getpid() };
	PastImages *past = new_images(8);
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	ProcessTableStats stats;
	ProcessTable *processes;
	MappedFileTable *files;
	Process *process;
	ProcStat stat;

	assert_int_equal(proc_stat_read(sample.pid, &stat), 0);
	sample.start_time_ns =
		stat.start_ticks * (UINT64_C(1000000000) / (uint64_t) sysconf(_SC_CLK_TCK));
	sample.arg_start = stat.arg_start;
	assert_int_equal(mapped_file_table_create(&files), 0);
	assert_int_equal(process_table_create(files, 4, &processes), 0);
	process_table_remember(processes, past);
	process = process_table_get(processes, &sample, now_ns);
	for (int i = 0; i < 5000; i++)
	{
		char name[32];

		now_ns += 10 * ms;
		snprintf(name, sizeof(name), "/lib/%d", i);
		/* a time after any reading that this test can make */
		note_map_at(past, sample.pid, 0x1000, 0x2000, name, now_ns + 3600000 * ms);
		process_follow(processes, process, now_ns);
		process_reread_before(processes, process, UINT64_MAX, now_ns);
	}
	process_table_stats(processes, &stats);
	assert_in_range(stats.map_reads, 64, 1 + 64 + 50 * 20);
	assert_int_equal(stats.map_reads + stats.put_off, 1 + 2 * 5000);
	process_table_free(processes);
	mapped_file_table_free(files);
	past_images_free(past);
}

/* Names of one image take no more than their share: the older half of its mappings is dropped. */
static void
test_bounded_names(void **state)
{
	PastImages *images;
	char name[4000];
	size_t known = 0;

	assert_int_equal(past_images_create(8, 8 << 20, &images), 0);
	note_exec(images, 1, 1);
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	for (uint64_t i = 1; i <= 400; i++)
	{
		SidebandEvent event = { .kind = SIDEBAND_MAP, .pid = 1, .time_ns = 1 };

		event.map = (ProcMapping){ .start = i << 12, .end = (i + 1) << 12, .inode = i };
		event.map.name = name;
		past_images_note(images, &event);
	}
	for (uint64_t i = 1; i <= 400; i++)
		known += past_images_at(images, 1, i << 12, 1000) != NULL;
	assert_in_range(known, 16, 34);
	assert_non_null(past_images_at(images, 1, UINT64_C(400) << 12, 1000));
	assert_int_equal(past_images_take_pushed_out(images), 0);
	past_images_free(images);
}

/*
 * Hostile processes map many files with long names: those that were silent for longest are dropped,
 * and counted.
 */
static void
test_bounded_bytes(void **state)
{
	const size_t limit_bytes = 256 * 1024;
	PastImages *images;
	const ProcMapping *mappings;
	char name[1024];
	size_t pushed_out;

	assert_int_equal(past_images_create(1000, limit_bytes, &images), 0);
	note_exec(images, 1, 1);
	note_map_at(images, 1, 0x1000, 0x2000, "/bin/first", 1);
	assert_int_equal(past_images_take_pushed_out(images), 0);
	for (uint32_t pid = 2; pid < 100; pid++)
	{
		note_exec(images, pid, pid);
		for (uint64_t i = 1; i <= 16; i++)
		{
			SidebandEvent event = { .kind = SIDEBAND_MAP, .pid = pid, .time_ns = pid };

			memset(name, 'x', sizeof(name) - 1);
			name[0] = '/';
			name[sizeof(name) - 1] = '\0';
			event.map = (ProcMapping){ .start = i << 12, .end = (i + 1) << 12, .inode = i };
			event.map.name = name;
			past_images_note(images, &event);
		}
	}
	pushed_out = past_images_take_pushed_out(images);
	/* 16 names of 1 KiB each, 17.5 KiB with everything else: fourteen processes fit */
	assert_in_range(pushed_out, 99 - 15, 99 - 13);
	assert_int_equal(past_images_take_pushed_out(images), 0);
	assert_int_equal(find(images, 1, 1, &mappings), 0);
	assert_int_equal(find(images, (uint32_t) pushed_out, 1000, &mappings), 0);
	assert_int_equal(find(images, (uint32_t) pushed_out + 1, 1000, &mappings), 16);
	assert_int_equal(find(images, 99, 1000, &mappings), 16);
	/* the answer for dropped mappings is "unknown" */
	assert_int_equal(past_images_changed(images, 2, 0x1000, 1, 1000), PAST_UNTOLD);

	/*
	 * a process that maps without end replaces no more than its own names take; all other names are
	 * available again
	 */
	for (uint32_t round = 0; round < 3; round++)
	{
		for (uint64_t i = 1; i <= 400; i++)
		{
			SidebandEvent event = { .kind = SIDEBAND_MAP, .pid = 200, .time_ns = 200 };

			event.map = (ProcMapping){ .start = i << 12, .end = (i + 1) << 12, .inode = i };
			event.map.name = name;
			past_images_note(images, &event);
		}
	}
	assert_in_range(past_images_take_pushed_out(images), 7, 9);
	note_exec(images, 300, 300);
	note_map(images, 300, 0x1000, 0x2000, "/bin/last");
	assert_int_equal(find(images, 300, 300, &mappings), 1);
	past_images_free(images);
}

/*
 * The events of a CPU that was offline for a moment have ended, so they are opened again, and the
 * history notes that records may be missing.
 */
static void
test_away_for_a_moment(void **state)
{
	PastImages *past = new_images(64);
	uint64_t before_ns;
	pid_t pid = 0;
	int status;

	listen_or_skip(past);
	past_images_follow_cpus(past);
	past_images_update(past);
	assert_int_equal(past_images_take_gaps(past), 0);
	assert_int_equal(stop_events(), sysconf(_SC_NPROCESSORS_ONLN));
	usleep(AWAY_US);
	before_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	past_images_follow_cpus(past);
	assert_int_equal(past_images_take_gaps(past), sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(past_images_untold_ns(past, (uint32_t) getpid()) > before_ns);
	past_images_follow_cpus(past);
	assert_int_equal(past_images_take_gaps(past), 0);
	pid = fork();
	if (pid == 0)
	{
		execl("/bin/true", "true", (char *) NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	past_images_update(past);
	assert_non_null(
		past_images_executable(past, (uint32_t) pid, (uint64_t) clock_ns(CLOCK_MONOTONIC)));
	past_images_free(past);
}

/*
 * Half a buffer of records ends a wait, long before its time; the next wait is for another half
 * buffer.
 */
static void
test_wakes_half_full(void **state)
{
	PastImages *past = new_images(64);
	pid_t pid;
	int status;

	listen_or_skip(past);
	pid = fork();
	if (pid == 0)
	{
		/* map executable memory again and again, until the parent stops this process */
		for (;;)
		{
			void *memory =
				mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (memory == MAP_FAILED || munmap(memory, 4096) != 0)
				_exit(1);
		}
	}
	assert_true(pid > 0);
	alarm(60); /* ends the wait if nothing else does */
	past_images_wait(past, -1, -1);
	past_images_update(past);
	past_images_wait(past, -1, -1);
	alarm(0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	past_images_free(past);
}

/* Loads a BPF program, which the kernel compiles; -1 if that is not permitted. */
static int
load_program(void)
{
	struct bpf_insn code[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
							   { .code = BPF_JMP | BPF_EXIT } };
	union bpf_attr attributes = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
								  .insn_cnt = 2,
								  .insns = (uintptr_t) code,
								  .license = (uintptr_t) "GPL" };

	return (int) syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
}

static void
test_kernel_code(void **state)
{
	PastImages *past = new_images(16);
	int jit = open("/proc/sys/net/core/bpf_jit_enable", O_RDONLY | O_CLOEXEC);
	char enabled = '0';
	uint64_t before;
	int program;

	(void) state;
	if (jit < 0 || read(jit, &enabled, 1) != 1 || enabled == '0' ||
		past_images_listen(past, SIZE_MAX) != 0)
		skip();
	close(jit);
	past_images_update(past);
	before = past_images_kernel_changes(past);
	program = load_program();
	if (program < 0)
		skip();
	past_images_update(past);
	assert_true(past_images_kernel_changes(past) > before);
	close(program);
	past_images_free(past);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_images_in_turn),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_forgetting),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_beginning_unseen),
		cmocka_unit_test(test_resolved_as_sampled),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_maps_in_a_loop),
		cmocka_unit_test(test_away_for_a_moment),
		cmocka_unit_test(test_kernel_code),
		cmocka_unit_test(test_bounded_names),
		cmocka_unit_test(test_bounded_bytes),
		cmocka_unit_test(test_wakes_half_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
