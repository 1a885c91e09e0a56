/*
 * test_agent_proc.c
 *		Parsers of the kernel's files about processes and CPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel/kernel_version.h"
#include "process/cpu_list.h"
#include "process/mapping_list.h"
#include "process/proc_file.h"

static long
count(const CpuList *list)
{
	long number = 0;

	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		number += cpu_list_has(list, cpu);
	return number;
}

static void
test_cpu_lists(void **state)
{
	CpuList list;

	assert_int_equal(cpu_list_parse("0-3,8,10-11\n", &list), 0);
	assert_int_equal(count(&list), 7);
	assert_true(cpu_list_has(&list, 0));
	assert_true(cpu_list_has(&list, 3));
	assert_false(cpu_list_has(&list, 4));
	assert_true(cpu_list_has(&list, 11));
	assert_false(cpu_list_has(&list, CPU_LIST_MAX + 1));
	assert_int_equal(cpu_list_parse("0\n", &list), 0);
	assert_int_equal(count(&list), 1);
	assert_int_equal(cpu_list_parse("\n", &list), 0);
	assert_int_equal(count(&list), 0);
	assert_int_equal(cpu_list_parse("4095", &list), 0);
	assert_true(cpu_list_has(&list, 4095));
}

static void
test_cpu_list_errors(void **state)
{
	static const char *const bad[] = { "x",		 "1-",	 "-1",
									   "3-1",	 "1,,2", "1,",
									   "1 2",	 "4096", "99999999999999999999",
									   "0-3\n4", "1-2-3" };
	CpuList list = { { 42 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		if (cpu_list_parse(bad[i], &list) != -EINVAL)
			fail_msg("\"%s\" was taken for a CPU list", bad[i]);
		assert_int_equal(list.bits[0], 42);
	}
}

static void
test_online_cpus(void **state)
{
	CpuList list;

	assert_int_equal(cpu_list_read("/sys/devices/system/cpu/online", &list), 0);
	assert_int_equal(count(&list), sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(cpu_list_read("/nonexistent", &list), -ENOENT);
}

static void
test_stat(void **state)
{
	ProcStat stat;

	/* the name of a process may contain any characters */
	assert_int_equal(proc_stat_parse("7 (a) R 9 (b)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 "
									 "98765 1000 10 18446744073709551615 1 1 140721 0 0 "
									 "0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 140999 0 0 0 0\n",
									 &stat),
					 0);
	assert_int_equal(stat.start_ticks, 98765);
	assert_int_equal(stat.arg_start, 140999);
	assert_int_equal(proc_stat_parse("", &stat), -EINVAL);
	assert_int_equal(proc_stat_parse("7 (x", &stat), -EINVAL);
	assert_int_equal(proc_stat_parse("7 (x) S 1 2 3", &stat), -EINVAL);
	assert_int_equal(stat.start_ticks, 98765);
	assert_int_equal(proc_stat_read((uint32_t) getpid(), &stat), 0);
	assert_true(stat.start_ticks > 0 && stat.arg_start > 0);
}

static void
check_line(const char *text, uint64_t start, uint64_t end, uint64_t offset, ino_t inode,
		   const char *name, bool deleted, bool executable)
{
	char line[512];
	ProcMapping mapping;
	bool is_executable;

	snprintf(line, sizeof(line), "%s", text);
	if (proc_maps_parse_line(line, &mapping, &is_executable) != 0)
		fail_msg("could not parse \"%s\"", text);
	assert_int_equal(mapping.start, start);
	assert_int_equal(mapping.end, end);
	assert_int_equal(mapping.file_offset, offset);
	assert_int_equal(mapping.inode, inode);
	assert_string_equal(mapping.name, name);
	assert_int_equal(mapping.deleted, deleted);
	assert_int_equal(is_executable, executable);
}

static void
test_maps_lines(void **state)
{
	check_line("55d0a7a00000-55d0a7b00000 r-xp 0000f000 fd:01 1234   /usr/bin/x", 0x55d0a7a00000,
			   0x55d0a7b00000, 0xf000, 1234, "/usr/bin/x", false, true);
	check_line("7f0000000000-7f0000001000 r--p 00000000 00:1f 5 /a b (c)", 0x7f0000000000,
			   0x7f0000001000, 0, 5, "/a b (c)", false, false);
	check_line("7f0000000000-7f0000001000 r-xp 00000000 00:1f 5 /lib/old.so (deleted)",
			   0x7f0000000000, 0x7f0000001000, 0, 5, "/lib/old.so", true, true);
	check_line("7f0000000000-7f0000001000 r-xp 00000000 00:1f 5 /new\\012line", 0x7f0000000000,
			   0x7f0000001000, 0, 5, "/new\nline", false, true);
	check_line("7f0000000000-7f0000001000 rwxp 00000000 00:00 0", 0x7f0000000000, 0x7f0000001000, 0,
			   0, "", false, true);
	check_line("7ffd1b5f0000-7ffd1b5f2000 r-xp 00000000 00:00 0      [vdso]", 0x7ffd1b5f0000,
			   0x7ffd1b5f2000, 0, 0, "[vdso]", false, true);
	check_line("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
			   0xffffffffff600000, 0xffffffffff601000, 0, 0, "[vsyscall]", false, true);
}

