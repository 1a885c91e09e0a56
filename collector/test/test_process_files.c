/*
 * test_process_files.c
 *		Files and mappings of sampled processes: names, limits, and their cost.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_fixture.h"

/*
 * A program that is deleted while it runs keeps its name and can still be opened; a new file of
 * that name is another one.
 */
static void
test_deleted_file(void **state)
{
	Fixture *fixture = *state;
	char path[] = "/tmp/profstore-test-XXXXXX";
	char command[128];
	struct pfs_sample sample;
	struct stat status;
	Process *process;
	pid_t pid;
	int fd = mkstemp(path);

	close(fd);
	snprintf(command, sizeof(command), "cp /bin/sleep %s && chmod 755 %s", path, path);
	assert_int_equal(system(command), 0);
	pid = start_sleeper(path);
	unlink(path);
	snprintf(command, sizeof(command), "cp /bin/cat %s", path);
	assert_int_equal(system(command), 0);
	sample = sample_of(pid);
	process = process_table_get(fixture->processes, &sample, 1);
	unlink(path);
	assert_string_equal(process_exe(process), path);
	assert_non_null(process_executable(process));
	assert_string_equal(mapped_file_name(process_executable(process)), path);
	assert_int_equal(fstat(mapped_file_descriptor(process_executable(process)), &status), 0);
	assert_int_equal(status.st_nlink, 0);
	stop_child(pid);
}

/* An executable page of a memory file with this name, and its expected kind. */
typedef struct SharedCode
{
	const char *name; /* NULL: System V shared memory */
	MappingKind kind;
	void *page;
} SharedCode;

static void
map_shared_code(SharedCode *code)
{
	int fd;

	if (code->name == NULL)
	{
		int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);

		assert_true(id >= 0);
		code->page = shmat(id, NULL, SHM_EXEC);
		assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
	}
	else if (code->name[0] == '\0')
		code->page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	else
	{
		fd = memfd_create(code->name, MFD_CLOEXEC);
		assert_int_equal(ftruncate(fd, 4096), 0);
		code->page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		close(fd);
	}
	assert_ptr_not_equal(code->page, MAP_FAILED);
}

/*
 * Compilers generate code in memory that is shared or mapped twice; memory of a file is not
 * generated code.
 */
static void
test_shared_memory(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	SharedCode codes[] = {
		{ "", MAPPING_ANONYMOUS, NULL },
		{ NULL, MAPPING_ANONYMOUS, NULL },
		{ "doublemapper", MAPPING_ANONYMOUS, NULL },
		{ "julia-codegen", MAPPING_ANONYMOUS, NULL },
		{ "library", MAPPING_FILE, NULL },
	};
	size_t count = sizeof(codes) / sizeof(codes[0]);
	Process *process;

	for (size_t i = 0; i < count; i++)
		map_shared_code(&codes[i]);
	process = process_table_get(fixture->processes, &sample, 1000 * MS);
	for (size_t i = 0; i < count; i++)
	{
		uint64_t address = (uint64_t) (uintptr_t) codes[i].page;
		ProcessAddress where;

		assert_true(
			process_resolve(fixture->processes, process, address, 0, true, 1011 * MS, &where));
		assert_int_equal(where.kind, codes[i].kind);
		if (codes[i].name == NULL)
			assert_int_equal(shmdt(codes[i].page), 0);
		else
			munmap(codes[i].page, 4096);
	}
}

