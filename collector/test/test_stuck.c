/*
 * test_stuck.c
 *		Processes and files about which the kernel does not answer: nobody waits for them for long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/flusher/file_binary.h"
#include "agent/reader/unwind_tables.h"
#include "base/clock.h"
#include "fuse_file.h"
#include "memory_tables.h"
#include "process/prober.h"
#include "process/process.h"
#include "process/process_entry.h"
#include "symbols/binary.h"

/* What waits for ever does so until the watchdog lets it go. */
#define PATIENCE_S 20

/* What did not answer once is asked again by then. */
#define LEFT_ALONE_NS (5 * NS_PER_S / 2)

static FuseFile fuse;
static bool have_fuse;
static atomic_llong deadline_ns;
static atomic_bool overdue;

/*
 * A request that was sent is waited for by the kernel, whatever signals come: so it is answered,
 * and the test fails.
 */
static void *
watch(void *argument)
{
	for (;;)
	{
		usleep(100000);
		if (clock_ns(CLOCK_MONOTONIC) < atomic_load(&deadline_ns))
			continue;
		atomic_store(&overdue, true);
		fuse_file_let_go(&fuse);
	}
	return argument;
}

typedef struct Fixture
{
	MappedFileTable *files;
	ProcessTable *processes;
} Fixture;

static int
setup(void **state)
{
	Fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(mapped_file_table_create(&fixture->files), 0);
	assert_int_equal(process_table_create(fixture->files, 4, &fixture->processes), 0);
	*state = fixture;
	atomic_store(&overdue, false);
	atomic_store(&deadline_ns, clock_ns(CLOCK_MONOTONIC) + PATIENCE_S * (long long) NS_PER_S);
	return 0;
}

static int
teardown(void **state)
{
	Fixture *fixture = *state;

	atomic_store(&deadline_ns, LLONG_MAX);
	fuse_file_let_go(&fuse);
	process_table_free(fixture->processes);
	mapped_file_table_free(fixture->files);
	free(fixture);
	return atomic_load(&overdue) ? -1 : 0;
}

static struct pfs_sample
sample_of(pid_t pid)
{
	struct pfs_sample sample = { .pid = (uint32_t) pid, .tid = (uint32_t) pid };
	ProcStat stat;

	assert_int_equal(proc_stat_read((uint32_t) pid, &stat), 0);
	sample.start_time_ns = stat.start_ticks * (NS_PER_S / (uint64_t) sysconf(_SC_CLK_TCK));
	return sample;
}

static void
wait_until_held(void)
{
	while (atomic_load(&fuse.held_count) == 0)
		usleep(1000);
}

/* A process that maps the file, and executes another program once *go is written to. */
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
		/* the file is closed by exec, while the kernel holds what /proc needs */
		if (read(fds[1], &byte, 1) == 1)
			execl("/bin/sleep", "sleep", "100", (char *) NULL);
		_exit(1);
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[1]);
	*go = fds[0];
	return pid;
}

/* Till the program that the child executes has its arguments, which are the last that it gets. */
static void
wait_for_arguments(pid_t pid)
{
	char path[64];
	char arguments[16] = "";

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	while (strcmp(arguments, "sleep") != 0)
	{
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		if (fread(arguments, 1, sizeof(arguments) - 1, file) == 0)
			arguments[0] = '\0';
		fclose(file);
	}
}

static void
stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
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

/* A file of a file system that does not answer is left out; all others of the process are there. */
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
	/* the thread that it keeps is none of those for /proc */
	assert_int_equal(prober_stuck(fixture->processes->file_prober), 1);
	assert_int_equal(prober_stuck(fixture->processes->prober), 0);
	assert_true((uint64_t) clock_ns(CLOCK_MONOTONIC) - begin_ns < 5 * NS_PER_S);
	fuse_file_let_go(&fuse);
	/* on a busy machine it may just have been late, so it is asked again soon */
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
 * files of others are opened still.
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

/* The lock of a table's owner, and whether it was free while the file system was asked. */
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

/* Other threads get the owner's lock while a process or a file is waited for. */
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

/* A thread that needs what another one is reading gets all of it. */
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

