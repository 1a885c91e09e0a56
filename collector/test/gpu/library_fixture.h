/*
 * library_fixture.h
 *		The collector's side of a test of the GPU library: the functions at which the collector
 *		would probe, which note in shared memory what they get, and waits for windows and rows.
 */
#ifndef TEST_GPU_LIBRARY_FIXTURE_H
#define TEST_GPU_LIBRARY_FIXTURE_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include "fake_cupti.h"
#include "gpu_library/cupti_abi.h"
#include "gpu_library/probes.h"

#define ROWS_MAX	 20000
#define LAUNCHES_MAX 20000
#define THREADS		 4
#define TOO_SLOW	 77 /* status of a process whose window ended before its work */

/* Memory in which a test's process notes the calls that it makes. */
typedef struct Seen
{
	_Atomic uint32_t rows_count;
	_Atomic uint32_t launches_count;
	_Atomic uint32_t calls;
	_Atomic int teller; /* the process that called last */
	char failure[256];
	struct pfs_gpu_row rows[ROWS_MAX];
	uint64_t correlations[LAUNCHES_MAX];
	uint64_t periods[LAUNCHES_MAX];
} Seen;

volatile uint16_t pfs_gpu_semaphore;
int InitializeInjection(void);

static Seen *seen;
static int fewer = 1;
static const char *cupti_path;
static FakeLaunch *launch;
static FakeLaunchWaiting *launch_waiting;
static FakeCapture *capture;
static FakeCopy *copy;
static FakeConfigure *configure;
static FakeCounts *counts;
static int (*set_clock)(CuptiClock clock);

void
pfs_gpu_launch(uint64_t correlation, uint64_t period)
{
	uint32_t at = atomic_fetch_add(&seen->launches_count, 1);

	if (at < LAUNCHES_MAX)
	{
		seen->correlations[at] = correlation;
		seen->periods[at] = period;
	}
}

void
pfs_gpu_rows(const struct pfs_gpu_row *rows, uint64_t count)
{
	uint32_t at = atomic_load(&seen->rows_count);

	if (count > PFS_GPU_ROWS_MAX || at + count > ROWS_MAX)
		abort();
	memcpy(&seen->rows[at], rows, count * sizeof(*rows));
	atomic_store(&seen->rows_count, at + (uint32_t) count);
	atomic_store(&seen->teller, getpid());
	atomic_fetch_add(&seen->calls, 1);
}

#define EXPECT(condition, ...)                                                                   \
	do                                                                                           \
	{                                                                                            \
		if (!(condition))                                                                        \
		{                                                                                        \
			int length_ = snprintf(seen->failure, sizeof(seen->failure), "line %d: ", __LINE__); \
			snprintf(seen->failure + length_, sizeof(seen->failure) - (size_t) length_,          \
					 __VA_ARGS__);                                                               \
			_exit(1);                                                                            \
		}                                                                                        \
	} while (0)

/* As the kernel does for probes that are attached or detached. */
static inline void
attach(uint16_t probes)
{
	__atomic_store_n(&pfs_gpu_semaphore, probes, __ATOMIC_RELAXED);
}

static inline void
sleep_ms(long ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
		;
}

static inline uint64_t
monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static inline uint64_t
subscribed(void)
{
	FakeCuptiCounts now;

	counts(&now);
	return now.subscribed;
}

/* Ends the process, for another try, if the window is over: the machine is busy. */
static inline void
expect_open_window(void)
{
	FakeCuptiCounts now;

	counts(&now);
	if (!now.is_subscribed)
		_exit(TOO_SLOW);
}

static inline void
wait_for_window(uint64_t number)
{
	for (int i = 0; i < 3000 && subscribed() < number; i++)
		sleep_ms(5);
	EXPECT(subscribed() >= number, "window %lu did not begin", (unsigned long) number);
	sleep_ms(20);
}

/* Waits until the rows of a window are complete, and returns the position of its head. */
static inline uint32_t
wait_for_rows(uint32_t from)
{
	for (int i = 0; i < 4000; i++)
	{
		uint32_t count = atomic_load(&seen->rows_count);

		if (count > from && count >= from + 1 + seen->rows[from].window.rows)
			return from;
		sleep_ms(5);
	}
	EXPECT(false, "no rows came");
	return 0;
}

typedef struct Sum
{
	uint64_t count;
	uint64_t ns;
	uint64_t bytes;
	uint32_t rows;
} Sum;

/* Adds up the rows of a kind in the window at head. */
static inline Sum
sum_rows(uint32_t head, uint8_t kind)
{
	Sum sum = { 0 };

	for (uint32_t i = head + 1; i <= head + seen->rows[head].window.rows; i++)
	{
		const struct pfs_gpu_row *row = &seen->rows[i];

		if (row->kind != kind)
			continue;
		sum.count += row->count;
		sum.ns += row->ns;
		sum.bytes += row->bytes;
		sum.rows++;
	}
	return sum;
}

/* Returns the number of a name whose rows have come; 0 if none have. */
static inline uint32_t
number_of(const char *name)
{
	uint32_t count = atomic_load(&seen->rows_count);
	size_t length = strlen(name);

	for (uint32_t i = 0; i < count; i++)
	{
		const struct pfs_gpu_row *row = &seen->rows[i];

		if (row->kind == PFS_GPU_ROW_NAME && row->part.offset == 0 && row->part.length == length &&
			memcmp(row->part.text, name, MIN(length, PFS_GPU_NAME_PART)) == 0)
			return row->name;
	}
	return 0;
}

static inline Sum
sum_of_name(uint32_t head, const char *name)
{
	uint32_t number = number_of(name);
	Sum sum = { 0 };

	for (uint32_t i = head + 1; i <= head + seen->rows[head].window.rows; i++)
	{
		const struct pfs_gpu_row *row = &seen->rows[i];

		if (row->kind == PFS_GPU_ROW_KERNELS && row->name == number && number != 0)
		{
			sum.count += row->count;
			sum.ns += row->ns;
			sum.rows++;
		}
	}
	return sum;
}

static const char *const names[THREADS] = {
	"_Z6kernelILi0EEvPf", "_Z6kernelILi1EEvPf",
	"a name that is much longer than one part of forty bytes, as those of templates are", "d"
};

static inline void *
launch_many(void *argument)
{
	uint32_t number = *(uint32_t *) argument;

	for (int i = 0; i < 50000 / fewer; i++)
		launch(names[number], 1000 + number, 1, number);
	return NULL;
}

static inline void
launch_in_threads(void)
{
	pthread_t threads[THREADS];
	uint32_t numbers[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
	{
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, launch_many, &numbers[i]) != 0)
			abort();
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static inline void
begin(void)
{
	setenv("PROFSTORE_GPU_CUPTI", cupti_path, 1);
	EXPECT(InitializeInjection() == 1, "not initialized");
}

static inline void
begin_long_window(void)
{
	setenv("PROFSTORE_GPU_WINDOW_MS", "1000", 1);
	begin();
	attach(1);
	wait_for_window(1);
}

#endif
