/*
 * test_stuck.c
 *		Processes and mapped files about which the kernel does not answer: no thread waits for them
 *		for long.
 */
#include "stuck_fixture.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "agent/reader/stalled_processes.h"
#include "agent/reader/unwind_tables.h"
#include "memory_tables.h"
#include "process/prober.h"

/* Time after which a call that did not answer is tried again. */
#define LEFT_ALONE_NS (5 * NS_PER_S / 2)

/* Starts a process that maps the file, and executes another program once *go is written to. */
static pid_t
start_child(int *go)
{
	int fds[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (pid == 0)
	{
		int died = prctl(PR_SET_PDEATHSIG, SIGKILL);
		int fd = open(fuse.path, O_RDONLY | O_CLOEXEC);
		const volatile char *code =
			mmap(NULL, FUSE_FILE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (died != 0 || fd < 0 || code == MAP_FAILED || code[0] != 0 ||
			write(fds[1], &byte, 1) != 1)
			_exit(1);
		/* exec closes the file, while the kernel holds a lock that /proc needs */
		if (read(fds[1], &byte, 1) == 1)
			execl("/bin/sleep", "sleep", "100", (char *) NULL);
		_exit(1);
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[1]);
	*go = fds[0];
	return pid;
}

/* Returns how many of the described mappings have their file. */
static size_t
count_files(const ProcessDescription *description)
{
	size_t files = 0;

	for (size_t i = 0; i < description->count; i++)
		files += description->mappings[i].file != NULL;
	return files;
}

/* A file of a file system that does not answer is omitted; all others of the process are listed. */
static void
test_file(void **state)
{
	Fixture *fixture = *state;
	uint64_t begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	ProcessTableStats stats;
	ProcessDescription description;
	struct pfs_sample sample;
	Process *process;
	size_t files;
	pid_t pid;
	int go;

	if (!have_fuse)
		skip();
	pid = start_child(&go);
	sample = sample_of(pid);
	fuse_file_hold(&fuse, FUSE_OPEN);
	process = process_table_get(fixture->processes, &sample, begin_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_non_null(process_executable(process));
	assert_int_equal(stats.timeouts, 1);
	assert_true(process_take_description(fixture->processes, process, &description));
	assert_true(description.count >= 3); /* the program, its loader, the C library */
	files = count_files(&description);
	process_description_fini(fixture->files, &description);
	assert_int_equal(atomic_load(&fuse.held_count), 1);
	/* the stuck thread belongs to the prober of files, not to the prober of /proc */
	assert_int_equal(prober_stuck(fixture->processes->file_prober), 1);
	assert_int_equal(prober_stuck(fixture->processes->prober), 0);
	assert_true((uint64_t) clock_ns(CLOCK_MONOTONIC) - begin_ns < 5 * NS_PER_S);
	fuse_file_let_go(&fuse);
	/* on a busy machine the answer may just have been late, so the file is soon tried again */
	while (prober_stuck(fixture->processes->file_prober) > 0)
		usleep(1000);
	process = process_table_get(fixture->processes, &sample,
								(uint64_t) clock_ns(CLOCK_MONOTONIC) + LEFT_ALONE_NS);
	assert_true(process_take_description(fixture->processes, process, &description));
	assert_int_equal(count_files(&description), files + 1);
	process_description_fini(fixture->files, &description);
	stop_child(pid);
	close(go);
}

/*
 * A file system that does not answer keeps few threads, however many processes map its files, and
 * files of others are still opened.
 */
static void
test_device(void **state)
{
	enum
	{
		CHILDREN = PROBER_DEVICE_STUCK + 2
	};
	Fixture *fixture = *state;
	struct pfs_sample sample;
	pid_t children[CHILDREN];
	int go[CHILDREN];

	if (!have_fuse)
		skip();
	for (int i = 0; i < CHILDREN; i++)
		children[i] = start_child(&go[i]);
	fuse_file_hold(&fuse, FUSE_OPEN);
	for (int i = 0; i < CHILDREN; i++)
	{
		ProcessDescription description;
		Process *process;

		sample = sample_of(children[i]);
		process =
			process_table_get(fixture->processes, &sample, (uint64_t) clock_ns(CLOCK_MONOTONIC));
		assert_int_equal(process_state(process), PROCESS_LIVE);
		assert_non_null(process_executable(process));
		assert_true(process_take_description(fixture->processes, process, &description));
		assert_true(description.count >= 3);
		process_description_fini(fixture->files, &description);
	}
	assert_int_equal(prober_stuck(fixture->processes->file_prober), PROBER_DEVICE_STUCK);
	assert_int_equal(atomic_load(&fuse.held_count), PROBER_DEVICE_STUCK);
	fuse_file_let_go(&fuse);
	for (int i = 0; i < CHILDREN; i++)
	{
		stop_child(children[i]);
		close(go[i]);
	}
}

/* The lock of a table's owner, and whether it was free during a call to the file system. */
typedef struct OwnersLock
{
	bool locked;
	bool free_while_asked;
} OwnersLock;

static void
unlock_owner(void *context)
{
	OwnersLock *lock = context;

	assert_true(lock->locked);
	lock->locked = false;
}

static void
lock_owner(void *context)
{
	OwnersLock *lock = context;

	assert_false(lock->locked);
	lock->locked = true;
	lock->free_while_asked |= atomic_load(&fuse.held_count) > 0;
}

/* Other threads get the owner's lock during a wait for a process or a file. */
static void
test_lock(void **state)
{
	OwnersLock lock = { .locked = true };
	Fixture *fixture = *state;
	struct pfs_sample sample;
	pid_t pid;
	int go;

	if (!have_fuse)
		skip();
	process_table_use_lock(fixture->processes, &(ProcessLock){ .unlock = unlock_owner,
															   .lock = lock_owner,
															   .context = &lock });
	pid = start_child(&go);
	sample = sample_of(pid);
	fuse_file_hold(&fuse, FUSE_OPEN);
	assert_non_null(process_table_get(fixture->processes, &sample, 1));
	assert_true(lock.locked && lock.free_while_asked);
	process_table_sweep(fixture->processes, 70 * NS_PER_S);
	assert_true(lock.locked);
	fuse_file_let_go(&fuse);
	stop_child(pid);
	close(go);
}

/* A lock that two threads share. */
typedef struct SharedLock
{
	pthread_mutex_t mutex;
	pthread_cond_t read;
	Fixture *fixture;
	struct pfs_sample sample;
} SharedLock;

static void
unlock_shared(void *context)
{
	pthread_mutex_unlock(&((SharedLock *) context)->mutex);
}

static void
lock_shared(void *context)
{
	pthread_mutex_lock(&((SharedLock *) context)->mutex);
}

static void
wait_shared(void *context)
{
	SharedLock *lock = context;

	pthread_cond_wait(&lock->read, &lock->mutex);
}

static void
wake_shared(void *context)
{
	pthread_cond_broadcast(&((SharedLock *) context)->read);
}

static void *
read_process(void *context)
{
	SharedLock *lock = context;

	lock_shared(lock);
	(void) process_table_get(lock->fixture->processes, &lock->sample, 1);
	unlock_shared(lock);
	return NULL;
}

/* A thread that needs a process that another thread is reading gets the complete result. */
static void
test_settle(void **state)
{
	SharedLock lock = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, *state, { 0 } };
	ProcessTable *processes = lock.fixture->processes;
	Process *process;
	pthread_t thread;
	pid_t pid;
	int go;

	if (!have_fuse)
		skip();
	process_table_use_lock(processes, &(ProcessLock){ unlock_shared, lock_shared, wait_shared,
													  wake_shared, &lock });
	pid = start_child(&go);
	lock.sample = sample_of(pid);
	fuse_file_hold(&fuse, FUSE_OPEN);
	assert_int_equal(pthread_create(&thread, NULL, read_process, &lock), 0);
	wait_until_held();
	lock_shared(&lock);
	process = process_table_get(processes, &lock.sample, 1);
	process_settle(processes, process);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_non_null(process_executable(process));
	unlock_shared(&lock);
	pthread_join(thread, NULL);
	fuse_file_let_go(&fuse);
	stop_child(pid);
	close(go);
}

/* Returns the size of a process's memory in pages. The kernel always answers this. */
static unsigned long
pages_of(pid_t pid)
{
	char path[64];
	unsigned long pages;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages;
}

/* /proc does not answer about the process: nobody asks again at once, and the process is kept. */
static void
assert_stuck(Fixture *fixture, const struct pfs_sample *sample, uint64_t now_ns)
{
	ProcessTableStats stats;
	Process *process = process_table_get(fixture->processes, sample, now_ns);

	assert_int_equal(process_state(process), PROCESS_STUCK);
	for (int i = 0; i < 100; i++)
		process = process_table_get(fixture->processes, sample, now_ns + (uint64_t) i);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.timeouts, 1);
	assert_int_equal(process_state(process), PROCESS_STUCK);
	process_table_sweep(fixture->processes, now_ns + 70 * NS_PER_S);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.timeouts, 2);
	assert_int_equal(stats.count, 1);
}

