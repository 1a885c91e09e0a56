/*
 * test_probes.c
 *		Page faults and allocations of this process's own threads, as this machine's kernel reports
 *		them, compared with the kernel's own counters and with the requested sizes.
 *
 * Other processes affect only how often a thread is switched: each run of faults between two
 * switches may be half a period off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "agent/reader/record.h"
#include "base/clock.h"
#include "kernel/sampler.h"
#include "sampler_figures.h"

#define PAGES		2000
#define KIB			((size_t) 1024)
#define MIB			(1024 * KIB)
#define GIB			(1024 * MIB)
#define ALL_SAMPLES 1000000
#define THREADS		16

/* The samples of a thread. */
typedef struct Told
{
	uint32_t tid;
	uint64_t sums[PFS_KIND_COUNT];
	uint64_t samples[PFS_KIND_COUNT];
	uint64_t in_kernel;			/* samples with a kernel side */
	uint64_t without_user_side; /* samples without a user side, which all should have */
} Told;

typedef struct World
{
	Sampler *sampler;
	Losses losses;
	pthread_t poller;
	atomic_bool stopping;
	Told threads[THREADS];
	size_t count;
} World;

/* While this is set, calls that attach probes wait, as if a process held up the kernel. */
static atomic_bool kernel_held_up;
static atomic_uint calls_held_up;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long
__wrap_syscall(long number, ...)
{
	long arguments[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_bpf && arguments[0] == BPF_LINK_CREATE && atomic_load(&kernel_held_up))
	{
		atomic_fetch_add(&calls_held_up, 1);
		while (atomic_load(&kernel_held_up))
			(void) usleep(1000);
	}
	return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
						  arguments[4], arguments[5]);
}

/* Memory that a function allocated, stored here so that no compiler removes the call. */
static void *volatile taken;

static Told *
told_of(World *world, uint32_t tid)
{
	for (size_t i = 0; i < world->count; i++)
	{
		if (world->threads[i].tid == tid)
			return &world->threads[i];
	}
	assert_true(world->count < THREADS);
	world->threads[world->count].tid = tid;
	return &world->threads[world->count++];
}

static void
on_record(void *context, const void *bytes, size_t length_bytes)
{
	World *world = context;
	Told *told;
	const struct pfs_sample *sample;
	Record record;

	assert_true(record_parse(bytes, length_bytes, &record));
	sample = record.sample;
	if (sample->pid != (uint32_t) getpid() || sample->kind == PFS_KIND_ON_CPU)
		return;
	told = told_of(world, sample->tid);
	told->sums[sample->kind] += sample->value;
	told->samples[sample->kind]++;
	told->in_kernel += sample->kernel_count > 0;
	told->without_user_side += sample->user_count == 0;
}

static void *
poll_until_stopped(void *argument)
{
	World *world = argument;
	bool stopping;

	do
	{
		stopping = atomic_load(&world->stopping);
		while (sampler_poll(world->sampler, 0) > 0)
			;
		(void) usleep(20000);
	} while (!stopping);
	return NULL;
}