/* Lines of a maps file for memory that a test cannot rely on: a machine may have no huge pages. */
static void
test_names_of_memory(void **state)
{
	char text[] = "400000-600000 rwxp 00000000 00:0f 77 /anon_hugepage (deleted)\n"
				  "600000-800000 rwxs 00000000 00:01 78 /SYSV00000000 (deleted)\n"
				  "800000-a00000 r-xp 00000000 08:01 79 /SYSV00000000\n"
				  "a00000-c00000 r-xp 00000000 08:01 80 /usr/lib/gone.so (deleted)\n"
				  "c00000-e00000 rwxs 00000000 00:01 0 /SYSV00000000 (deleted)\n"
				  "e00000-f00000 r-xs 00e00000 00:1b 81 /dev/shm/ZendAccelerator.5 (deleted)\n"
				  "f00000-f10000 r-xs 00000000 00:1b 82 /dev/shm/ZendAccelerator.6\n"
				  /* processes in a chroot */
				  "f10000-f20000 r-xs 00000000 00:1b 83 /a/dev/shm/ZendAccelerator.7 (deleted)\n"
				  "f20000-f30000 r-xs 00000000 00:1b 84 /a/dev/shm/ZendAccelerator.7\n"
				  "f30000-f40000 r-xp 00000000 08:01 85 /dev/shm/ZendAccelerator.8/a.so (deleted)\n"
				  "f40000-f50000 r-xp 00000000 08:01 86 /shm/ZendAccelerator.9 (deleted)\n";
	const MappingKind kinds[] = { MAPPING_ANONYMOUS, MAPPING_ANONYMOUS, MAPPING_FILE,
								  MAPPING_FILE,		 MAPPING_ANONYMOUS, MAPPING_ANONYMOUS,
								  MAPPING_FILE,		 MAPPING_ANONYMOUS, MAPPING_FILE,
								  MAPPING_FILE,		 MAPPING_FILE };
	MappingList list;

	(void) state;
	assert_int_equal(mapping_list_parse(text, &list), 0);
	assert_int_equal(list.count, sizeof(kinds) / sizeof(kinds[0]));
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(list.mappings[i].kind, kinds[i]);
	mapping_list_release(NULL, &list);
}

/*
 * Memory without a file is a file's code if it lies exactly between two parts of the file, which
 * continue each other: in php8.2, and in a, whose memory has huge pages. Otherwise it is generated
 * code: b's parts do not continue each other, c and d are two files, and after e's memory is a gap.
 */
static void
test_moved_code_in_text(void **state)
{
	char text[] = "100000-200000 r-xp 00010000 08:01 79 /usr/bin/php8.2\n"
				  "200000-400000 r-xp 00000000 00:00 0\n"
				  "400000-410000 r-xp 00310000 08:01 79 /usr/bin/php8.2\n"
				  "500000-600000 r-xp 00000000 08:01 80 /usr/bin/a\n"
				  "600000-800000 r-xp 00000000 00:0f 71 /anon_hugepage (deleted)\n"
				  "800000-810000 r-xp 00300000 08:01 80 /usr/bin/a\n"
				  "900000-a00000 r-xp 00000000 08:01 81 /usr/bin/b\n"
				  "a00000-b00000 r-xp 00000000 00:00 0\n"
				  "b00000-b10000 r-xp 00300000 08:01 81 /usr/bin/b\n"
				  "c00000-d00000 r-xp 00000000 08:01 82 /usr/bin/c\n"
				  "d00000-e00000 r-xp 00000000 00:00 0\n"
				  "e00000-e10000 r-xp 00200000 08:01 83 /usr/bin/d\n"
				  "f00000-f10000 r-xp 00000000 08:01 84 /usr/bin/e\n"
				  "f10000-f20000 r-xp 00000000 00:00 0\n"
				  "f30000-f40000 r-xp 00030000 08:01 84 /usr/bin/e\n";
	static const char *const names[] = { "/usr/bin/php8.2", "/usr/bin/a", "", "", "" };
	static const uint64_t offsets[] = { 0x110000, 0x100000, 0, 0, 0 };
	MappingList list;

	(void) state;
	assert_int_equal(mapping_list_parse(text, &list), 0);
	assert_int_equal(list.count, 3 * sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		const Mapping *memory = &list.mappings[3 * i + 1];

		assert_string_equal(memory->map.name, names[i]);
		assert_int_equal(memory->map.file_offset, offsets[i]);
		assert_int_equal(memory->kind, names[i][0] != '\0' ? MAPPING_FILE : MAPPING_ANONYMOUS);
		assert_int_equal(memory->map.inode, names[i][0] != '\0' ? memory[-1].map.inode : 0);
		assert_false(memory->map.deleted);
	}
	mapping_list_release(NULL, &list);
}

