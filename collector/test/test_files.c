/*
 * test_files.c
 *		Files whose paths others chose: regular files inside a root directory only, with and without
 *		openat2().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/compiler.h"
#include "files/elf_headers.h"
#include "files/open_file.h"

static char directory[64];

static void
make(const char *format, ...)
{
	char command[4096];
	va_list arguments;

	va_start(arguments, format);
	assert_in_range(vsnprintf(command, sizeof(command), format, arguments), 1, 4095);
	va_end(arguments);
	assert_int_equal(system(command), 0);
}

/* Creates root/, which a container sees, and files beside it, which it must not reach. */
static int
make_files(void **state)
{
	strcpy(directory, "/tmp/test_files_XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	make(
		"cd %s && mkdir -p root/lib/deep root/etc && echo outside >secret && echo inside >root/secret &&"
		" echo hosts >root/etc/hosts && echo library >root/lib/deep/library &&"
		" ln -s /etc/hosts root/absolute && ln -s ../../../../secret root/lib/upward &&"
		" ln -s deep root/lib/shallow && ln -s shallow/library root/lib/twice &&"
		" ln -s loop root/loop && ln -s /missing root/broken && mkfifo root/pipe &&"
		" ln -s /pipe root/to_pipe && ln -s %s/secret root/host_path",
		directory, directory);
	return 0;
}

static int
remove_files(void **state)
{
	make("rm -r %s", directory);
	return 0;
}

/* Reads a file below root/ into text. Returns 0 or -errno. */
static int
read_inside(const char *path, char text[32])
{
	char root[128];
	struct stat status;
	ssize_t length;
	int root_fd;
	int fd;

	snprintf(root, sizeof(root), "%s/root", directory);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root_fd >= 0);
	fd = open_file_inside(root_fd, path, &status);
	close(root_fd);
	if (fd < 0)
		return fd;
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	length = read(fd, text, 31);
	assert_true(length > 0);
	text[length - 1] = '\0';
	close(fd);
	return 0;
}

static void
stays_inside(void **state)
{
	static const struct
	{
		const char *path;
		const char *text; /* NULL: refused */
		int err;
	} cases[] = {
		{ "/etc/hosts", "hosts", 0 },
		{ "etc/hosts", "hosts", 0 },
		{ "//etc/./hosts", "hosts", 0 },
		{ "/absolute", "hosts", 0 },
		{ "/lib/upward", "inside", 0 },
		{ "/../../secret", "inside", 0 },
		{ "/lib/deep/../../../../secret", "inside", 0 },
		{ "/lib/shallow/library", "library", 0 },
		{ "/lib/twice", "library", 0 },
		{ "/lib/shallow/../deep/library", "library", 0 },
		{ "/host_path", NULL, -ENOENT },
		{ "/broken", NULL, -ENOENT },
		{ "/missing", NULL, -ENOENT },
		{ "/loop", NULL, -ELOOP },
		{ "/etc/hosts/below", NULL, -ENOTDIR },
		{ "/lib/deep", NULL, -ENOEXEC },
		{ "/", NULL, -ENOEXEC },
		{ "/pipe", NULL, -ENOEXEC },
		{ "/to_pipe", NULL, -ENOEXEC },
	};

	for (int without = 0; without < 2; without++)
	{
		open_file_without_openat2(without);
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		{
			char text[32] = "";

			if (read_inside(cases[i].path, text) != cases[i].err ||
				(cases[i].text != NULL && strcmp(text, cases[i].text) != 0))
				fail_msg("%s, %s openat2: %d \"%s\"", cases[i].path, without ? "without" : "with",
						 read_inside(cases[i].path, text), text);
		}
	}
	open_file_without_openat2(false);
}

static void
bounds_paths(void **state)
{
	char path[PATH_MAX + 16];
	char text[32];

	open_file_without_openat2(true);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(read_inside(path, text), -ENAMETOOLONG);
	path[NAME_MAX + 1] = '\0';
	assert_int_equal(read_inside(path, text), -ENAMETOOLONG);
	make("cd %s/root && for i in $(seq 80); do mkdir d && cd d || exit; done; echo deep >file",
		 directory);
	path[0] = '\0';
	for (int i = 0; i < 80; i++)
		strcat(path, "/d");
	strcat(path, "/file");
	assert_int_equal(read_inside(path, text), -ENAMETOOLONG);
	open_file_without_openat2(false);
	assert_int_equal(read_inside(path, text), 0);
}