/* Starts the sampler. Returns false if this kernel, or the test's privileges, do not allow it. */
static bool
begin(World *world, const SourceSettings *sources)
{
	const SamplerOptions options = { .frequency_hz = 1,
									 .memory_bytes = (size_t) 96 << 20,
									 .sources = *sources,
									 .losses = &world->losses };
	Failure failure;

	memset(world, 0, sizeof(*world));
	if (sampler_create(&options, on_record, world, &world->sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		return false;
	}
	assert_int_equal(sampler_attach(world->sampler, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&world->poller, NULL, poll_until_stopped, world), 0);
	return true;
}

static void
end(World *world)
{
	uint64_t counters[PFS_COUNTER_COUNT];

	sampler_stop(world->sampler);
	atomic_store(&world->stopping, true);
	pthread_join(world->poller, NULL);
	assert_int_equal(sampler_counters(world->sampler, counters), 0);
	assert_int_equal(counters[PFS_COUNTER_RING_FULL], 0);
	assert_int_equal(counters[PFS_COUNTER_NO_SCRATCH], 0);
	assert_int_equal(counters[PFS_COUNTER_EVENTS],
					 counters[PFS_COUNTER_IDLE] + counters[PFS_COUNTER_SAMPLES]);
	for (size_t i = 0; i < world->count; i++)
		assert_int_equal(world->threads[i].without_user_side, 0);
	sampler_free(world->sampler);
}

static uint64_t
faults_told(const Told *told)
{
	return told->sums[PFS_KIND_FAULT_MINOR] + told->sums[PFS_KIND_FAULT_MAJOR];
}

/* Returns the path of the C library of this program. */
static char *
c_library(void)
{
	static char path[256];
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	assert_non_null(maps);
	path[0] = '\0';
	while (path[0] == '\0' && fgets(line, sizeof(line), maps) != NULL)
	{
		if (sscanf(line, "%*s %*s %*s %*s %*s %255s", path) != 1 || strstr(path, "/libc") == NULL)
			path[0] = '\0';
	}
	fclose(maps);
	assert_true(path[0] != '\0');
	return path;
}

static SourceSettings
allocations(int64_t samples_a_second)
{
	return (SourceSettings){ .probes = { .files = { c_library() }, .file_count = 1 },
							 .probe_rate = samples_a_second };
}

/* Maps memory that consists of small pages. */
static void *
map_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(madvise(pages, bytes, MADV_NOHUGEPAGE), 0);
	return pages;
}

static void
touch_pages(void)
{
	size_t page = (size_t) getpagesize();
	void *pages = map_pages(PAGES * page);

	for (size_t i = 0; i < PAGES; i++)
		((volatile char *) pages)[i * page] = 1;
	munmap(pages, PAGES * page);
}

static double
faults_of(const struct rusage *before, const struct rusage *after)
{
	return (double) (after->ru_minflt - before->ru_minflt + after->ru_majflt - before->ru_majflt);
}

/*
 * Returns the possible error of a number of samples of a period, if the thread was switched between
 * them.
 */
static double
fault_bound(const struct rusage *before, const struct rusage *after, double period)
{
	long switches = after->ru_nivcsw - before->ru_nivcsw + after->ru_nvcsw - before->ru_nvcsw + 8;

	return 4 * period * sqrt((double) switches / 6);
}

/* Each fault counts once, and has the stack that caused it. */
static void
test_page_faults(void **state)
{
	const SourceSettings probes = { .probes.page_faults = true, .probe_rate = ALL_SAMPLES };
	struct rusage before;
	struct rusage after;
	uint64_t period;
	static World world;
	const Told *own;
	double faults;
	double told;

	if (!begin(&world, &probes))
		skip();
	getrusage(RUSAGE_THREAD, &before);
	for (int i = 0; i < 250; i++)
		touch_pages();
	getrusage(RUSAGE_THREAD, &after);
	period = figure_of(world.sampler, "page_fault_period");
	end(&world);
	faults = faults_of(&before, &after);
	own = told_of(&world, (uint32_t) gettid());
	told = (double) faults_told(own);
	print_message("%.0f faults, %.0f told, by %" PRIu64 " samples\n", faults, told,
				  own->samples[PFS_KIND_FAULT_MINOR]);
	assert_true(faults >= 250 * PAGES);
	assert_true(fabs(told - faults) < 0.01 * faults);
	assert_int_equal(own->sums[PFS_KIND_FAULT_MINOR], period * own->samples[PFS_KIND_FAULT_MINOR]);
	assert_int_equal(own->sums[PFS_KIND_ALLOCATION], 0);
}

/*
 * Memory that the kernel touches for a thread faults, too: the kernel's functions are in the stack.
 */
static void
test_kernel_faults(void **state)
{
	const SourceSettings probes = { .probes.page_faults = true, .probe_rate = ALL_SAMPLES };
	const size_t bytes = 64 * MIB;
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	static World world;
	const Told *own;

	if (!begin(&world, &probes))
		skip();
	for (int i = 0; i < 4; i++)
	{
		void *pages = map_pages(bytes);

		assert_int_equal(read(zeros, pages, bytes), bytes);
		munmap(pages, bytes);
	}
	end(&world);
	close(zeros);
	own = told_of(&world, (uint32_t) gettid());
	print_message("%" PRIu64 " samples, %" PRIu64 " of them in the kernel\n",
				  own->samples[PFS_KIND_FAULT_MINOR], own->in_kernel);
	assert_true(own->in_kernel > 4 * bytes / (size_t) getpagesize() / 97 / 2);
	assert_true(own->in_kernel * 10 > own->samples[PFS_KIND_FAULT_MINOR] * 9);
}