/* A process that has moved a part of its code to memory without a file, as PHP does. */
static void
test_moved_code(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/profstore-test-XXXXXX";
	int fd = mkstemp(path);
	char *code;
	ProcessAddress where;
	Process *process;

	assert_int_equal(ftruncate(fd, (off_t) (4 * page)), 0);
	code = mmap(NULL, 3 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t) page);
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_ptr_equal(mmap(code + page, page, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
					 code + page);
	assert_int_equal(mprotect(code + page, page, PROT_READ | PROT_EXEC), 0);
	process = process_table_get(fixture->processes, &sample, 1000 * MS);
	assert_true(process_resolve(fixture->processes, process, (uint64_t) (uintptr_t) code + page + 5,
								0, true, 1011 * MS, &where));
	assert_int_equal(where.kind, MAPPING_FILE);
	assert_non_null(where.file);
	assert_string_equal(mapped_file_name(where.file), path);
	assert_int_equal(where.address, 2 * page + 5);
	munmap(code, 3 * page);
	close(fd);
	unlink(path);
}

/* Creates files in an empty directory, and removes them again. */
static void
make_mapping(int number, ProcMapping *mapping, char *name, size_t size)
{
	struct stat status;

	snprintf(name, size, "/tmp/profstore-file-%d-%d", getpid(), number);
	close(open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(stat(name, &status), 0);
	*mapping = (ProcMapping){ .start = 0x1000,
							  .end = 0x2000,
							  .device = status.st_dev,
							  .inode = status.st_ino,
							  .name = name };
}

/*
 * An owner may have half of the open files, and does not keep others from theirs: the last eighth
 * is for owners with few. A file that is open already costs nothing.
 */
static void
test_files_limited(void **state)
{
	Fixture *fixture = *state;
	static MappedFile *files[260];
	MappedFile *executable;
	MappedFile *again;
	ProcMapping mapping;
	MappedFileStats before;
	MappedFileStats stats;
	char name[64];
	size_t opened[4] = { 0 };
	size_t count = 0;

	mapped_file_table_stats(fixture->files, &before);
	mapped_file_table_limit(fixture->files, 200 + before.count, 0);
	for (int number = 0; number < 520; number++)
	{
		uint64_t owner = (uint64_t) (1 + number / 130);

		make_mapping(number, &mapping, name, sizeof(name));
		if (mapped_file_acquire_mapping(fixture->files, owner, (uint32_t) getpid(), &mapping,
										&files[count]) == 0)
		{
			opened[owner - 1]++;
			count++;
			assert_int_equal(mapped_file_acquire_mapping(fixture->files, owner, (uint32_t) getpid(),
														 &mapping, &files[count]),
							 0);
			mapped_file_release(fixture->files, files[count]);
		}
		unlink(name);
	}
	/* a program that is open already needs no room either */
	mapped_file_table_limit(fixture->files, 1, 0);
	assert_int_equal(mapped_file_acquire_executable(fixture->files, 5, (uint32_t) getpid(), "self",
													&executable),
					 -EMFILE);
	mapped_file_table_limit(fixture->files, 0, 0);
	assert_int_equal(mapped_file_acquire_executable(fixture->files, 4, (uint32_t) getpid(), "self",
													&executable),
					 0);
	mapped_file_table_limit(fixture->files, 1, 0);
	assert_int_equal(mapped_file_acquire_executable(fixture->files, 5, (uint32_t) getpid(), "self",
													&again),
					 0);
	assert_ptr_equal(again, executable);
	mapped_file_release(fixture->files, again);
	mapped_file_release(fixture->files, executable);
	mapped_file_table_limit(fixture->files, 200 + before.count, 0);
	/* half; together with this owner seven eighths; an owner of few files; none beyond the limit */
	assert_in_range(opened[0], 98, 102);
	assert_in_range(opened[0] + opened[1], 173, 177);
	assert_in_range(opened[2], 23, 27);
	assert_int_equal(opened[3], 0);
	mapped_file_table_stats(fixture->files, &stats);
	assert_int_equal(stats.refused, 520 - count + 1); /* the program's own file */
	for (size_t i = 0; i < count; i++)
		mapped_file_release(fixture->files, files[i]);
	/* a closed file may be opened again */
	mapped_file_table_sweep(fixture->files);
	make_mapping(0, &mapping, name, sizeof(name));
	assert_int_equal(mapped_file_acquire_mapping(fixture->files, 4, (uint32_t) getpid(), &mapping,
												 &files[0]),
					 0);
	mapped_file_release(fixture->files, files[0]);
	unlink(name);
}

/*
 * A process that maps a file first, under a name of its own, determines the name for itself only.
 */
static void
test_file_of_two_names(void **state)
{
	Fixture *fixture = *state;
	MappedFile *files[5];
	char name[64];
	char other[80];
	ProcMapping mappings[2];

	make_mapping(0, &mappings[0], name, sizeof(name));
	snprintf(other, sizeof(other), "%s-other", name);
	assert_int_equal(link(name, other), 0);
	mappings[1] = mappings[0];
	mappings[1].name = other;
	/* in the second round they are open already */
	for (int i = 0; i < 4; i++)
	{
		assert_int_equal(mapped_file_acquire_mapping(fixture->files, 1, (uint32_t) getpid(),
													 &mappings[i % 2], &files[i]),
						 0);
		assert_string_equal(mapped_file_name(files[i]), mappings[i % 2].name);
	}
	assert_ptr_equal(files[0], files[2]);
	assert_ptr_equal(files[1], files[3]);
	mapped_file_release(fixture->files, files[3]);
	mapped_file_release(fixture->files, files[1]);
	mapped_file_table_sweep(fixture->files);
	/* files of an ended process, if the name leads to them; otherwise any name serves */
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(mapped_file_acquire_past(fixture->files, 1, 0, &mappings[1], &files[4]),
						 0);
		assert_string_equal(mapped_file_name(files[4]), i == 0 ? other : name);
		mapped_file_release(fixture->files, files[4]);
		mapped_file_table_sweep(fixture->files);
		unlink(other);
	}
	mapped_file_release(fixture->files, files[0]);
	mapped_file_release(fixture->files, files[2]);
	unlink(name);
}