static void
test_maps_device(void **state)
{
	char line[] = "1000-2000 r-xp 00000000 fd:1a 99 /x";
	ProcMapping mapping;
	bool executable;

	assert_int_equal(proc_maps_parse_line(line, &mapping, &executable), 0);
	assert_int_equal(mapping.device, makedev(0xfd, 0x1a));
}

static void
test_maps_errors(void **state)
{
	static const char *const bad[] = {
		"",
		"hello",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0 fd:01",
		"2000-1000 r-xp 00000000 fd:01 1 /x",
		"1000-1000 r-xp 00000000 fd:01 1 /x",
		"1000-2000 r 00000000 fd:01 1 /x",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		char line[128];
		ProcMapping mapping;
		bool executable;

		snprintf(line, sizeof(line), "%s", bad[i]);
		if (proc_maps_parse_line(line, &mapping, &executable) != -EINVAL)
			fail_msg("\"%s\" was taken for a mapping", bad[i]);
	}
}

static void
test_files(void **state)
{
	char exe[4096];
	char own[4096];
	ssize_t length;
	bool deleted;
	char *text;
	size_t bytes;

	assert_int_equal(proc_file_read("/nonexistent", 100, &text, NULL), -ENOENT);
	assert_int_equal(proc_file_read("/proc/self/maps", 10, &text, NULL), -EFBIG);
	assert_int_equal(proc_file_read("/proc/self/maps", 1 << 20, &text, &bytes), 0);
	assert_int_equal(strlen(text), bytes);
	assert_non_null(strstr(text, "[stack]"));
	free(text);
	length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	assert_true(length > 0);
	own[length] = '\0';
	assert_int_equal(proc_exe_read((uint32_t) getpid(), exe, sizeof(exe), &deleted), 0);
	assert_string_equal(exe, own);
	assert_false(deleted);
	assert_int_equal(proc_exe_read(0x7fffffff, exe, sizeof(exe), &deleted), -ENOENT);
}

/* Counts mappings, without those of the kernel that are not mappings of the process. */
static size_t
next_of_process(const MappingList *list, size_t at)
{
	while (at < list->count && list->mappings[at].kind == MAPPING_OTHER)
		at++;
	return at;
}

/* Maps a page of a new file as executable, and removes the file unless keep is true. */
static void
map_file(const char *path, bool remove)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096) != MAP_FAILED);
	close(fd);
	if (remove)
		assert_int_equal(unlink(path), 0);
}

/* If the kernel answers queries about single mappings, the answers equal the text. */
static void
test_mapping_list(void **state)
{
	static const char plain[] = "/var/tmp/profstore plain \n name";
	MappingList asked;
	MappingList text_list;
	char *text;
	size_t deleted = 0;
	size_t j = 0;

	map_file(plain, false);
	map_file("/var/tmp/profstore-deleted", true);
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
				MAP_FAILED);
	assert_int_equal(mapping_list_read((uint32_t) getpid(), MAPPINGS_MAX, &asked), 0);
	assert_int_equal(proc_file_read("/proc/self/maps", 1 << 20, &text, NULL), 0);
	assert_int_equal(mapping_list_parse(text, &text_list), 0);
	unlink(plain);
	for (size_t i = next_of_process(&asked, 0); i < asked.count; i = next_of_process(&asked, i + 1))
	{
		const Mapping *a = &asked.mappings[i];
		const Mapping *b;

		j = next_of_process(&text_list, j);
		assert_true(j < text_list.count);
		b = &text_list.mappings[j++];
		assert_int_equal(a->kind, b->kind);
		assert_int_equal(a->map.start, b->map.start);
		assert_int_equal(a->map.end, b->map.end);
		assert_int_equal(a->map.file_offset, b->map.file_offset);
		assert_int_equal(a->map.device, b->map.device);
		assert_int_equal(a->map.inode, b->map.inode);
		assert_int_equal(a->map.deleted, b->map.deleted);
		assert_string_equal(a->map.name, b->map.name);
		deleted += a->map.deleted;
	}
	assert_int_equal(next_of_process(&text_list, j), text_list.count);
	assert_int_equal(deleted, 1);
	assert_true(asked.count > 5);
	free(text);
	mapping_list_release(NULL, &asked);
	mapping_list_release(NULL, &text_list);
	assert_int_equal(mapping_list_read(0x7fffffff, MAPPINGS_MAX, &asked), -ENOENT);
	mapping_list_release(NULL, &asked);
}