/* /proc of a process in exec answers when a file is closed whose file system does not. */
static void
test_process(void **state)
{
	Fixture *fixture = *state;
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	ProcessTableStats stats;
	struct pfs_sample sample;
	Process *process;
	pid_t pid;
	int go;

	if (!have_fuse)
		skip();
	fuse_file_hold(&fuse, FUSE_FLUSH);
	pid = start_child(&go);
	sample = sample_of(pid);
	assert_int_equal(write(go, "", 1), 1);
	wait_until_held();
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_int_equal(process_state(process), PROCESS_STUCK);
	/* nobody asks again at once */
	for (int i = 0; i < 100; i++)
		process = process_table_get(fixture->processes, &sample, now_ns + (uint64_t) i);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.timeouts, 1);
	assert_int_equal(process_state(process), PROCESS_STUCK);
	/* whether it lives cannot be said either: it is kept */
	process_table_sweep(fixture->processes, now_ns + 70 * NS_PER_S);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.timeouts, 2);
	assert_int_equal(stats.count, 1);
	fuse_file_let_go(&fuse);
	wait_for_arguments(pid);
	process = process_table_get(fixture->processes, &sample, now_ns + 10 * NS_PER_S);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	stop_child(pid);
	close(go);
}

typedef struct Sleep
{
	Probe probe;
	atomic_bool *let_go;
	atomic_int *discarded;
	bool ran;
} Sleep;

static void
run_sleep(Probe *probe)
{
	Sleep *asleep = (Sleep *) probe;

	while (!atomic_load(asleep->let_go))
		usleep(1000);
	asleep->ran = true;
}

static void
discard_sleep(Probe *probe)
{
	Sleep *asleep = (Sleep *) probe;

	atomic_fetch_add(asleep->discarded, 1);
	free(asleep);
}

static int
run_one(Prober *prober, ProbeSubject subject, atomic_bool *let_go, atomic_int *discarded,
		uint64_t wait_ns)
{
	Sleep *asleep = calloc(1, sizeof(*asleep));
	int result;

	asleep->probe = (Probe){ .run = run_sleep, .discard = discard_sleep, .subject = subject };
	asleep->let_go = let_go;
	asleep->discarded = discarded;
	result = prober_run(prober, &asleep->probe, wait_ns);
	if (result == 0)
	{
		assert_true(asleep->ran);
		free(asleep);
	}
	return result;
}