/* Too many faults lead to a longer period with an equal sum. */
static void
test_page_faults_paced(void **state)
{
	const SourceSettings probes = { .probes.page_faults = true, .probe_rate = 100 };
	int64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t paced_ns = begin_ns;
	struct rusage before;
	struct rusage after;
	uint64_t period;
	static World world;
	const Told *own;
	double faults;
	double bound;
	double told;

	if (!begin(&world, &probes))
		skip();
	getrusage(RUSAGE_THREAD, &before);
	do
	{
		touch_pages();
		if (clock_ns(CLOCK_MONOTONIC) - paced_ns > 500000000)
		{
			paced_ns = clock_ns(CLOCK_MONOTONIC);
			sampler_pace(world.sampler, paced_ns);
		}
		getrusage(RUSAGE_THREAD, &after);
	} while (clock_ns(CLOCK_MONOTONIC) - begin_ns < 4000000000 ||
			 faults_of(&before, &after) < 1000000);
	period = figure_of(world.sampler, "page_fault_period");
	end(&world);
	faults = faults_of(&before, &after);
	bound = fault_bound(&before, &after, (double) period);
	own = told_of(&world, (uint32_t) gettid());
	told = (double) faults_told(own);
	print_message("%.0f faults, %.0f told, at a period of %" PRIu64 ", at most %.0f off\n", faults,
				  told, period, bound);
	assert_true(period > 97);
	assert_true(fabs(told - faults) < bound);
}

/* A way to allocate, and a thread that uses it until it has requested a total. */
typedef struct Way
{
	const char *name;
	size_t bytes;					/* bytes of one call */
	void (*allocate)(size_t bytes); /* makes one call */
	uint32_t tid;
} Way;

#define ASKED GIB

static void
by_malloc(size_t bytes)
{
	taken = malloc(bytes);
	free(taken);
}

static void
by_calloc(size_t bytes)
{
	taken = calloc(16, bytes / 16);
	free(taken);
}

static void
by_realloc(size_t bytes)
{
	taken = realloc(NULL, bytes / 4);
	taken = realloc(taken, bytes / 4 * 3);
	free(taken);
}

static void
by_posix_memalign(size_t bytes)
{
	void *block = NULL;

	assert_int_equal(posix_memalign(&block, 4096, bytes), 0);
	taken = block;
	free(taken);
}

static void
by_aligned_alloc(size_t bytes)
{
	taken = aligned_alloc(4096, bytes);
	free(taken);
}

/* Allocations that fail do not count. */
static void
by_too_much(size_t bytes)
{
	volatile size_t endless = SIZE_MAX / 2;

	assert_null(malloc(endless));
	assert_null(calloc(endless, 16));
	by_malloc(bytes);
}

static void *
run_way(void *argument)
{
	Way *way = argument;

	way->tid = (uint32_t) gettid();
	for (size_t turn = 0; turn < ASKED / way->bytes; turn++)
		way->allocate(way->bytes);
	return NULL;
}

/*
 * Bytes count once, whichever function allocated them: small ones on average, large ones exactly.
 */