/*
 * A process in exec whose file is closed, while the file system does not answer. Kernels differ:
 * some replace the process's memory before they close files, and then /proc answers only when the
 * file is closed; others (6.12.118) close files first, and then /proc answers.
 */
static void
test_process(void **state)
{
	Fixture *fixture = *state;
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	struct pfs_sample sample;
	Process *process;
	unsigned long pages;
	pid_t pid;
	int go;

	if (!have_fuse)
		skip();
	fuse_file_hold(&fuse, FUSE_FLUSH);
	pid = start_child(&go);
	sample = sample_of(pid);
	sample.arg_start = 0; /* the process gets other arguments */
	pages = pages_of(pid);
	assert_int_equal(write(go, "", 1), 1);
	wait_until_held();
	if (pages_of(pid) == pages) /* the memory was not replaced */
	{
		process = process_table_get(fixture->processes, &sample, now_ns);
		assert_int_equal(process_state(process), PROCESS_LIVE);
	}
	else
		assert_stuck(fixture, &sample, now_ns);
	fuse_file_let_go(&fuse);
	wait_for_arguments(pid);
	process = process_table_get(fixture->processes, &sample, now_ns + 10 * NS_PER_S);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	stop_child(pid);
	close(go);
}

/* A mapped file may stop answering when its unwind table is made, and answer again later. */
static void
test_unwind_table(void **state)
{
	const ExecImage image = { (uint32_t) getpid(), 1, 1 };
	const ProcMapping mapped = {
		.start = 4096, .end = 8192, .name = fuse.path, .inode = FUSE_FILE_NODE
	};
	DescribedMapping mapping = { .start = mapped.start, .end = mapped.end };
	Fixture *fixture = *state;
	KernelTables *kernel = memory_tables_create();
	uint64_t begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint64_t now_ns;
	UnwindTables *tables;
	UnwinderStats stats;

	if (!have_fuse)
		skip();
	assert_int_equal(mapped_file_acquire_mapping(fixture->files, 0, image.pid, &mapped,
												 &mapping.file),
					 0);
	assert_int_equal(unwind_tables_create(fixture->files, kernel, NULL, &tables), 0);
	fuse_file_hold(&fuse, FUSE_READ);
	/*
	 * the file is not read for a time, whichever process maps it; otherwise more and more threads
	 * would wait
	 */
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(unwind_tables_describe(tables, &image, 0, &mapping, 1, i), -EAGAIN);
	unwind_tables_sweep(tables, 5, 0);
	assert_int_equal(unwind_tables_describe(tables, &image, 0, &mapping, 1, 6), -EAGAIN);
	unwind_tables_stats(tables, &stats);
	assert_int_equal(stats.timeouts, 1);
	assert_true((uint64_t) clock_ns(CLOCK_MONOTONIC) - begin_ns < 10 * NS_PER_S);
	fuse_file_let_go(&fuse);
	/* on a busy machine an answer may be late for other reasons, too */
	now_ns = LEFT_ALONE_NS;
	while (unwind_tables_describe(tables, &image, 0, &mapping, 1, now_ns) != 0)
		now_ns += 100 * LEFT_ALONE_NS;
	/* only its file system can answer whether the file was deleted */
	fuse_file_hold(&fuse, FUSE_GETATTR);
	unwind_tables_sweep(tables, now_ns, NS_PER_S);
	assert_int_equal(atomic_load(&fuse.held_count), 0);
	fuse_file_let_go(&fuse);
	unwind_tables_free(tables);
	mapped_file_release(fixture->files, mapping.file);
	memory_tables_free(kernel);
}

