/*
 * test_worker_life.c
 *		A symbol worker that cannot end: the owner that is charged for it, and the start of another
 *		worker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "fuse_file.h"
#include "symbols/worker/worker.h"
#include "symbols/worker/worker_accounts.h"
#include "symbols/worker/worker_client.h"

#define WORKER_BINARIES 64	/* number of files that are open at a time */
#define WORKERS_STUCK	8	/* number of workers that may hang at a time */
#define PRIVATE_KB		128 /* memory that any running worker exceeds */

static const SymbolAsk hostile = { INT64_MAX, UINT64_C(1) << 1, 0 };
static const SymbolAsk honest = { INT64_MAX, UINT64_C(1) << 2, 0 };

static FuseFile fuse;
static bool have_fuse;

static const Elf64_Ehdr empty_program = {
	.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
	.e_type = ET_DYN,
	.e_version = EV_CURRENT,
	.e_ehsize = sizeof(Elf64_Ehdr),
	.e_phnum = 1, /* at the beginning of the file, and so of an unknown kind */
};

static int
open_empty_program(void)
{
	int fd = memfd_create("program", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &empty_program, sizeof(empty_program)), sizeof(empty_program));
	return fd;
}

/* Looks up an address of an open file, which has no symbols. */
static int
ask(WorkerClient *client, uint64_t binary, int fd, const SymbolAsk *terms)
{
	const WorkerFiles files = {
		.binary = fd, .debug = -1, .alternative = -1, .package = -1, .table = -1
	};
	const uint64_t address = 0x1000;
	SymbolLines lines;
	uint32_t answered;
	int err = worker_client_ask(client, 4 * binary, &files, &address, 1, terms, &answered);

	return err != 0 ? err : worker_client_take(client, &lines);
}

static int
open_fuse_program(void)
{
	int fd;

	memcpy(fuse.data, &empty_program, sizeof(empty_program));
	fd = open(fuse.path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Starts a client whose worker is the only process that has a FUSE file open. */
static WorkerClient *
start_with_fuse_file(void)
{
	WorkerClient *client;
	int file = open_fuse_program();

	assert_int_equal(worker_client_create(0, &client), 0);
	assert_int_equal(ask(client, 1, file, &hostile), 0);
	close(file);
	return client;
}

static int
let_go(void **state)
{
	if (have_fuse)
		fuse_file_let_go(&fuse);
	return 0;
}

/*
 * A file that hangs when it is closed is closed while others are being read: another worker answers
 * them, and only the file's own owners are refused.
 */
static void
blames_the_file_that_is_closed(void **state)
{
	WorkerClient *client;
	int program;

	if (!have_fuse)
		skip();
	program = open_empty_program();
	client = start_with_fuse_file();
	fuse_file_hold(&fuse, FUSE_FLUSH);
	for (uint64_t i = 0; i < WORKER_BINARIES; i++)
		assert_int_equal(ask(client, 2 + i, program, &honest), 0);
	assert_int_equal(worker_client_failures(client), 1);
	assert_int_equal(ask(client, 1, program, &hostile), -EAGAIN);
	assert_int_equal(ask(client, 2, program, &honest), 0);
	fuse_file_let_go(&fuse);
	worker_client_free(client);
	close(program);
}

/* All files of a worker are closed when it is killed: those that may hang are suspected. */
static void
suspects_files_of_a_killed_worker(void **state)
{
	WorkerClient *client;
	int program;

	if (!have_fuse)
		skip();
	program = open_empty_program();
	client = start_with_fuse_file();
	assert_int_equal(ask(client, 2, program, &honest), 0);
	fuse_file_hold(&fuse, FUSE_FLUSH);
	worker_client_end(client);
	assert_int_equal(ask(client, 2, program, &honest), 0);
	assert_int_equal(ask(client, 1, program, &hostile), -EAGAIN);
	fuse_file_let_go(&fuse);
	worker_client_free(client);
	close(program);
}

/* Opens a program whose file system answers and one that may be held. */
static void
open_programs(int *program, int *file)
{
	if (!have_fuse)
		skip();
	*program = open_empty_program();
	*file = open_fuse_program();
}

static void
end(WorkerClient *client, int program, int file)
{
	fuse_file_let_go(&fuse);
	worker_client_free(client);
	close(file);
	close(program);
}

/* A new worker has none of this process's descriptors, so no file can delay its start. */
static void
starts_beside_a_file_that_hangs(void **state)
{
	WorkerClient *client;
	int program;
	int file;

	open_programs(&program, &file);
	fuse_file_hold(&fuse, FUSE_FLUSH);
	assert_int_equal(worker_client_create(0, &client), 0);
	assert_int_equal(ask(client, 1, program, &honest), 0);
	assert_int_equal(worker_client_failures(client), 0);
	end(client, program, file);
}

/* Returns the memory of a process that belongs to no file, in kB; 0: it has no memory any more. */
static unsigned long
private_kb(pid_t pid)
{
	char path[64];
	char line[128];
	unsigned long kb = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int) pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL && sscanf(line, "RssAnon: %lu", &kb) != 1)
		;
	fclose(file);
	return kb;
}