static void
test_allocations(void **state)
{
	static Way ways[] = {
		{ "malloc", 16 * KIB, by_malloc },
		{ "calloc", 16 * KIB, by_calloc },
		{ "realloc", 16 * KIB, by_realloc },
		{ "posix_memalign", 16 * KIB, by_posix_memalign },
		{ "aligned_alloc", 16 * KIB, by_aligned_alloc },
		{ "too much", 16 * KIB, by_too_much },
		{ "malloc, large", 2 * MIB, by_malloc },
	};
	const SourceSettings probes = allocations(ALL_SAMPLES);
	static World world;
	uint64_t period;

	if (!begin(&world, &probes))
		skip();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
	{
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, run_way, &ways[i]), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	period = figure_of(world.sampler, "allocation_period_bytes");
	end(&world);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
	{
		const Told *own = told_of(&world, ways[i].tid);
		double off = (double) own->sums[PFS_KIND_ALLOCATION] - (double) ASKED;
		double bound = 4 * sqrt((double) ASKED * (double) period);

		/* except memory that the C library itself requests */
		if (ways[i].bytes >= period)
			bound = (double) period;
		print_message("%s: asked for %zu MiB, told %.1f more, of %.1f that are allowed, by %" PRIu64
					  " samples\n",
					  ways[i].name, ASKED / MIB, off / (double) MIB, bound / (double) MIB,
					  own->samples[PFS_KIND_ALLOCATION]);
		assert_true(fabs(off) <= bound);
		assert_int_equal(own->in_kernel, 0);
	}
}

/*
 * Too many calls: a part of the time is measured and represents the whole, and too many samples
 * represent each other.
 */
static void
test_allocations_paced(void **state)
{
	const SourceSettings probes = allocations(1);
	const uint64_t turns_a_second = 400; /* so that one second in eight, or less, is measured */
	const uint64_t seconds = 1000;
	uint64_t one_in;
	uint64_t period;
	static World world;
	const Told *own;
	double ratio;

	if (!begin(&world, &probes))
		skip();
	for (uint64_t second = 1; second <= seconds; second++)
	{
		sampler_pace_tended(world.sampler, (int64_t) (NS_PER_S * second));
		for (uint64_t turn = 0; turn < turns_a_second; turn++)
			by_malloc(GIB); /* memory that is not touched */
	}
	one_in = figure_of(world.sampler, "calls_one_in");
	period = figure_of(world.sampler, "allocation_period_bytes");
	end(&world);
	own = told_of(&world, (uint32_t) gettid());
	ratio = (double) own->sums[PFS_KIND_ALLOCATION] /
			((double) (seconds * turns_a_second) * (double) GIB);
	print_message("%.3f of what was asked for, by %" PRIu64 " samples, one call in %" PRIu64
				  ", a sample stands for %" PRIu64 " MiB\n",
				  ratio, own->samples[PFS_KIND_ALLOCATION], one_in, period / MIB);
	assert_true(one_in >= 8);
	assert_true(period > MIB);
	assert_true(ratio > 0.75 && ratio < 1.25);
}

/* Starts a process whose root is this directory. */
static pid_t
start_in_root(const char *directory)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0)
	{
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chroot(directory) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void
end_in_root(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/*
 * A file that cannot be used is reported, and no probe is attached. A link inside a container does
 * not lead to the host's file.
 */
static void
test_refused(void **state)
{
	char directory[] = "/tmp/profstore-probe-XXXXXX";
	char fifo[sizeof(directory) + sizeof("/fifo")];
	char link[sizeof(directory) + sizeof("/link")];
	char in_root[64];
	const char *const files[] = { "/nonexistent",	"/etc/passwd", "/tmp",
								  "/proc/self/exe", fifo,		   in_root };
	const char *const details[] = { "No such file",		  "not an ELF file",
									"not a regular file", "no allocation function",
									"not a regular file", "No such file" };
	pid_t child;

	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(directory));
	snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	snprintf(link, sizeof(link), "%s/link", directory);
	assert_int_equal(symlink(c_library(), link), 0);
	child = start_in_root(directory);
	snprintf(in_root, sizeof(in_root), "/proc/%d/root/link", (int) child);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
	{
		static Losses losses;
		SamplerOptions options = { .frequency_hz = 1,
								   .memory_bytes = (size_t) 96 << 20,
								   .losses = &losses };
		Sampler *sampler = NULL;
		Failure failure;

		options.sources.probes = (ProbeList){ .files = { files[i] }, .file_count = 1 };
		if (sampler_create(&options, on_record, NULL, &sampler, &failure) == EXIT_PRIVILEGE)
		{
			end_in_root(child);
			unlink(link);
			unlink(fifo);
			rmdir(directory);
			skip();
		}
		assert_int_equal(failure.code, EXIT_CONFIG);
		assert_non_null(strstr(failure.detail, details[i]));
		assert_non_null(strstr(failure.detail, files[i]));
		assert_null(sampler);
	}
	end_in_root(child);
	unlink(link);
	unlink(fifo);
	rmdir(directory);
}

/* Returns the number of BPF programs that this process has loaded. */
static int
count_programs(void)
{
	DIR *directory = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	int count = 0;

	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL)
	{
		char path[300];
		char line[128];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		file = fopen(path, "re");
		while (file != NULL && fgets(line, sizeof(line), file) != NULL)
			count += strncmp(line, "prog_type:", 10) == 0;
		if (file != NULL)
			fclose(file);
	}
	closedir(directory);
	return count;
}