/* Threads that are left behind are so many at most, come back when they can, and hold up nobody. */
static void
test_prober(void **state)
{
	const ProbeSubject nobody = { 0 };
	atomic_bool never = false;
	atomic_bool at_once = true;
	atomic_int discarded = 0;
	Prober *prober;
	int stuck = 0;
	int result;

	assert_int_equal(prober_create(&prober), 0);
	assert_int_equal(run_one(prober, nobody, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	do
	{
		result = run_one(prober, nobody, &never, &discarded, NS_PER_S / 1000);
		stuck += result == -ETIMEDOUT;
	} while (result == -ETIMEDOUT);
	assert_int_equal(result, -EBUSY);
	assert_int_equal(prober_stuck(prober), PROBER_STUCK);
	assert_int_equal(atomic_load(&discarded), stuck - PROBER_STUCK + 1);
	atomic_store(&never, true);
	while (prober_stuck(prober) > 0)
		usleep(1000);
	assert_int_equal(atomic_load(&discarded), stuck + 1);
	assert_int_equal(run_one(prober, nobody, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	prober_free(prober);
}

/* Asks about the subject until it is asked no more. */
static void
use_up(Prober *prober, ProbeSubject subject, atomic_bool *never, atomic_int *discarded)
{
	int result;

	do
		result = run_one(prober, subject, never, discarded, NS_PER_S / 1000);
	while (result == -ETIMEDOUT);
	assert_int_equal(result, -EBUSY);
}

/* A process of another user. */
static pid_t
start_nobody(void)
{
	char byte = 0;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
	{
		/* who changes his user is root's to look at until he says otherwise */
		if (setresuid(65534, 65534, 65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
			prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || write(fds[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/* A device that does not answer, or an owner's processes, use up their own threads alone. */
static void
test_prober_shares(void **state)
{
	const ProbeSubject mine = { .pid = (uint32_t) getpid() };
	const ProbeSubject device = { .device = 7 };
	const ProbeSubject other_device = { .device = 8 };
	ProbeSubject other = { 0 };
	atomic_bool never = false;
	atomic_bool at_once = true;
	atomic_int discarded = 0;
	Prober *prober;

	if (getuid() != 0)
		skip();
	other.pid = (uint32_t) start_nobody();
	assert_int_equal(prober_create(&prober), 0);
	use_up(prober, device, &never, &discarded);
	assert_int_equal(prober_stuck(prober), PROBER_DEVICE_STUCK);
	assert_true(prober_avoids(prober, device.device));
	assert_false(prober_avoids(prober, other_device.device));
	assert_int_equal(run_one(prober, other_device, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	use_up(prober, mine, &never, &discarded);
	assert_int_equal(prober_stuck(prober), PROBER_DEVICE_STUCK + PROBER_OWNER_STUCK);
	assert_int_equal(run_one(prober, other, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	/* asked again once it answers */
	atomic_store(&never, true);
	while (prober_stuck(prober) > 0)
		usleep(1000);
	assert_int_equal(run_one(prober, device, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	assert_int_equal(run_one(prober, mine, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	prober_free(prober);
	stop_child((pid_t) other.pid);
}

static void
run_slowly(Probe *probe)
{
	(void) probe;
	usleep(30000);
}

static void
discard_slow(Probe *probe)
{
	free(probe);
}

static int
run_slow_one(Prober *prober, ProbeSubject subject)
{
	Probe *probe = calloc(1, sizeof(*probe));
	int result;

	*probe = (Probe){ .run = run_slowly, .discard = discard_slow, .subject = subject };
	result = prober_run(prober, probe, PATIENCE_S * NS_PER_S);
	if (result == 0)
		free(probe);
	return result;
}

/* An owner whose processes always answer, but late, is not waited for without an end. */
static void
test_prober_slow(void **state)
{
	const ProbeSubject mine = { .pid = (uint32_t) getpid() };
	const ProbeSubject device = { .device = 8 };
	Prober *prober;
	int result = 0;

	(void) state;
	assert_int_equal(prober_create(&prober), 0);
	for (int i = 0; i < 200 && result == 0; i++)
		result = run_slow_one(prober, mine);
	assert_int_equal(result, -ETIMEDOUT);
	assert_int_equal(run_slow_one(prober, device), 0);
	prober_free(prober);
}

typedef struct Spin
{
	Probe probe;
	int64_t cpu_ns; /* that it uses */
	atomic_int *discarded;
} Spin;

static void
run_spin(Probe *probe)
{
	int64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ((Spin *) probe)->cpu_ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		continue;
}

static void
discard_spin(Probe *probe)
{
	atomic_fetch_add(((Spin *) probe)->discarded, 1);
	free((Spin *) probe);
}

static int
spin_once(Prober *prober, int64_t cpu_ns, atomic_int *discarded)
{
	Spin *spin = calloc(1, sizeof(*spin));
	int result;

	spin->probe = (Probe){ .run = run_spin, .discard = discard_spin };
	spin->cpu_ns = cpu_ns;
	spin->discarded = discarded;
	result = prober_run(prober, &spin->probe, 50 * NS_PER_MS);
	if (result == 0)
		free(spin);
	return result;
}

/* Takes 98.5 % of the CPU that it shares with a thread of the lowest priority. */
static pid_t
start_spinner(void)
{
	pid_t pid = fork();

	if (pid == 0)
	{
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
			_exit(1);
		for (;;)
			continue;
	}
	return pid;
}

/* A prober whose threads have the lowest priority, beside a program that takes their CPU. */
static void *
ask_without_cpu(void *argument)
{
	Prober *prober = argument;
	atomic_int discarded = 0;
	cpu_set_t one;
	int *results = calloc(2, sizeof(*results));
	pid_t spinner;

	CPU_ZERO(&one);
	CPU_SET((size_t) sched_getcpu(), &one);
	(void) sched_setaffinity(0, sizeof(one), &one);
	spinner = start_spinner();
	(void) setpriority(PRIO_PROCESS, 0, 19); /* of this thread, and of those that it starts */
	results[0] = spin_once(prober, 30 * NS_PER_MS, &discarded);
	kill(spinner, SIGKILL);
	(void) waitpid(spinner, NULL, 0);
	results[1] = spin_once(prober, 3 * NS_PER_S, &discarded);
	while (atomic_load(&discarded) < (results[0] != 0) + (results[1] != 0))
		usleep(1000);
	return results;
}

/*
 * A call that gets no CPU is waited for: that is not the fault of the process that is asked. One
 * that uses a CPU without an end is not.
 */
static void
test_prober_without_cpu(void **state)
{
	pthread_t thread;
	Prober *prober;
	int *results;

	(void) state;
	assert_int_equal(prober_create(&prober), 0);
	assert_int_equal(pthread_create(&thread, NULL, ask_without_cpu, prober), 0);
	assert_int_equal(pthread_join(thread, (void **) &results), 0);
	assert_int_equal(results[0], 0);
	assert_int_equal(results[1], -ETIMEDOUT);
	free(results);
	prober_free(prober);
}

/* Pauses grow while nothing answers; a failure long after the last pause is a first one again. */
static void
test_stall(void **state)
{
	Stall stall = { 0 };
	uint64_t now_ns = NS_PER_S;
	uint64_t length_ns;

	(void) state;
	stall_note(&stall, now_ns);
	length_ns = stall.until_ns - now_ns;
	for (int i = 0; i < 10; i++)
	{
		uint64_t before_ns = stall.until_ns - now_ns;

		now_ns = stall.until_ns;
		stall_note(&stall, now_ns);
		assert_in_range(stall.until_ns - now_ns, before_ns, 4 * before_ns);
	}
	assert_int_equal(stall.until_ns - now_ns, 256 * length_ns);
	now_ns = stall.until_ns + 256 * length_ns;
	stall_note(&stall, now_ns);
	assert_int_equal(stall.until_ns - now_ns, length_ns);
}

/* A file that is mapped may answer no more when its unwind table is to be made; later it may. */
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
	/* it is left alone, whoever maps it, or the threads that wait would be ever more */
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
	/* whether it was deleted is for those to say who do not answer */
	fuse_file_hold(&fuse, FUSE_GETATTR);
	unwind_tables_sweep(tables, now_ns, NS_PER_S);
	assert_int_equal(atomic_load(&fuse.held_count), 0);
	fuse_file_let_go(&fuse);
	unwind_tables_free(tables);
	mapped_file_release(fixture->files, mapping.file);
	memory_tables_free(kernel);
}

/*
 * Beside generated code such a file may be mapped, too, where its CFI is looked for. The process is
 * left alone as well then, however often its mappings change.
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
	fd = open(fuse.path, O_RDONLY | O_CLOEXEC);
	code = mmap(NULL, 2 * bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(fd >= 0 && code != MAP_FAILED);
	assert_ptr_equal(mmap(code + bytes, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0),
					 code + bytes);
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
 * Pages with labels are read so that they are resident. One of a file that does not answer is
 * waited for once, and then its process is left alone.
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
	/* empty answers, as in tests before, have cut the file for the kernel until it asks again */
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	untouched = mmap(NULL, 2 * page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	hanging = mmap(NULL, FUSE_FILE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(untouched != MAP_FAILED && hanging != MAP_FAILED);
	assert_int_equal(unwind_tables_create(fixture->files, kernel, NULL, &tables), 0);
	assert_false(is_resident(untouched));
	unwind_tables_read_labels(tables, &image, 1, (uintptr_t) untouched, 1);
	assert_true(is_resident(untouched));
	/* text that lies in two pages */
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

/* A path of a file that was mapped here, and no longer is. */
static MappedFile *
acquire(Fixture *fixture)
{
	const ProcMapping mapped = {
		.start = 4096, .end = 8192, .name = fuse.path, .inode = FUSE_FILE_NODE
	};
	MappedFile *file;

	assert_int_equal(mapped_file_acquire_mapping(fixture->files, 0, (uint32_t) getpid(), &mapped,
												 &file),
					 0);
	return file;
}

static uint64_t
symbol_timeouts(const Symbolizer *symbolizer)
{
	SymbolizerStats stats;

	symbolizer_stats(symbolizer, &stats);
	return stats.timeouts;
}

/* Nor may it when its symbols are to be read, by which all other programs would lose theirs. */
static void
test_symbols(void **state)
{
	const SymbolizerOptions options = { .cache_bytes = 1 << 20 };
	Fixture *fixture = *state;
	MappedFileStats stats;
	Symbolizer *symbolizer;
	Binary *binary;
	MappedFile *file;

	if (!have_fuse)
		skip();
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	file = acquire(fixture);
	mapped_file_retain_sampled(fixture->files, file);
	fuse_file_hold(&fuse, FUSE_READ);
	for (int i = 0; i < 5; i++)
	{
		file_binary_open_pending(fixture->files, symbolizer, INT64_MAX);
		assert_null(file_binary(fixture->files, file, symbolizer));
	}
	/* once, and then it is left alone */
	assert_int_equal(symbol_timeouts(symbolizer), 1);
	assert_int_equal(binary_open(symbolizer, "/proc/self/exe", "self", &binary), 0);
	binary_release(binary);
	fuse_file_let_go(&fuse);

	/* closing it may wait as well */
	fuse_file_hold(&fuse, FUSE_FLUSH);
	mapped_file_release(fixture->files, file);
	mapped_file_release(fixture->files, file);
	mapped_file_table_sweep(fixture->files);
	wait_until_held();
	mapped_file_table_stats(fixture->files, &stats);
	assert_int_equal(stats.timeouts, 1);
	assert_false(atomic_load(&overdue));
	fuse_file_let_go(&fuse);
	symbolizer_free(symbolizer);
}

/*
 * A file that cannot be closed, because as many threads as may be wait for its device, is still
 * open, and so it stays among those that its owner has.
 */
static void
test_closing(void **state)
{
	Fixture *fixture = *state;
	MappedFileStats before;
	MappedFileStats stats;
	MappedFile *file;

	if (!have_fuse)
		skip();
	mapped_file_table_stats(fixture->files, &before);
	fuse_file_hold(&fuse, FUSE_FLUSH);
	for (size_t i = 0; i < PROBER_DEVICE_STUCK + 2; i++)
	{
		file = acquire(fixture);
		mapped_file_release(fixture->files, file);
		mapped_file_table_sweep(fixture->files);
		mapped_file_table_stats(fixture->files, &stats);
		assert_int_equal(stats.count - before.count,
						 i < PROBER_DEVICE_STUCK ? 0 : i + 1 - PROBER_DEVICE_STUCK);
	}
	mapped_file_table_limit(fixture->files, before.count + 2, 0);
	assert_int_equal(mapped_file_acquire_executable(fixture->files, 1, (uint32_t) getpid(), "self",
													&file),
					 -EMFILE);
	fuse_file_let_go(&fuse);
	for (int i = 0; i < 1000 && stats.count > before.count; i++)
	{
		usleep(1000);
		mapped_file_table_sweep(fixture->files);
		mapped_file_table_stats(fixture->files, &stats);
	}
	assert_int_equal(stats.count, before.count);
	assert_false(atomic_load(&overdue));
}

/* A device whose files do not answer keeps few threads, however many of its files are asked for. */
static void
test_symbols_device(void **state)
{
	BinaryPlace place = { .path = fuse.path };
	struct stat status;
	Patience patience;
	Binary *binary;

	(void) state;
	if (!have_fuse)
		skip();
	assert_int_equal(stat(fuse.path, &status), 0);
	place.device = status.st_dev;
	place.inode = status.st_ino;
	assert_int_equal(patience_init(&patience), 0);
	fuse_file_hold(&fuse, FUSE_READ);
	for (int i = 0; i < PROBER_DEVICE_STUCK + 2; i++)
		assert_int_equal(binary_create(&patience, &place, "file", &binary), -EAGAIN);
	assert_int_equal(prober_stuck(patience.prober), PROBER_DEVICE_STUCK);
	fuse_file_let_go(&fuse);
	patience_fini(&patience);
}

#define CLOSED_TOGETHER 300

/*
 * Binaries whose descriptors cannot be closed keep further ones of their device closed, and if
 * there are many, those of any program's file system, but none of the kernel's.
 */
static void
test_symbols_closing(void **state)
{
	static Binary *binaries[CLOSED_TOGETHER];
	static const Elf64_Ehdr empty_program = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phnum = 1, /* at the beginning of the file, and so of no kind that is known */
	};
	const BinaryPlace anywhere = { .path = fuse.path };
	const BinaryPlace host = { .path = "/proc/self/exe" };
	BinaryPlace place = { .path = fuse.path };
	struct stat status;
	Patience patience;
	Binary *binary;

	(void) state;
	if (!have_fuse)
		skip();
	memcpy(fuse.data, &empty_program, sizeof(empty_program));
	assert_int_equal(stat(fuse.path, &status), 0);
	place.device = status.st_dev;
	assert_int_equal(patience_init(&patience), 0);
	for (int i = 0; i < CLOSED_TOGETHER; i++)
		assert_int_equal(binary_create(&patience, &place, "file", &binaries[i]), 0);
	fuse_file_hold(&fuse, FUSE_FLUSH);
	for (int i = 0; i < CLOSED_TOGETHER; i++)
	{
		binary_close(binaries[i], &patience);
		binary_free(binaries[i]);
		if (i == PROBER_DEVICE_STUCK + PATIENCE_DEVICE_OPEN_MAX)
			assert_int_equal(patience_room(&patience, place.device), PATIENCE_ROOM_NONE);
	}
	assert_int_equal(patience.open_count, CLOSED_TOGETHER - PROBER_DEVICE_STUCK);
	assert_int_equal(binary_create(&patience, &place, "file", &binary), -EAGAIN);
	assert_int_equal(binary_create(&patience, &anywhere, "file", &binary), -EAGAIN);
	assert_int_equal(binary_create(&patience, &host, "self", &binary), 0);
	binary_free(binary);
	fuse_file_let_go(&fuse);
	for (int i = 0; i < 1000 && patience_room(&patience, place.device) != PATIENCE_ROOM_ALL; i++)
		usleep(1000);
	assert_int_equal(binary_create(&patience, &place, "file", &binary), 0);
	binary_free(binary);
	memset(fuse.data, 0, sizeof(fuse.data));
	assert_false(atomic_load(&overdue));
	patience_fini(&patience);
}

/* Nor where separate debug files are looked for. */
static void
test_debug_files(void **state)
{
	const SymbolizerOptions options = { .cache_bytes = 1 << 20,
										.debug_directory = fuse.directory,
										.inlined_lines = true };
	const uint64_t address = 0x1000;
	Symbolizer *symbolizer;
	SymbolLines lines;
	Binary *binary;
	Dl_info library;

	if (!have_fuse)
		skip();
	assert_int_not_equal(dladdr((void *) (uintptr_t) &getpid, &library), 0);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, library.dli_fname, "libc", &binary), 0);
	fuse_file_hold(&fuse, FUSE_LOOKUP);
	for (int i = 0; i < 5; i++)
		assert_int_equal(binary_symbolize(binary, address, &lines), 0);
	binary_prepare(binary, &address, 1, &SYMBOL_ASK_PATIENT);
	wait_until_held();
	assert_int_equal(symbol_timeouts(symbolizer), 1);
	assert_false(atomic_load(&overdue));
	fuse_file_let_go(&fuse);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwind_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_symbols, setup, teardown),
		cmocka_unit_test_setup_teardown(test_symbols_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_symbols_closing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_files, setup, teardown),
		cmocka_unit_test(test_prober),
		cmocka_unit_test(test_prober_shares),
		cmocka_unit_test(test_prober_slow),
		cmocka_unit_test(test_prober_without_cpu),
		cmocka_unit_test(test_stall),
	};
	pthread_t watchdog;
	int failed;

	have_fuse = fuse_file_open(&fuse);
	atomic_store(&deadline_ns, LLONG_MAX);
	if (pthread_create(&watchdog, NULL, watch, NULL) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (have_fuse)
		fuse_file_close(&fuse);
	return failed;
}