/* Opening a file is an event that others see, and on which a driver acts. */
static void
never_opens_what_is_no_file(void **state)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[128];
	char events[4096];
	struct stat status;
	char text[32];

	assert_true(watch >= 0);
	snprintf(path, sizeof(path), "%s/root/pipe", directory);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	assert_int_equal(open_file_trusted(path, &status), -ENOEXEC);
	for (int without = 0; without < 2; without++)
	{
		open_file_without_openat2(without);
		assert_int_equal(read_inside("/to_pipe", text), -ENOEXEC);
	}
	open_file_without_openat2(false);
	assert_int_equal(read(watch, events, sizeof(events)), -1);
	assert_int_equal(errno, EAGAIN);
	close(watch);
	assert_int_equal(open_file_trusted("/dev/null", &status), -ENOEXEC);
}

/* Starts a process whose root is root/. Returns 0 if the machine does not allow it. */
static pid_t
start_in_root(void)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0)
	{
		char root[128];

		/* ends the process also if a check fails first */
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(root, sizeof(root), "%s/root", directory);
		if (chroot(root) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(root) != 0))
			_exit(1);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
	{
		waitpid(child, NULL, 0);
		child = 0;
	}
	close(ready[0]);
	return child;
}

static void
follows_links_in_the_root_of_a_process(void **state)
{
	pid_t child = start_in_root();
	struct stat expected;
	struct stat status;
	char path[128];
	int fd;

	if (child == 0)
		skip();
	snprintf(path, sizeof(path), "%s/root/etc/hosts", directory);
	assert_int_equal(stat(path, &expected), 0);
	for (int without = 0; without < 2; without++)
	{
		open_file_without_openat2(without);
		snprintf(path, sizeof(path), "/proc/%d/root/absolute", (int) child);
		fd = open_file_of_process(path, &status);
		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(status.st_ino, expected.st_ino);
		snprintf(path, sizeof(path), "/proc/%d/root/host_path", (int) child);
		assert_int_equal(open_file_of_process(path, &status), -ENOENT);
	}
	open_file_without_openat2(false);
	/* the kernel's own links are followed */
	fd = open_file_of_process("/proc/self/exe", &status);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(kill(child, SIGKILL), 0);
	waitpid(child, NULL, 0);
}

/*
 * Writes notes without meaning, then one with a build ID, in a section of its own. Returns true if
 * that is found. A file of thousands of sections with equal notes would otherwise be read for a
 * minute.
 */
static bool
finds_build_id_behind(uint32_t notes)
{
	static const struct
	{
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[4];
	} last = { { 4, 4, NT_GNU_BUILD_ID }, "GNU", { 1, 2, 3, 4 } };
	uint8_t bytes[5000 * sizeof(Elf64_Nhdr) + sizeof(last)] = { 0 };
	const ElfExtent before = { 0, notes * sizeof(Elf64_Nhdr) };
	const ElfExtent behind = { before.size_bytes, sizeof(last) };
	const ElfSource source = { .fd = -1,
							   .memory = bytes,
							   .size_bytes = before.size_bytes + behind.size_bytes };
	ElfBuildId id = { 0 };

	memcpy(bytes + before.size_bytes, &last, sizeof(last));
	elf_build_id_read(&id, &source, &before, 4);
	elf_build_id_read(&id, &source, &behind, 4);
	return id.size_bytes == sizeof(last.id) && memcmp(id.bytes, last.id, sizeof(last.id)) == 0;
}

static void
looks_at_few_notes(void **state)
{
	assert_true(finds_build_id_behind(0));
	assert_true(finds_build_id_behind(1000));
	assert_false(finds_build_id_behind(5000));
}

static void
check_comment(const char *bytes, size_t length, const char *expected)
{
	char compiler[COMPILER_BYTES];

	compiler_parse_comment(bytes, length, compiler);
	assert_string_equal(compiler, expected);
}

#define CHECK_COMMENT(bytes, expected) check_comment(bytes, sizeof(bytes) - 1, expected)