/*
 * Creates a file whose path is longer than any that the kernel reports at once. Removes the tree of
 * directories again.
 */
static int
open_deep_file(void)
{
	char top[] = "/tmp/profstore-deep-XXXXXX";
	char name[251];
	char command[64];
	int home = open(".", O_PATH | O_CLOEXEC);
	int fd;

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	for (size_t bytes = 0; bytes <= PATH_MAX; bytes += sizeof(name))
	{
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
	fd = open("code", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fchdir(home), 0);
	close(home);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	assert_int_equal(system(command), 0);
	return fd;
}

/*
 * If a path has no room in an answer, the text is read. A name occurs in the list once; a list is
 * cut at its limit, and also if its names or the text take too much memory.
 */
static void
test_long_paths(void **state)
{
	int fd = open_deep_file();
	size_t longest = 0;
	MappingList list;

	assert_true(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	assert_int_equal(mapping_list_read((uint32_t) getpid(), MAPPINGS_MAX, &list), 0);
	for (size_t i = 0; i < list.count; i++)
	{
		size_t length = strlen(list.mappings[i].map.name);

		longest = length > longest ? length : longest;
	}
	assert_true(longest > PATH_MAX);
	assert_true(list.count > 5);
	assert_false(list.is_cut);
	mapping_list_release(NULL, &list);

	for (size_t bytes = 0; bytes < 64 * 1024 * 1024; bytes += longest)
		assert_true(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	close(fd);
	assert_int_equal(mapping_list_read((uint32_t) getpid(), MAPPINGS_MAX, &list), 0);
	assert_true(list.is_cut);
	assert_true(list.count > 100 && list.count <= MAPPINGS_MAX);
	assert_true(mapping_list_bytes(&list) < list.count * sizeof(Mapping) + 20 * longest);
	mapping_list_release(NULL, &list);
	assert_int_equal(mapping_list_read((uint32_t) getpid(), 64, &list), 0);
	assert_true(list.is_cut);
	assert_int_equal(list.count, 64);
	mapping_list_release(NULL, &list);
}

/* Two pages, the second of which is executable from time to time: then both are one mapping. */
typedef struct Changing
{
	uint8_t *pages;
	atomic_bool stopping;
} Changing;

static void *
keep_changing(void *argument)
{
	Changing *changing = argument;

	for (bool code = true; !atomic_load(&changing->stopping); code = !code)
		(void) mprotect(changing->pages + 4096, 4096, PROT_READ | (code ? PROT_EXEC : 0));
	return NULL;
}

/* Mappings that change between two queries are disjoint nevertheless. */
static void
test_changing_mappings(void **state)
{
	Changing changing = { .pages =
							  mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
	pthread_t thread;

	assert_true(changing.pages != MAP_FAILED);
	assert_int_equal(mprotect(changing.pages, 4096, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(pthread_create(&thread, NULL, keep_changing, &changing), 0);
	for (int round = 0; round < 5000; round++)
	{
		MappingList list;

		assert_int_equal(mapping_list_read((uint32_t) getpid(), MAPPINGS_MAX, &list), 0);
		for (size_t i = 1; i < list.count; i++)
			assert_true(list.mappings[i].map.start >= list.mappings[i - 1].map.end);
		mapping_list_release(NULL, &list);
	}
	atomic_store(&changing.stopping, true);
	pthread_join(thread, NULL);
	munmap(changing.pages, 8192);
}

/* Parses the fields of uname as the kernels of each distribution fill them. */
static void
test_kernel_versions(void **state)
{
	static const struct
	{
		const char *release;
		const char *build;
		const char *signature;
		unsigned int patch;
		bool locks_up;
	} kernels[] = {
		/* released by kernel.org */
		{ "5.18.19", "#1 SMP", "", 19, false },
		{ "5.19.0", "#1 SMP", "", 0, true },
		{ "5.19.17", "#1 SMP", "", 17, true },
		{ "6.0.19", "#1 SMP", "", 19, true },
		{ "6.1.35", "#1 SMP", "", 35, true },
		{ "6.1.36", "#1 SMP", "", 36, false },
		{ "6.1.0-rc3", "#1 SMP", "", 0, true },
		{ "6.2.16", "#1 SMP", "", 16, true },
		{ "6.3.9", "#1 SMP", "", 9, true },
		{ "6.3.10", "#1 SMP", "", 10, false },
		{ "6.4.0", "#1 SMP", "", 0, false },
		{ "6.18.44-fc-v657", "#1 SMP PREEMPT_DYNAMIC @0", "", 44, false },
		{ "7.1.2", "#1 SMP", "", 2, false },
		{ "5.10.0", "#1 SMP", "", 0, false },
		/* Debian, its backports, Raspberry Pi OS */
		{ "6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", "", 27, true },
		{ "6.1.0-13-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.55-1 (2023-09-29)", "", 55, false },
		{ "6.1.0-0.deb11.5-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.12-1~bpo11+1 (2023-03-05)",
		  "", 12, true },
		{ "6.3.0-0.deb12.2-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.3.11-1~bpo12+1 (2023-07-12)",
		  "", 11, false },
		{ "6.1.0-rpi4-rpi-v8", "#1 SMP PREEMPT Debian 1:6.1.54-1+rpt2 (2023-10-05)", "", 54,
		  false },
		{ "5.10.0-26-amd64", "#1 SMP Debian 5.10.197-1 (2023-09-29)", "", 197, false },
		/* Ubuntu */
		{ "6.2.0-39-generic", "#40~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Nov 16 10:53:04 UTC 2",
		  "Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16\n", 16, true },
		{ "6.1.0-1036-oem", "#36-Ubuntu SMP PREEMPT_DYNAMIC Mon Mar 4",
		  "Ubuntu 6.1.0-1036.36-oem 6.1.66\n", 66, false },
		{ "6.1.0-1009-oem", "#9-Ubuntu SMP PREEMPT_DYNAMIC", "Ubuntu 6.1.0-1009.9-oem 6.1.6\n", 6,
		  true },
		{ "6.5.0-14-generic", "#14-Ubuntu SMP", "Ubuntu 6.5.0-14.14-generic 6.5.3\n", 3, false },
		/* Amazon, Fedora, Proxmox, Google, Red Hat, SUSE */
		{ "6.1.34-59.116.amzn2023.x86_64", "#1 SMP PREEMPT_DYNAMIC Tue Jun 20", "", 34, true },
		{ "6.1.61-85.141.amzn2023.x86_64", "#1 SMP PREEMPT_DYNAMIC Wed Nov 8", "", 61, false },
		{ "6.3.8-200.fc38.x86_64", "#1 SMP PREEMPT_DYNAMIC Thu Jun 15", "", 8, true },
		{ "6.2.16-20-pve", "#1 SMP PREEMPT_DYNAMIC PMX 6.2.16-20 (2023-12-04T13:34Z)", "", 16,
		  true },
		{ "6.1.75+", "#1 SMP PREEMPT_DYNAMIC Sat Mar 30 14:38:17 UTC 2024", "", 75, false },
		{ "5.14.0-427.13.1.el9_4.x86_64", "#1 SMP PREEMPT_DYNAMIC Wed Apr 10", "", 0, false },
		{ "4.18.0-553.el8_10.x86_64", "#1 SMP", "", 0, false },
		{ "6.4.0-150600.21-default", "#1 SMP PREEMPT_DYNAMIC Thu May 16", "", 0, false },
	};
	KernelVersion version;

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
	{
		assert_true(kernel_version_parse(kernels[i].release, kernels[i].build, kernels[i].signature,
										 &version));
		assert_int_equal(version.patch, kernels[i].patch);
		if (kernel_version_locks_up(&version) != kernels[i].locks_up)
			fail_msg("%s", kernels[i].release);
	}
	assert_false(kernel_version_parse("", "", "", &version));
	assert_false(kernel_version_parse("generic", "#1", "", &version));
	assert_false(kernel_version_parse("6", "#1", "", &version));
	assert_false(kernel_version_parse("-6.1.0", "#1", "", &version));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_lists),	 cmocka_unit_test(test_cpu_list_errors),
		cmocka_unit_test(test_online_cpus),	 cmocka_unit_test(test_stat),
		cmocka_unit_test(test_maps_lines),	 cmocka_unit_test(test_maps_device),
		cmocka_unit_test(test_maps_errors),	 cmocka_unit_test(test_files),
		cmocka_unit_test(test_mapping_list), cmocka_unit_test(test_changing_mappings),
		cmocka_unit_test(test_long_paths),	 cmocka_unit_test(test_kernel_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