/* Counts opened files in the order of owners, the first of which has files that do not answer. */
static size_t openings[3];
static int64_t opening_ns;

static int
open_some(void *context, const MappedFilePlace *place, const char *name, void **content)
{
	struct timespec pause = { 0, opening_ns };

	openings[place->payer]++;
	(void) nanosleep(&pause, NULL);
	*content = NULL;
	return place->payer == 1 ? -EAGAIN : 0;
}

static void
close_some(void *content)
{
	(void) content;
}

/*
 * Files are opened until a deadline. Of an owner whose files do not answer one is tried, after the
 * files of others.
 */
static void
test_opening_bounded(void **state)
{
	const MappedFileOpener opener = { NULL, open_some, close_some };
	Fixture *fixture = *state;
	MappedFile *files[40];
	size_t before;

	memset(openings, 0, sizeof(openings));
	opening_ns = 0;
	for (size_t i = 0; i < 40; i++)
	{
		char name[64];
		struct stat status;
		int fd;

		snprintf(name, sizeof(name), "/dev/shm/pfs-opening-%d-%zu", getpid(), i);
		fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_int_equal(fstat(fd, &status), 0);
		close(fd);
		if (major(status.st_dev) != 0)
			skip();
		assert_int_equal(mapped_file_acquire_mapping(fixture->files, i < 20 ? 1 : 2,
													 (uint32_t) getpid(),
													 &(ProcMapping){ .start = 0x1000,
																	 .end = 0x2000,
																	 .device = status.st_dev,
																	 .inode = status.st_ino,
																	 .name = name },
													 &files[i]),
						 0);
		mapped_file_retain_sampled(fixture->files, files[i]);
		unlink(name);
	}
	mapped_file_table_open_pending(fixture->files, &opener, clock_ns(CLOCK_MONOTONIC));
	assert_int_equal(openings[1] + openings[2], 0);
	/* even at the end of the time, one file at a time does not exceed it */
	opening_ns = 100 * 1000000;
	mapped_file_table_open_pending(fixture->files, &opener, clock_ns(CLOCK_MONOTONIC) + opening_ns);
	assert_in_range(openings[1] + openings[2], 0, 2);
	before = openings[1];
	opening_ns = 0;
	mapped_file_table_open_pending(fixture->files, &opener, INT64_MAX);
	assert_in_range(openings[1] - before, 0, 3);
	assert_int_equal(openings[2], 20);
	for (size_t i = 0; i < 20; i++)
		assert_null(mapped_file_content(fixture->files, files[i], &opener));
	assert_in_range(openings[1] - before, 0, 3);
	for (size_t i = 0; i < 40; i++)
	{
		mapped_file_release(fixture->files, files[i]);
		mapped_file_release(fixture->files, files[i]);
	}
}

