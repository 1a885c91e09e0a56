/*
 * library_test.c
 *		The library that observes a program's GPU, with a libcupti of our own. Prints TAP.
 *
 *   library_test FAKE_CUPTI [FEWER]
 *
 * Each test is a process of its own, because the library has one state a process. Some tests run at
 * a time.
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/fake_cupti.h"
#include "gpu/library_fixture.h"
#include "gpu_library/budget.h"
#include "gpu_library/cupti_abi.h"
#include "gpu_library/probes.h"

#define TRIES		 20
#define TEST_SECONDS 60 /* limit of one try */
#define AT_ONCE		 6	/* tests that run at a time */

static void
check_exact_sums(void)
{
	uint64_t each = 50000 / fewer;
	uint32_t head;
	Sum all;

	begin_long_window();
	launch_in_threads();
	for (int i = 0; i < 100; i++)
		launch("graph", 500, 50, 9);
	expect_open_window();
	head = wait_for_rows(0);
	all = sum_rows(head, PFS_GPU_ROW_KERNELS);
	EXPECT(seen->rows[head].kind == PFS_GPU_ROW_WINDOW, "the first row is not the window's");
	EXPECT(all.count == THREADS * each + 5000, "%lu kernels", (unsigned long) all.count);
	for (uint32_t i = 0; i < THREADS; i++)
	{
		Sum sum = sum_of_name(head, names[i]);

		EXPECT(sum.count == each && sum.ns == each * (1000 + i), "kernel %u: %lu, %lu ns", i,
			   (unsigned long) sum.count, (unsigned long) sum.ns);
	}
	EXPECT(sum_of_name(head, "graph").ns == 100 * 50 * 500, "the graphs' time differs");
	EXPECT(seen->rows[head].window.launches == THREADS * each + 100, "%lu launches",
		   (unsigned long) seen->rows[head].window.launches);
	EXPECT(seen->rows[head].window.refused == 0 && seen->rows[head].window.unmatched == 0,
		   "%u refused, %u unmatched", seen->rows[head].window.refused,
		   seen->rows[head].window.unmatched);
	EXPECT(seen->rows[head].window.observed_ns > 900000000, "observed %lu ns",
		   (unsigned long) seen->rows[head].window.observed_ns);
}

