/*
 * probed.c
 *		probed [ROUNDS]: functions that touch new pages, and functions that allocate, 60 : 30 : 10.
 *
 * Prints the kernel's count of page faults, and the requested bytes: "faults NUMBER" and "bytes
 * NUMBER".
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define ROUNDS		  3000
#define PAGES		  20 /* pages touched in each tenth of a round */
#define CALLS		  40
#define CALL_BYTES	  (16 << 10)
#define BLOCKS_OF_TEN 10

static void *volatile taken;

static void
touch(size_t tenths)
{
	size_t page = (size_t) getpagesize();
	size_t bytes = tenths * PAGES * page;
	volatile char *pages =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	madvise((void *) pages, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += page)
		pages[i] = 1;
	munmap((void *) pages, bytes);
}

__attribute__((noinline)) void
touch_sixty(void)
{
	touch(6);
}

__attribute__((noinline)) void
touch_thirty(void)
{
	touch(3);
}

__attribute__((noinline)) void
touch_ten(void)
{
	touch(1);
}

__attribute__((noinline)) void
allocate_sixty(void)
{
	for (int i = 0; i < 6 * CALLS; i++)
	{
		taken = malloc(CALL_BYTES);
		free(taken);
	}
}

__attribute__((noinline)) void
allocate_thirty(void)
{
	for (int i = 0; i < 3 * CALLS; i++)
	{
		taken = calloc(16, CALL_BYTES / 16);
		free(taken);
	}
}

__attribute__((noinline)) void
allocate_ten(void)
{
	for (int i = 0; i < CALLS / 2; i++)
	{
		taken = malloc(CALL_BYTES / 2);
		taken = realloc(taken, CALL_BYTES + CALL_BYTES / 2);
		free(taken);
	}
}

int
main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
	struct rusage usage;

	for (int round = 0; round < rounds; round++)
	{
		touch_sixty();
		touch_thirty();
		touch_ten();
		allocate_sixty();
		allocate_thirty();
		allocate_ten();
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("faults %ld\n", usage.ru_minflt + usage.ru_majflt);
	printf("bytes %lld\n", (long long) rounds * BLOCKS_OF_TEN * CALLS * CALL_BYTES);
	return 0;
}