/* Maps executable memory, and the file behind it. Each has this many bytes. */
static char *
map_beside_file(size_t bytes, int *fd)
{
	char *code = mmap(NULL, 2 * bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat status;

	*fd = open(fuse.path, O_RDONLY | O_CLOEXEC);
	/*
	 * after empty answers, as in earlier tests, the kernel considers the file cut until it asks for
	 * its size again
	 */
	assert_true(*fd >= 0 && fstat(*fd, &status) == 0 && code != MAP_FAILED);
	assert_ptr_equal(mmap(code + bytes, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, *fd, 0),
					 code + bytes);
	return code;
}

/*
 * Such a file may also be mapped beside generated code, where its CFI is searched. Then the process
 * is not read for a time, however often its mappings change.
 */
static void
test_memory(void **state)
{
	const size_t bytes = FUSE_FILE_BYTES;
	const ExecImage image = { (uint32_t) getpid(), 1, 1 };
	Fixture *fixture = *state;
	KernelTables *kernel = memory_tables_create();
	uint64_t begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	DescribedMapping mapping = { 0 };
	UnwindTables *tables;
	UnwinderStats stats;
	char *code;
	int fd;

	if (!have_fuse)
		skip();
	code = map_beside_file(bytes, &fd);
	mapping.start = (uint64_t) (uintptr_t) code;
	mapping.end = mapping.start + bytes;
	assert_int_equal(unwind_tables_create(fixture->files, kernel, NULL, &tables), 0);
	fuse_file_hold(&fuse, FUSE_READ);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(unwind_tables_describe(tables, &image, 0, &mapping, 1, i), 0);
	unwind_tables_stats(tables, &stats);
	assert_int_equal(stats.timeouts, 1);
	assert_int_equal(unwind_tables_describe(tables, &image, 0, &mapping, 1, LEFT_ALONE_NS), 0);
	unwind_tables_stats(tables, &stats);
	assert_int_equal(stats.timeouts, 2);
	assert_true((uint64_t) clock_ns(CLOCK_MONOTONIC) - begin_ns < 10 * NS_PER_S);
	fuse_file_let_go(&fuse);
	unwind_tables_free(tables);
	memory_tables_free(kernel);
	munmap(code, 2 * bytes);
	close(fd);
}

/* A process stays left alone while the memory of many processes of another owner hangs, too. */
static void
test_memory_of_owners(void **state)
{
	const size_t bytes = FUSE_FILE_BYTES;
	const uint64_t processes = 100; /* more than are remembered */
	ExecImage image = { (uint32_t) getpid(), 1, 1 };
	Fixture *fixture = *state;
	KernelTables *kernel = memory_tables_create();
	DescribedMapping mapping = { 0 };
	UnwindTables *tables;
	UnwinderStats before;
	UnwinderStats stats;
	char *code;
	int fd;

	if (!have_fuse)
		skip();
	code = map_beside_file(bytes, &fd);
	mapping.start = (uint64_t) (uintptr_t) code;
	mapping.end = mapping.start + bytes;
	assert_int_equal(unwind_tables_create(fixture->files, kernel, NULL, &tables), 0);
	fuse_file_hold(&fuse, FUSE_READ);
	assert_int_equal(unwind_tables_describe(tables, &image, 1, &mapping, 1, 1), 0);
	/* other start times stand for other processes */
	for (image.start_time_ns = 2; image.start_time_ns < 2 + processes; image.start_time_ns++)
		assert_int_equal(unwind_tables_describe(tables, &image, 2, &mapping, 1, 2), 0);
	unwind_tables_stats(tables, &before);
	assert_int_equal(before.timeouts, 1 + processes);
	image.start_time_ns = 1;
	assert_int_equal(unwind_tables_describe(tables, &image, 1, &mapping, 1, 3), 0);
	unwind_tables_stats(tables, &stats);
	assert_int_equal(stats.timeouts, before.timeouts);
	assert_int_equal(stats.memory_put_off, before.memory_put_off + 1);
	assert_int_equal(stats.stalls_displaced, 1 + processes - STALLED_MAX);
	fuse_file_let_go(&fuse);
	unwind_tables_free(tables);
	memory_tables_free(kernel);
	munmap(code, 2 * bytes);
	close(fd);
}

static bool
is_resident(const char *page)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &entry, sizeof(entry), (off_t) ((uintptr_t) page / 4096 * 8)), 8);
	close(fd);
	return (entry >> 63) != 0;
}