/* Programs that are not requested are not loaded. */
static void
test_off(void **state)
{
	const SourceSettings nothing = { .probe_rate = 1 };
	const SourceSettings faults = { .probes.page_faults = true, .probe_rate = 1 };
	static World world;

	if (!begin(&world, &nothing))
		skip();
	touch_pages();
	assert_int_equal(count_programs(), 1);
	end(&world);
	assert_int_equal(world.count, 0);
	if (!begin(&world, &faults))
		skip();
	assert_int_equal(count_programs(), 3);
	end(&world);
}

static void
test_list(void **state)
{
	char good[] = "allocations=/lib/one.so,page-faults,gpu-launches,allocations=two=2";
	char *bad[] = { strdup(""),
					strdup("page-faults,"),
					strdup("faults"),
					strdup("allocations"),
					strdup("allocations="),
					strdup("page-faults=1"),
					strdup("allocations=1,allocations=2,allocations=3,allocations=4,allocations=5,"
						   "allocations=6,allocations=7,allocations=8,allocations=9") };
	ProbeList options = { 0 };
	Failure failure;

	assert_int_equal(probe_list_parse(good, &options, &failure), EXIT_OK);
	assert_true(options.page_faults);
	assert_true(options.gpu_launches);
	assert_int_equal(options.file_count, 2);
	assert_string_equal(options.files[0], "/lib/one.so");
	assert_string_equal(options.files[1], "two=2");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		options = (ProbeList){ 0 };
		assert_int_equal(probe_list_parse(bad[i], &options, &failure), EXIT_CONFIG);
		free(bad[i]);
	}
}

/* A process that holds up the kernel while probes are attached holds up no other; it is counted. */
static void
test_attaching_held_up(void **state)
{
	const SourceSettings probes = allocations(1000);
	static World world;
	uint64_t counters[PFS_COUNTER_COUNT];
	int64_t paced_ns = (int64_t) NS_PER_S;

	atomic_store(&kernel_held_up, true);
	(void) alarm(60);
	if (!begin(&world, &probes))
	{
		atomic_store(&kernel_held_up, false);
		skip();
	}
	assert_int_equal(losses_total(&world.losses, LOSS_PROBES_HELD_UP), 1);
	/* one thread is abandoned, and no other one while it waits */
	for (int i = 0; i < 5; i++)
	{
		paced_ns += (int64_t) NS_PER_S;
		sampler_pace_tended(world.sampler, paced_ns);
	}
	assert_int_equal(atomic_load(&calls_held_up), 1);
	assert_int_equal(sampler_counters(world.sampler, counters), 0);
	assert_int_equal(counters[PFS_COUNTER_ALLOCATIONS], 0);
	atomic_store(&kernel_held_up, false);
	/* attaching is tried again */
	while (counters[PFS_COUNTER_ALLOCATIONS] == 0)
	{
		paced_ns += (int64_t) NS_PER_S;
		sampler_pace_tended(world.sampler, paced_ns);
		by_malloc(GIB);
		assert_int_equal(sampler_counters(world.sampler, counters), 0);
		(void) usleep(100000);
	}
	(void) alarm(0);
	assert_int_equal(losses_total(&world.losses, LOSS_PROBES_HELD_UP), 1);
	end(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_page_faults),
		cmocka_unit_test(test_kernel_faults),
		cmocka_unit_test(test_page_faults_paced),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_allocations_paced),
		cmocka_unit_test(test_attaching_held_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