/*
 * Mappings are charged to their owner: when all together exceed the limit, the owner that has most
 * loses a process; an owner that exceeds its share, or that made the collector read long lists,
 * gets short lists. Ids of control groups do not identify owners, because a user with a subtree
 * creates groups at will.
 */
static void
test_mappings_charged(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample own = sample_of(getpid());
	pid_t mappers[3];
	struct pfs_sample samples[3];
	ProcessTableStats stats;
	Process *process;

	own.cgroup_id = 1;
	process = process_table_get(fixture->processes, &own, 1000 * MS);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	for (int i = 0; i < 3; i++)
	{
		mappers[i] = start_mapper(2000, i < 2 ? 65001 : 65002);
		samples[i] = sample_of(mappers[i]);
		samples[i].cgroup_id = 2 + (uint64_t) i;
	}
	process_table_limit_mappings(fixture->processes,
								 process->charged_bytes + 3000 * sizeof(Mapping));
	process = process_table_get(fixture->processes, &samples[0], 1001 * MS);
	assert_true(process->mappings.count >= 2000);
	assert_false(process->mappings.is_cut);
	/* its owner has more than a quarter */
	process = process_table_get(fixture->processes, &samples[1], 1002 * MS);
	assert_int_equal(process->mappings.count, REREAD_AT_ONE_COST);
	assert_true(process->mappings.is_cut);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.cut, 1);
	assert_int_equal(stats.evicted, 0);
	/* another owner has memory of its own */
	process = process_table_get(fixture->processes, &samples[2], 1003 * MS);
	assert_true(process->mappings.count >= 2000);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.evicted, 1);
	assert_int_equal(stats.count, 3);
	assert_non_null(process_table_get(fixture->processes, &own, 1004 * MS));
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.created, 4);
	for (int i = 0; i < 3; i++)
	{
		kill(mappers[i], SIGKILL);
		waitpid(mappers[i], NULL, 0);
	}
}

/* Long lists of an owner are read as often as its share allows, then short ones. */
static void
test_long_readings_charged(void **state)
{
	Fixture *fixture = *state;
	pid_t mapper = start_mapper(MAPPINGS_MAX + 100, 65001);
	struct pfs_sample sample = sample_of(mapper);
	int whole = 0;
	Process *process;

	for (int i = 0; i < 8; i++)
	{
		sample.cgroup_id++;
		sample.exec_id++; /* as if the program began anew */
		process = process_table_get(fixture->processes, &sample, 1000 * MS);
		whole += process->mappings.count == MAPPINGS_MAX;
		assert_true(process->mappings.count == MAPPINGS_MAX ||
					process->mappings.count == REREAD_AT_ONE_COST);
	}
	/* 64 units at once, of which each list takes 32; the last one is lent */
	assert_int_equal(whole, 3);
	kill(mapper, SIGKILL);
	waitpid(mapper, NULL, 0);
	mapper = start_mapper(MAPPINGS_MAX + 100, 65002);
	sample = sample_of(mapper);
	process = process_table_get(fixture->processes, &sample, 1000 * MS);
	assert_int_equal(process->mappings.count, MAPPINGS_MAX);
	kill(mapper, SIGKILL);
	waitpid(mapper, NULL, 0);
}