static void
check_kept(void)
{
	uint32_t head;
	uint32_t kept = 0;

	begin_long_window();
	for (int i = 0; i < 4000; i++)
		launch(names[i % 2], 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	for (uint32_t i = head + 1; i <= head + seen->rows[head].window.rows; i++)
	{
		const struct pfs_gpu_row *row = &seen->rows[i];
		bool is_known = false;

		if (row->kind != PFS_GPU_ROW_KEPT)
			continue;
		for (uint32_t j = 0; j < atomic_load(&seen->launches_count); j++)
			is_known |= seen->correlations[j] == row->correlation && seen->periods[j] == 16;
		EXPECT(is_known, "launch %u was not kept", row->correlation);
		EXPECT(row->count == 1 && row->ns == 1000, "%lu ns", (unsigned long) row->ns);
		kept++;
	}
	EXPECT(kept == atomic_load(&seen->launches_count) && kept == seen->rows[head].window.kept,
		   "%u rows, %u calls", kept, atomic_load(&seen->launches_count));
	/* 4,000 draws of 1/16: 250 with a deviation of 15 */
	EXPECT(kept > 250 - 75 && kept < 250 + 75, "%u of 4000 kept", kept);
}

static void
check_copies(void)
{
	static const uint8_t kinds[] = { 1, 2, 8, 9, 10 };
	static const uint32_t directions[] = { PFS_GPU_COPY_HTOD, PFS_GPU_COPY_DTOH, PFS_GPU_COPY_DTOD,
										   PFS_GPU_COPY_HTOH, PFS_GPU_COPY_PTOP };
	uint32_t head;

	begin_long_window();
	for (uint32_t i = 0; i < sizeof(kinds); i++)
	{
		for (uint32_t j = 0; j <= i; j++)
			copy(kinds[i], 1000 + i, 2000);
	}
	copy(0, 77, 5000);
	launch("k", 1, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	for (uint32_t i = head + 1; i <= head + seen->rows[head].window.rows; i++)
	{
		const struct pfs_gpu_row *row = &seen->rows[i];

		for (uint32_t j = 0; row->kind == PFS_GPU_ROW_COPIES && j < sizeof(kinds); j++)
			EXPECT(row->name != directions[j] ||
					   (row->count == j + 1 && row->bytes == (j + 1) * (1000 + j) &&
						row->ns == (j + 1) * 2000),
				   "direction %u: %lu copies", row->name, (unsigned long) row->count);
	}
	EXPECT(sum_rows(head, PFS_GPU_ROW_COPIES).rows == sizeof(kinds), "%u directions",
		   sum_rows(head, PFS_GPU_ROW_COPIES).rows);
	EXPECT(sum_rows(head, PFS_GPU_ROW_SETS).bytes == 77, "memory that is set");
}

static void
check_idle(void)
{
	begin();
	for (int i = 0; i < 100; i++)
	{
		launch("k", 1, 1, 0);
		sleep_ms(3);
	}
	EXPECT(subscribed() == 0 && atomic_load(&seen->calls) == 0, "something happened");
}

static uint32_t
thread_count(void)
{
	char line[256];
	unsigned threads = 0;
	FILE *status = fopen("/proc/self/status", "r");

	EXPECT(status != NULL, "no status");
	while (fgets(line, sizeof(line), status) != NULL)
		(void) sscanf(line, "Threads: %u", &threads);
	fclose(status);
	return threads;
}

static void
check_off(void)
{
	uint32_t before = thread_count();

	setenv("PROFSTORE_GPU", "off", 1);
	begin();
	attach(1);
	sleep_ms(300);
	EXPECT(subscribed() == 0 && thread_count() == before, "the switch does not work");
}

/* Faults of records: each is refused, and everything else is counted. */
static void
expect_refusals(const FakeCuptiFaults *faults, uint32_t every)
{
	uint32_t head;
	Sum sum;

	configure(faults);
	begin_long_window();
	for (int i = 0; i < 840; i++)
		launch("k", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	sum = sum_rows(head, PFS_GPU_ROW_KERNELS);
	EXPECT(seen->rows[head].window.refused == 840 / every, "%u refused",
		   seen->rows[head].window.refused);
	EXPECT(sum.count == 840 - 840 / every && sum.ns == 1000 * sum.count, "%lu kernels, %lu ns",
		   (unsigned long) sum.count, (unsigned long) sum.ns);
}

static void
check_zero_start(void)
{
	expect_refusals(&(FakeCuptiFaults){ .zero_every = 7 }, 7);
}

static void
check_backwards(void)
{
	expect_refusals(&(FakeCuptiFaults){ .backwards_every = 10 }, 10);
}

static void
check_before_window(void)
{
	expect_refusals(&(FakeCuptiFaults){ .early_every = 3 }, 3);
}

static void
check_unmatched(void)
{
	expect_refusals(&(FakeCuptiFaults){ .unmatched_every = 5 }, 5);
}

/* Expects that a window is thrown away while there is a fault, and that the next ones come. */
static void
expect_thrown_away(const FakeCuptiFaults *faults)
{
	const FakeCuptiFaults none = { 0 };
	uint32_t head;

	configure(faults);
	begin_long_window();
	for (int i = 0; i < 3000; i++)
		launch("k", 1000000, 1, 0);
	wait_for_window(2);
	/* the loss is reported even if no window ever comes */
	EXPECT(atomic_load(&seen->rows_count) == 1 && seen->rows[0].correlation == 1 &&
			   seen->rows[0].name == 0 && seen->rows[0].window.observed_ns == 0,
		   "%u rows, %u windows thrown away", atomic_load(&seen->rows_count),
		   seen->rows[0].correlation);
	configure(&none);
	launch("k", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(1);
	EXPECT(seen->rows[head].correlation == 0, "another window is thrown away");
	EXPECT(seen->rows[head].window.since_ns > seen->rows[head].window.observed_ns + 1000000000,
		   "the window stands for %lu ns", (unsigned long) seen->rows[head].window.since_ns);
}

static void
check_dropped(void)
{
	setenv("PROFSTORE_GPU_BUDGET", "100", 1);
	expect_thrown_away(&(FakeCuptiFaults){ .drop_every = 100, .ignores_time = true });
}

static void
check_impossible(void)
{
	setenv("PROFSTORE_GPU_BUDGET", "100", 1);
	expect_thrown_away(&(FakeCuptiFaults){ .ignores_time = true });
}

/* As kernels that are launched before their predecessor's end. */
static void
check_overlapping(void)
{
	uint32_t head;

	configure(&(FakeCuptiFaults){ .ignores_time = true });
	begin_long_window();
	for (int i = 0; i < 1500; i++)
		launch("k", 1000000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	EXPECT(sum_rows(head, PFS_GPU_ROW_KERNELS).ns == 1500000000, "%lu ns",
		   (unsigned long) sum_rows(head, PFS_GPU_ROW_KERNELS).ns);
}

static void
check_busy(void)
{
	configure(&(FakeCuptiFaults){ .has_profiler = true });
	begin();
	attach(1);
	EXPECT(wait_for_rows(0) == 0, "no rows");
	EXPECT(seen->rows[0].name == 1 && seen->rows[0].window.observed_ns == 0 &&
			   seen->rows[0].window.rows == 0,
		   "there is no row of the other profiler");
	EXPECT(subscribed() == 0, "subscribed");
}

static void
check_other_clock(void)
{
	expect_refusals(&(FakeCuptiFaults){ .has_no_clock = true, .zero_every = 4 }, 4);
}

static uint64_t
other_clock(void)
{
	return 3000000 * monotonic_ms();
}

/* As PyTorch's profiler does, which counts the processor's cycles. */
static void
check_taken_clock(void)
{
	uint32_t head;

	setenv("PROFSTORE_GPU_WINDOW_MS", "300", 1);
	begin();
	attach(1);
	wait_for_window(1);
	launch("k", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	(void) set_clock(other_clock);
	if (subscribed() > 1)
		_exit(TOO_SLOW);
	wait_for_window(2);
	launch("k", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(head + 1 + seen->rows[head].window.rows);
	EXPECT(sum_rows(head, PFS_GPU_ROW_KERNELS).ns == 1000 && seen->rows[head].window.refused == 0,
		   "%u refused", seen->rows[head].window.refused);
}

static void
check_version_5(void)
{
	expect_refusals(&(FakeCuptiFaults){ .record_bytes = 160, .zero_every = 4 }, 4);
}

static void
check_version_8(void)
{
	expect_refusals(&(FakeCuptiFaults){ .record_bytes = 208, .zero_every = 4 }, 4);
}

/* Records that come when their window is over are not those of the next one. */
static void
check_late(void)
{
	const FakeCuptiFaults none = { 0 };
	uint32_t head;
	uint32_t next;

	setenv("PROFSTORE_GPU_WINDOW_MS", "1000", 1);
	configure(&(FakeCuptiFaults){ .is_late = true });
	begin();
	attach(1);
	wait_for_window(1);
	for (int i = 0; i < 300; i++)
		launch("late", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	EXPECT(sum_rows(head, PFS_GPU_ROW_KERNELS).count == 0, "kernels without a record");
	EXPECT(seen->rows[head].window.unmatched == 300, "%u unmatched",
		   seen->rows[head].window.unmatched);
	wait_for_window(2);
	configure(&none);
	launch("punctual", 1000, 1, 0);
	expect_open_window();
	next = wait_for_rows(head + 1 + seen->rows[head].window.rows);
	EXPECT(sum_rows(next, PFS_GPU_ROW_KERNELS).count == 1, "%lu kernels",
		   (unsigned long) sum_rows(next, PFS_GPU_ROW_KERNELS).count);
	/* their window has reported their launches */
	EXPECT(seen->rows[next].window.refused == 0, "%u refused", seen->rows[next].window.refused);
}

/* A kernel that runs longer than its window is awaited. */
static void
check_long_kernel(void)
{
	uint32_t head;

	setenv("PROFSTORE_GPU_WINDOW_MS", "300", 1);
	begin();
	attach(1);
	wait_for_window(1);
	launch("long", 700000000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	EXPECT(sum_of_name(head, "long").ns == 700000000, "%lu ns",
		   (unsigned long) sum_of_name(head, "long").ns);
	EXPECT(seen->rows[head].window.length_ns >= 700000000, "the length is too short");
}

/* All kernels of a graph are awaited, not just the first one. */
static void
check_long_graph(void)
{
	uint32_t head;

	setenv("PROFSTORE_GPU_WINDOW_MS", "300", 1);
	begin();
	attach(1);
	wait_for_window(1);
	launch("long", 15000000, 100, 0);
	expect_open_window();
	head = wait_for_rows(0);
	EXPECT(sum_of_name(head, "long").ns == 1500000000, "%lu ns",
		   (unsigned long) sum_of_name(head, "long").ns);
	EXPECT(seen->rows[head].window.length_ns >= 1500000000, "the length is too short");
}

/* Kernels that wait when the window begins are no part of it, and nothing is wrong with them. */
static void
check_waiting_kernels(void)
{
	FakeCuptiCounts now;
	uint32_t head;
	uint32_t next;

	setenv("PROFSTORE_GPU_WINDOW_MS", "500", 1);
	begin();
	attach(1);
	wait_for_window(1);
	launch("first", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	counts(&now);
	if (now.is_active || subscribed() > 1)
		_exit(TOO_SLOW);
	launch_waiting("waiting", 40000000, 20);
	wait_for_window(2);
	launch("second", 1000, 1, 1);
	expect_open_window();
	next = wait_for_rows(head + 1 + seen->rows[head].window.rows);
	EXPECT(sum_rows(next, PFS_GPU_ROW_KERNELS).ns == 1000, "%lu ns",
		   (unsigned long) sum_rows(next, PFS_GPU_ROW_KERNELS).ns);
	EXPECT(seen->rows[next].window.refused == 0, "%u refused", seen->rows[next].window.refused);
}

static void
check_captured(void)
{
	uint32_t head;

	begin_long_window();
	for (int i = 0; i < 100; i++)
		capture();
	launch("k", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	EXPECT(seen->rows[head].window.unmatched == 100, "%u unmatched",
		   seen->rows[head].window.unmatched);
	EXPECT(sum_rows(head, PFS_GPU_ROW_KERNELS).count == 1, "kernels");
}

/* The name's memory is gone when its record is read. */
static void
check_stale_name(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t head;

	EXPECT(page != MAP_FAILED, "no memory");
	strcpy(page + 4096 - 6, "short");
	begin_long_window();
	munmap(page + 4096, 4096);
	launch(page + 4096 - 6, 2000, 1, 0);
	sleep_ms(200);
	launch(page + 4096 + 100, 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	EXPECT(sum_of_name(head, "short").ns == 2000, "a name at the end of its page");
	EXPECT(sum_rows(head, PFS_GPU_ROW_KERNELS).ns == 3000, "the sum without a name");
}

/*
 * The name's memory is gone, in a container whose filter of system calls forbids to read memory by
 * the kernel.
 */
static void
check_stale_name_filtered(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
			   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
		   "no filter");
	check_stale_name();
}

static void
check_failing(void)
{
	configure(&(FakeCuptiFaults){ .failing = 15 });
	begin();
	attach(1);
	wait_for_window(1);
	sleep_ms(500);
	launch("k", 1000, 1, 0);
	EXPECT(subscribed() == 1, "tried again");
	EXPECT(atomic_load(&seen->calls) == 0, "rows came");
}

/* All activity that was switched on is switched off, because the program goes on. */
static void
check_failing_flush(void)
{
	FakeCuptiCounts now;

	configure(&(FakeCuptiFaults){ .failing_flush = 7 });
	begin_long_window();
	sleep_ms(500);
	counts(&now);
	EXPECT(!now.is_subscribed && !now.is_active, "callbacks or activity are still on");
	launch("k", 1000, 1, 0);
	sleep_ms(1500);
	EXPECT(subscribed() == 1, "tried again");
	EXPECT(atomic_load(&seen->calls) == 0, "rows came");
}

static void
check_fork(void)
{
	uint32_t head;
	int status;
	pid_t child;

	begin_long_window();
	launch("k", 1000, 1, 0);
	child = fork();
	if (child == 0)
	{
		/* the limit of the parent is not inherited */
		(void) alarm(TEST_SECONDS / 2);
		launch("child", 1000, 1, 0);
		exit(0);
	}
	waitpid(child, &status, 0);
	EXPECT(status == 0, "the child ended with %d", status);
	launch("k", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(0);
	EXPECT(sum_of_name(head, "k").ns == 2000, "the parent's sum");
	EXPECT(number_of("child") == 0, "the child was observed");
	EXPECT(atomic_load(&seen->teller) == getpid(), "the child sent rows");
}

static void
check_exit(void)
{
	begin_long_window();
	for (int i = 0; i < 500; i++)
		launch("k", 1000, 1, 0);
	expect_open_window();
	exit(0);
}

static void
expect_exit(void)
{
	if (atomic_load(&seen->rows_count) == 0 || sum_of_name(0, "k").ns != 500000)
		snprintf(seen->failure, sizeof(seen->failure), "%u rows", atomic_load(&seen->rows_count));
}

/* A collector that ends, and another one, which gets the names again. */
static void
check_attach_again(void)
{
	uint32_t told;
	uint64_t windows;
	uint32_t head;

	setenv("PROFSTORE_GPU_WINDOW_MS", "300", 1);
	begin();
	attach(1);
	wait_for_window(1);
	launch("k", 1000, 1, 0);
	(void) wait_for_rows(0);
	attach(0);
	sleep_ms(200);
	told = atomic_load(&seen->rows_count);
	windows = subscribed();
	sleep_ms(1500);
	EXPECT(subscribed() == windows && atomic_load(&seen->rows_count) == told,
		   "windows without a collector");
	memset(seen->rows, 0, sizeof(seen->rows));
	attach(1);
	wait_for_window(windows + 1);
	launch("k", 1000, 1, 0);
	expect_open_window();
	head = wait_for_rows(told);
	EXPECT(sum_of_name(head, "k").count == 1, "the name did not come again");
	EXPECT(seen->rows[head].window.since_ns < 1500000000, "the time without a collector counts");
}

/* The pauses are those that the budget asks for. */
static void
check_budget(void)
{
	/* launches in 100 ms, kernels of graphs, kept; and the expected mean distance in ms */
	static const uint32_t cases[][4] = {
		{ 2650, 0, 100, 1173 },	  /* PyTorch that is bound by the CPU */
		{ 710, 0, 100, 358 },	  /* PyTorch that is bound by the GPU */
		{ 160, 16000, 20, 1679 }, /* graphs */
		{ 10, 0, 10, 200 },		  /* little: half of the time */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const BudgetedWindow window = { 100000000, cases[i][0], cases[i][1], cases[i][2] };
		double sum_ms = 0;

		for (uint32_t draw = 0; draw < 1000; draw++)
			sum_ms += (double) budget_pause_ns(&window, 0.005, draw * 4294967U) / 1e6;
		EXPECT(sum_ms / 1000 + 100 > cases[i][3] * 0.98 && sum_ms / 1000 + 100 < cases[i][3] * 1.02,
			   "case %zu: %.0f ms", i, sum_ms / 1000 + 100);
	}
	EXPECT(budget_pause_ns(&(BudgetedWindow){ 100000000, 100000000, 0, 0 }, 0.005, UINT32_MAX) ==
			   BUDGET_PAUSE_MAX_NS,
		   "a pause above the limit");
}

/* Counts the windows whose rows have begun to come. */
static uint32_t
windows_seen(void)
{
	uint32_t rows = atomic_load(&seen->rows_count);
	uint32_t windows = 0;

	for (uint32_t head = 0; head < rows; head += 1 + seen->rows[head].window.rows)
		windows++;
	return windows;
}

/*
 * Windows of 10 ms beside launches in four threads: for 4 s, and longer on a busy machine, which
 * has few windows a second.
 */
static void
check_many_windows(void)
{
	uint64_t begin_ms = monotonic_ms();
	uint32_t head = 0;
	uint32_t windows = 0;

	setenv("PROFSTORE_GPU_WINDOW_MS", "10", 1);
	setenv("PROFSTORE_GPU_BUDGET", "100", 1);
	begin();
	attach(1);
	while (monotonic_ms() < begin_ms + 4000 ||
		   (windows_seen() <= 3 && monotonic_ms() < begin_ms + 30000))
	{
		launch_in_threads();
		for (int j = 0; j < 10; j++)
			launch("graph", 500, 50, 9);
		sleep_ms(5);
	}
	attach(0);
	sleep_ms(300);
	while (head < atomic_load(&seen->rows_count))
	{
		Sum sum = sum_rows(head, PFS_GPU_ROW_KERNELS);

		EXPECT(seen->rows[head].kind == PFS_GPU_ROW_WINDOW, "row %u is not a window's", head);
		EXPECT(sum.ns <= seen->rows[head].window.length_ns * 128, "%lu ns", (unsigned long) sum.ns);
		EXPECT(sum.count == 0 || sum.ns / sum.count < 1100, "a mean of %lu ns",
			   (unsigned long) (sum.ns / sum.count));
		windows++;
		head += 1 + seen->rows[head].window.rows;
	}
	EXPECT(windows > 3, "%u windows", windows);
}

static void
load_fake(void)
{
	void *handle = dlopen(cupti_path, RTLD_NOW | RTLD_LOCAL);

	EXPECT(handle != NULL, "%s", dlerror());
	*(void **) &launch = dlsym(handle, "fake_launch");
	*(void **) &launch_waiting = dlsym(handle, "fake_launch_waiting");
	*(void **) &capture = dlsym(handle, "fake_capture");
	*(void **) &copy = dlsym(handle, "fake_copy");
	*(void **) &configure = dlsym(handle, "fake_configure");
	*(void **) &counts = dlsym(handle, "fake_counts");
	*(void **) &set_clock = dlsym(handle, "cuptiActivityRegisterTimestampCallback");
}

typedef struct Test
{
	const char *name;
	void (*check)(void);
	void (*expect)(void); /* checks what an exiting process has passed on; may be NULL */
	uint32_t places;	  /* of the tests that run at a time; 0: one */
	Seen *seen;
	pid_t process; /* 0: the test does not run */
	uint32_t tries;
} Test;

static Test tests[] = {
	{ .name = "sums are exact, of four threads and of graphs",
	  .check = check_exact_sums,
	  .places = AT_ONCE },
	{ .name = "launches are kept by chance, and sent", .check = check_kept },
	{ .name = "copies by direction", .check = check_copies },
	{ .name = "nothing happens without a collector", .check = check_idle },
	{ .name = "PROFSTORE_GPU=off", .check = check_off },
	{ .name = "records without a start are refused", .check = check_zero_start },
	{ .name = "records that end before they start are refused", .check = check_backwards },
	{ .name = "records from before the window are refused", .check = check_before_window },
	{ .name = "records of no launch of the window are refused", .check = check_unmatched },
	{ .name = "a window with lost records is thrown away", .check = check_dropped },
	{ .name = "a window with more time than has passed is thrown away", .check = check_impossible },
	{ .name = "kernels of a stream that overlap", .check = check_overlapping },
	{ .name = "another profiler is left alone", .check = check_busy },
	{ .name = "a CUPTI that keeps its own clock", .check = check_other_clock },
	{ .name = "another profiler's clock", .check = check_taken_clock },
	{ .name = "records of version 5", .check = check_version_5 },
	{ .name = "records of version 8", .check = check_version_8 },
	{ .name = "records that come too late are refused", .check = check_late },
	{ .name = "a kernel that outlasts its window", .check = check_long_kernel },
	{ .name = "a graph that outlasts its window", .check = check_long_graph },
	{ .name = "kernels that wait when a window begins", .check = check_waiting_kernels },
	{ .name = "launches that are only captured", .check = check_captured },
	{ .name = "names whose memory is gone", .check = check_stale_name },
	{ .name = "such names with a filter of system calls", .check = check_stale_name_filtered },
	{ .name = "a CUPTI that fails is left alone", .check = check_failing },
	{ .name = "a CUPTI that fails in a window is switched off", .check = check_failing_flush },
	{ .name = "fork in a window", .check = check_fork },
	{ .name = "exit in a window", .check = check_exit, .expect = expect_exit },
	{ .name = "a second collector", .check = check_attach_again },
	{ .name = "pauses by the budget", .check = check_budget },
	{ .name = "many windows", .check = check_many_windows, .places = AT_ONCE },
};

#define TESTS (sizeof(tests) / sizeof(tests[0]))

static void
test_start(Test *test)
{
	memset(test->seen, 0, sizeof(*test->seen));
	test->tries++;
	fflush(stdout);
	test->process = fork();
	if (test->process == 0)
	{
		seen = test->seen;
		(void) alarm(TEST_SECONDS);
		load_fake();
		test->check();
		_exit(0);
	}
	if (test->process < 0)
		abort();
}

/* Waits for a process, and returns its test, unless the test needs another try. */
static Test *
wait_for_test(void)
{
	int status;
	pid_t process = wait(&status);
	Test *test = tests;

	while (test < tests + TESTS && test->process != process)
		test++;
	if (test == tests + TESTS)
		abort();
	if (status == TOO_SLOW << 8 && test->tries < TRIES)
	{
		test_start(test);
		return NULL;
	}
	test->process = 0;
	seen = test->seen;
	if (status == 0 && test->expect != NULL)
		test->expect();
	else if (status != 0 && seen->failure[0] == '\0')
		snprintf(seen->failure, sizeof(seen->failure), "ended with status %#x", status);
	return test;
}

static uint32_t
test_places(const Test *test)
{
	return test->places > 0 ? test->places : 1;
}

/* Runs the tests in their order, AT_ONCE of them at a time, because most of them only wait. */
static void
run_tests(void)
{
	uint32_t taken = 0;
	size_t next = 0;

	while (next < TESTS || taken > 0)
	{
		const Test *ended;

		while (next < TESTS && taken + test_places(&tests[next]) <= AT_ONCE)
		{
			taken += test_places(&tests[next]);
			test_start(&tests[next++]);
		}
		ended = wait_for_test();
		if (ended != NULL)
			taken -= test_places(ended);
	}
}

int
main(int argc, char **argv)
{
	unsigned failures = 0;

	if (argc < 2)
		return 2;
	cupti_path = argv[1];
	fewer = argc > 2 ? atoi(argv[2]) : 1;
	for (size_t i = 0; i < TESTS; i++)
	{
		tests[i].seen =
			mmap(NULL, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (tests[i].seen == MAP_FAILED)
			return 2;
	}
	run_tests();
	for (size_t i = 0; i < TESTS; i++)
	{
		const char *failure = tests[i].seen->failure;

		printf("%sok %zu - %s\n", failure[0] != '\0' ? "not " : "", i + 1, tests[i].name);
		if (failure[0] != '\0')
			printf("# %s\n", failure);
		failures += failure[0] != '\0';
	}
	printf("1..%zu\n", TESTS);
	return failures > 0;
}