/*
 * Pages with labels are read to make them resident. A page of a file that does not answer is waited
 * for once, and then its process is not read for a time.
 */
static void
test_labels(void **state)
{
	const size_t page_bytes = 4096;
	const ExecImage image = { (uint32_t) getpid(), 1, 1 };
	Fixture *fixture = *state;
	KernelTables *kernel = memory_tables_create();
	uint64_t begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	UnwindTables *tables;
	UnwinderStats stats;
	struct stat status;
	char *untouched;
	char *hanging;
	int fd;

	if (!have_fuse)
		skip();
	fd = open(fuse.path, O_RDONLY | O_CLOEXEC);
	/*
	 * after empty answers, as in earlier tests, the kernel considers the file cut until it asks for
	 * its size again
	 */
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	untouched = mmap(NULL, 2 * page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	hanging = mmap(NULL, FUSE_FILE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(untouched != MAP_FAILED && hanging != MAP_FAILED);
	assert_int_equal(unwind_tables_create(fixture->files, kernel, NULL, &tables), 0);
	assert_false(is_resident(untouched));
	unwind_tables_read_labels(tables, &image, 1, (uintptr_t) untouched, 1);
	assert_true(is_resident(untouched));
	/* text that spans two pages */
	unwind_tables_read_labels(tables, &image, 1, (uintptr_t) untouched + page_bytes - 8,
							  120 * NS_PER_S);
	assert_true(is_resident(untouched + page_bytes));

	fuse_file_hold(&fuse, FUSE_READ);
	for (uint64_t i = 0; i < 5; i++)
		unwind_tables_read_labels(tables, &image, 1, (uintptr_t) hanging + i % 2 * page_bytes,
								  200 * NS_PER_S);
	unwind_tables_stats(tables, &stats);
	assert_int_equal(stats.timeouts, 1);
	assert_true((uint64_t) clock_ns(CLOCK_MONOTONIC) - begin_ns < 10 * NS_PER_S);
	fuse_file_let_go(&fuse);
	unwind_tables_free(tables);
	memory_tables_free(kernel);
	munmap(untouched, 2 * page_bytes);
	munmap(hanging, FUSE_FILE_BYTES);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_device, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_lock, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_settle, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_process, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_unwind_table, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_memory, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_labels, stuck_setup, stuck_teardown),
		/* last, because its reads that were given up go on, also in memory that is mapped again */
		cmocka_unit_test_setup_teardown(test_memory_of_owners, stuck_setup, stuck_teardown),
	};

	return cmocka_run_group_tests(tests, stuck_begin, stuck_end);
}