/* Code that is mapped later is found, but /proc is not read again at every address without code. */
static void
test_mappings_read_again(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	Process *process = process_table_get(fixture->processes, &sample, 1000 * MS);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address = (uint64_t) (uintptr_t) code;
	ProcessTableStats before;
	ProcessTableStats after;
	ProcessAddress where;

	assert_ptr_not_equal(code, MAP_FAILED);
	assert_false(process_resolve(fixture->processes, process, address, 0, true, 1005 * MS, &where));
	assert_true(process_resolve(fixture->processes, process, address, 0, true, 1011 * MS, &where));
	assert_int_equal(where.kind, MAPPING_ANONYMOUS);
	assert_int_equal(where.address, address);
	assert_null(where.file);
	munmap(code, 4096);

	process_table_stats(fixture->processes, &before);
	assert_false(process_resolve(fixture->processes, process, 0x1000, 0, false, 1900 * MS, &where));
	for (uint64_t ms = 2000; ms < 12000; ms++)
		assert_false(
			process_resolve(fixture->processes, process, 0x1000, 0, true, ms * MS, &where));
	process_table_stats(fixture->processes, &after);
	assert_in_range(after.map_reads - before.map_reads, 2, 12);
}

static void
test_vdso(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	Process *process = process_table_get(fixture->processes, &sample, 1);
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start = 0;
	ProcessAddress where;

	while (fgets(line, sizeof(line), maps) != NULL)
	{
		if (strstr(line, "[vdso]") != NULL)
			start = strtoul(line, NULL, 16);
	}
	fclose(maps);
	if (start == 0)
		skip();
	assert_true(process_resolve(fixture->processes, process, start + 0x600, 0, true, 1, &where));
	assert_int_equal(where.kind, MAPPING_VDSO);
	assert_string_equal(mapped_file_name(where.file), "[vdso]");
	assert_int_equal(where.address, 0x600);
}

/*
 * If another owner finds no room, the owner that holds most loses a process first, though it was
 * sampled just before; unless the other owner holds even more.
 */
static void
test_no_room_beside_large_one(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = { .flags = PFS_SAMPLE_KERNEL_THREAD };
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	struct pfs_sample own = sample_of(getpid());
	ProcessTableStats stats;
	Process *large;

	for (uint32_t pid = 1; pid <= 3; pid++)
	{
		sample.pid = pid;
		large = process_table_get(fixture->processes, &sample, now_ns);
	}
	process_described(fixture->processes, large, 10000, now_ns);
	process_had_no_room(fixture->processes, process_table_get(fixture->processes, &own, now_ns),
						now_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.evicted, 2); /* the oldest and the largest */
	sample.pid = 2;
	process_table_get(fixture->processes, &sample, now_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.created, 4);

	large = process_table_get(fixture->processes, &sample, now_ns);
	process_described(fixture->processes, large, 1, now_ns);
	now_ns += 10000 * MS;
	process_had_no_room(fixture->processes, process_table_get(fixture->processes, &own, now_ns),
						now_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.evicted, 3);
}

/*
 * If the unwinder has no memory for an image, an eighth of the others is dropped, once, and the
 * image is described again later.
 */