static void
test_comments(void **state)
{
	CHECK_COMMENT("GCC: (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc 12.2.0");
	CHECK_COMMENT("GCC: (GNU) 13.2.1 20240316 (Red Hat 13.2.1-7)\0", "gcc 13.2.1");
	CHECK_COMMENT("\0Linker: LLD 16.0\0clang version 14.0.6\0", "clang 14.0.6");
	CHECK_COMMENT("GCC: (Debian) 12.2.0\0Debian clang version 14.0.6\0", "clang 14.0.6");
	CHECK_COMMENT("GCC: (x) 12.2.0\0rustc version 1.75.0 (82e1608df 2023-12-21)\0clang version 17",
				  "rustc 1.75.0");
	CHECK_COMMENT("GCC: (never closed", "gcc");
	CHECK_COMMENT("GCC: ", "gcc");
	CHECK_COMMENT("", "");
	CHECK_COMMENT("\0\0\0", "");
	CHECK_COMMENT("another compiler 1.0", "");
}

/* Reads the compiler of this test, and of a program without a compiler's name. */
static void
test_compiler(void **state)
{
	char compiler[COMPILER_BYTES];
	ElfSource source = { .fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };
	struct stat status;
	char expected[COMPILER_BYTES];

	assert_int_equal(fstat(source.fd, &status), 0);
	source.size_bytes = (uint64_t) status.st_size;
	compiler_read(&source, compiler);
#ifdef __clang__
	snprintf(expected, sizeof(expected), "clang %d.%d.%d", __clang_major__, __clang_minor__,
			 __clang_patchlevel__);
#else
	snprintf(expected, sizeof(expected), "gcc %d.%d.%d", __GNUC__, __GNUC_MINOR__,
			 __GNUC_PATCHLEVEL__);
#endif
	assert_string_equal(compiler, expected);
	source.size_bytes = 100;
	compiler_read(&source, compiler);
	assert_string_equal(compiler, "");
	close(source.fd);
}

/* Counts this thread's system calls that read; -1 if the kernel does not count them. */
static long
count_reads(void)
{
	FILE *file = fopen("/proc/thread-self/io", "re");
	char line[128];
	long reads = -1;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		(void) sscanf(line, "syscr: %ld", &reads);
	if (file != NULL)
		fclose(file);
	return reads;
}

/* Headers and names are read many at a time, and equal those of the file. */
static void
reads_headers_together(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ElfSource source = { .fd = fd };
	ElfSource loaded = { .fd = -1 };
	ElfHeaders headers;
	ElfHeaders in_memory;
	struct stat status;
	uint32_t differ = 0;
	uint8_t *bytes;
	long reads;
	long no_reads;

	assert_int_equal(fstat(fd, &status), 0);
	source.size_bytes = loaded.size_bytes = (uint64_t) status.st_size;
	bytes = malloc(source.size_bytes);
	assert_non_null(bytes);
	assert_true(elf_source_read(&source, 0, bytes, source.size_bytes));
	loaded.memory = bytes;
	assert_int_equal(elf_headers_read(&in_memory, &loaded), 0);
	no_reads = count_reads();
	no_reads = count_reads() - no_reads; /* the number of reads that counting itself makes */
	reads = count_reads();
	assert_int_equal(elf_headers_read(&headers, &source), 0);
	assert_true(headers.section_count > 20);
	for (uint32_t i = 0; i < headers.section_count; i++)
	{
		char name[ELF_NAME_BYTES] = "";
		char same_name[ELF_NAME_BYTES] = "";
		Elf64_Shdr section;
		Elf64_Shdr same;

		assert_true(elf_headers_section(&headers, i, &section));
		assert_true(elf_headers_section(&in_memory, i, &same));
		assert_int_equal(elf_headers_name(&headers, &section, name),
						 elf_headers_name(&in_memory, &same, same_name));
		assert_string_equal(name, same_name);
		assert_string_equal(name, (char *) bytes + in_memory.names.offset + same.sh_name);
		differ += memcmp(&section, &same, sizeof(same)) != 0;
	}
	reads = count_reads() - reads - no_reads;
	assert_int_equal(differ, 0);
	if (no_reads > 0)
		assert_in_range(reads, 1, 10);
	free(bytes);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comments),
		cmocka_unit_test(test_compiler),
		cmocka_unit_test(stays_inside),
		cmocka_unit_test(bounds_paths),
		cmocka_unit_test(never_opens_what_is_no_file),
		cmocka_unit_test(follows_links_in_the_root_of_a_process),
		cmocka_unit_test(looks_at_few_notes),
		cmocka_unit_test(reads_headers_together),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
