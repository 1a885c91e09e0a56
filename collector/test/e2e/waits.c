/*
 * waits.c
 *		waits SECONDS FILE: threads that sleep, wait for a lock, read FILE and compute.
 *
 * Prints the duration of each function by the clock, and its running time by the thread's own
 * clock, "FUNCTION NANOSECONDS RAN", and as "all" those of all threads together. Profiles are
 * compared with these, on any machine.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS INT64_C(1000000)
#define THREADS	  5
#define READ_SIZE (1 << 20)

static int64_t end_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *file_name;

static int64_t
clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000 * NS_PER_MS + time.tv_nsec;
}

static int64_t
now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static int64_t
ran(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void
sleep_ms(long ms)
{
	const struct timespec time = { 0, ms * NS_PER_MS };

	nanosleep(&time, NULL);
}

__attribute__((noinline)) void
sleep_sixty(void)
{
	sleep_ms(60);
}

__attribute__((noinline)) void
sleep_thirty(void)
{
	sleep_ms(30);
}

__attribute__((noinline)) void
sleep_ten(void)
{
	sleep_ms(10);
}

__attribute__((noinline)) void
hold_lock(void)
{
	pthread_mutex_lock(&lock);
	sleep_ms(40);
	pthread_mutex_unlock(&lock);
	sleep_ms(5); /* otherwise no other thread would get the lock */
}

__attribute__((noinline)) void
wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void
read_disk(void)
{
	static char buffer[READ_SIZE];
	int fd = open(file_name, O_RDONLY);

	if (fd < 0)
		abort();
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	close(fd);
}

__attribute__((noinline)) void
compute(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

typedef struct Function
{
	const char *name;
	void (*run)(void);
	int64_t ns;
	int64_t ran_ns;
} Function;

/* The functions that a thread runs in turn, until the end. */
typedef struct Thread
{
	Function functions[3];
	int64_t ns;
	int64_t ran_ns;
} Thread;

static Thread threads[THREADS] = {
	{ .functions = { { .name = "sleep_sixty", .run = sleep_sixty },
					 { .name = "sleep_thirty", .run = sleep_thirty },
					 { .name = "sleep_ten", .run = sleep_ten } } },
	{ .functions = { { .name = "hold_lock", .run = hold_lock } } },
	{ .functions = { { .name = "wait_for_lock", .run = wait_for_lock } } },
	{ .functions = { { .name = "read_disk", .run = read_disk } } },
	{ .functions = { { .name = "compute", .run = compute } } },
};

static void *
run(void *argument)
{
	Thread *thread = argument;
	int64_t begin_ns = now();

	while (now() < end_ns)
	{
		for (Function *function = thread->functions;
			 function < thread->functions + 3 && function->run != NULL; function++)
		{
			int64_t before_ran_ns = ran();
			int64_t before_ns = now();

			function->run();
			function->ns += now() - before_ns;
			function->ran_ns += ran() - before_ran_ns;
		}
	}
	thread->ns = now() - begin_ns;
	thread->ran_ns = ran();
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t ids[THREADS];
	int64_t begin_ns = now();
	int64_t all_ns = 0;
	int64_t all_ran_ns = 0;

	if (argc != 3)
		return 2;
	end_ns = begin_ns + atoi(argv[1]) * 1000 * NS_PER_MS;
	file_name = argv[2];
	for (int i = 0; i < THREADS; i++)
	{
		if (pthread_create(&ids[i], NULL, run, &threads[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
	{
		pthread_join(ids[i], NULL);
		all_ns += threads[i].ns;
		all_ran_ns += threads[i].ran_ns;
		for (const Function *function = threads[i].functions;
			 function < threads[i].functions + 3 && function->run != NULL; function++)
			printf("%s %lld %lld\n", function->name, (long long) function->ns,
				   (long long) function->ran_ns);
	}
	printf("all %lld %lld\n", (long long) (all_ns + now() - begin_ns),
		   (long long) (all_ran_ns + ran()));
	return 0;
}