static void
test_no_room(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = { .flags = PFS_SAMPLE_KERNEL_THREAD };
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	ProcessDescription description;
	ProcessTableStats stats;
	Process *process;

	for (uint32_t pid = 1; pid <= 3; pid++)
	{
		sample.pid = pid;
		process_table_get(fixture->processes, &sample, now_ns);
	}
	sample = sample_of(getpid());
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_true(process_take_description(fixture->processes, process, &description));
	process_description_fini(fixture->files, &description);
	assert_false(process_take_description(fixture->processes, process, &description));

	process_had_no_room(fixture->processes, process, now_ns);
	process_had_no_room(fixture->processes, process, now_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.evicted, 1);
	assert_int_equal(stats.count, 3);
	assert_false(process_take_description(fixture->processes, process, &description));

	/* after enough time it may be tried again, and more are dropped; never the image itself */
	for (uint64_t ago_s = 40; ago_s > 0; ago_s -= 10)
		process_had_no_room(fixture->processes, process, now_ns - ago_s * 1000 * MS);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 3);
	assert_true(process_take_description(fixture->processes, process, &description));
	process_description_fini(fixture->files, &description);
	for (uint64_t later_s = 10; later_s <= 50; later_s += 10)
		process_had_no_room(fixture->processes, process, now_ns + later_s * 1000 * MS);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 1);
}

static bool
is_compiled_by_known(const Process *process)
{
	return strncmp(process_compiler(process), "gcc ", 4) == 0 ||
		   strncmp(process_compiler(process), "clang ", 6) == 0;
}

/* Recognizes a real interpreter, and that this program is none. */
static void
test_code(void **state)
{
	Fixture *fixture = *state;
	char path[] = "/usr/bin/perl";
	char sleeps[] = "-e";
	char program[] = "sleep 60";
	char *const arguments[] = { path, sleeps, program, NULL };
	struct pfs_sample sample;
	Process *process;
	pid_t child;

	child = start_with(arguments, environ);
	sample = sample_of(child);
	process_table_want_code(fixture->processes);
	process = process_table_get(fixture->processes, &sample, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_string_equal(process_runtime(process), "perl");
	sample = sample_of(getpid());
	process = process_table_get(fixture->processes, &sample, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	assert_string_equal(process_runtime(process), "");
	for (uint64_t i = 1; i < 20 && !is_compiled_by_known(process); i++)
		process =
			process_table_get(fixture->processes, &sample,
							  (uint64_t) clock_ns(CLOCK_MONOTONIC) + i * (PROCESS_REFRESH_NS + 1));
	assert_true(is_compiled_by_known(process));
}

static sem_t device_answers;

static void
run_unanswered(Probe *probe)
{
	(void) probe;
	sem_wait(&device_answers);
}

static void
discard_unanswered(Probe *probe)
{
	free(probe);
}

/* A file whose device did not answer is tried again when its process is next read. */
static void
test_code_of_late_device(void **state)
{
	Fixture *fixture = *state;
	Prober *prober = fixture->processes->file_prober;
	struct pfs_sample sample = sample_of(getpid());
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	Process *process = process_table_get(fixture->processes, &sample, now_ns);

	sem_init(&device_answers, 0, 0);
	for (int i = 0; i < PROBER_DEVICE_STUCK; i++)
	{
		Probe *probe = calloc(1, sizeof(*probe));

		assert_non_null(probe);
		*probe = (Probe){ .run = run_unanswered,
						  .discard = discard_unanswered,
						  .subject = { .device = mapped_file_device(process->executable) } };
		assert_int_equal(prober_run(prober, probe, MS), -ETIMEDOUT);
	}
	process_table_want_code(fixture->processes);
	now_ns += PROCESS_REFRESH_NS + 1;
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_string_equal(process_compiler(process), "");
	for (int i = 0; i < PROBER_DEVICE_STUCK; i++)
		sem_post(&device_answers);
	while (prober_stuck(prober) > 0)
		usleep(1000);
	for (int i = 0; i < 20 && !is_compiled_by_known(process); i++)
	{
		now_ns += PROCESS_REFRESH_NS + 1;
		process = process_table_get(fixture->processes, &sample, now_ns);
	}
	assert_true(is_compiled_by_known(process));
	sem_destroy(&device_answers);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_deleted_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mappings_charged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_readings_charged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mappings_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_memory, setup, teardown),
		cmocka_unit_test(test_names_of_memory),
		cmocka_unit_test(test_moved_code_in_text),
		cmocka_unit_test_setup_teardown(test_moved_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vdso, setup, teardown),
		cmocka_unit_test_setup_teardown(test_opening_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_of_two_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_code_of_late_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room_beside_large_one, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