/* The owner of a file that hangs is charged for the wait, and the memory of its worker is freed. */
static void
charges_the_owner_of_a_file_that_hangs(void **state)
{
	WorkerClient *client;
	pid_t stuck;
	int program;
	int file;

	open_programs(&program, &file);
	assert_int_equal(worker_client_create(0, &client), 0);
	assert_int_equal(ask(client, 1, program, &honest), 0);
	stuck = worker_client_pid(client);
	assert_true(private_kb(stuck) > PRIVATE_KB);
	fuse_file_hold(&fuse, FUSE_READ);
	assert_int_equal(ask(client, 2, file, &hostile), -EIO);
	assert_int_equal(kill(stuck, 0), 0);
#ifdef SYS_process_mrelease
	/* since Linux 5.15 */
	if (syscall(SYS_process_mrelease, -1, 0) != 0 && errno != ENOSYS)
		assert_in_range(private_kb(stuck), 0, PRIVATE_KB);
#endif
	assert_true(worker_client_used(client, hostile.owners) >= WORKER_ACCOUNT_BURST_NS);
	assert_true(worker_client_used(client, honest.owners) < WORKER_ACCOUNT_BURST_NS);
	assert_int_equal(ask(client, 3, program, &hostile), -EAGAIN);
	assert_int_equal(worker_client_refused(client), 1);
	assert_int_equal(ask(client, 1, program, &honest), 0);
	end(client, program, file);
}

static int
count_children(void)
{
	char path[64];
	FILE *file;
	int count = 0;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int) gettid());
	file = fopen(path, "re");
	assert_non_null(file);
	while (fscanf(file, "%d", &pid) == 1)
		count++;
	fclose(file);
	return count;
}

/*
 * Workers that hang one after the other, each because of another owner's file on another device:
 * other files are answered while fewer than eight hang, and there are never more.
 */
static void
bounds_workers_that_hang(void **state)
{
	static FuseFile many[WORKERS_STUCK];
	WorkerClient *client;
	int files[WORKERS_STUCK];
	int children;
	int program;

	if (!have_fuse)
		skip();
	program = open_empty_program();
	assert_int_equal(worker_client_create(0, &client), 0);
	/* the process that watches them is forked, and must not have copies of files that hang */
	for (int i = 0; i < WORKERS_STUCK; i++)
		assert_true(fuse_file_open_with(&many[i], ",allow_other"));
	children = count_children();
	for (int i = 0; i < WORKERS_STUCK; i++)
	{
		const SymbolAsk owner = { INT64_MAX, UINT64_C(1) << (8 + i), 0 };

		memcpy(many[i].data, &empty_program, sizeof(empty_program));
		files[i] = open(many[i].path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(ask(client, 100, program, &honest), 0);
		assert_int_equal(ask(client, 1 + (uint64_t) i, files[i], &owner), 0);
		assert_int_equal(count_children(), ++children);
		fuse_file_hold(&many[i], FUSE_FLUSH);
		worker_client_end(client);
	}
	assert_int_equal(worker_client_unavailable(client), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(client, 100, program, &honest), -EAGAIN);
	assert_int_equal(worker_client_unavailable(client), 3);
	assert_int_equal(count_children(), children);
	fuse_file_let_go(&many[3]);
	for (int i = 0; i < 1000 && ask(client, 100, program, &honest) == -EAGAIN; i++)
		usleep(10000);
	assert_int_equal(ask(client, 100, program, &honest), 0);
	assert_int_equal(count_children(), children);
	for (int i = 0; i < WORKERS_STUCK; i++)
	{
		fuse_file_let_go(&many[i]);
		close(files[i]);
	}
	worker_client_free(client);
	close(program);
	for (int i = 0; i < WORKERS_STUCK; i++)
		fuse_file_close(&many[i]);
}

static void
has_a_name(void **state)
{
	int program = open_empty_program();
	WorkerClient *client;
	char path[64];
	char name[32];
	FILE *file;

	assert_int_equal(worker_client_create(0, &client), 0);
	assert_int_equal(ask(client, 1, program, &honest), 0);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int) worker_client_pid(client));
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(name, sizeof(name), file));
	assert_string_equal(name, "profstore-sym\n");
	fclose(file);
	worker_client_free(client);
	close(program);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_a_name),
		cmocka_unit_test_teardown(charges_the_owner_of_a_file_that_hangs, let_go),
		cmocka_unit_test(bounds_workers_that_hang),
		cmocka_unit_test_teardown(starts_beside_a_file_that_hangs, let_go),
		cmocka_unit_test_teardown(blames_the_file_that_is_closed, let_go),
		cmocka_unit_test_teardown(suspects_files_of_a_killed_worker, let_go),
	};
	int failed;

	symbolizer_worker_main(argc, argv);
	if (child_reserve() != 0)
		return EXIT_FAILURE;
	/* the worker runs as another user */
	have_fuse = fuse_file_open_with(&fuse, ",allow_other");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (have_fuse)
		fuse_file_close(&fuse);
	return failed;
}
