/*
 * thrash.c
 *		Runs code of libraries in turn whose CFI is larger than any compiler's.
 *
 * thrash DIRECTORY COUNT FUNCTIONS writes the libraries there. Each has so many functions, and
 * differs from all others.
 */
#include <time.h>

#include "cfi_library.h"

#define TURN_NS		  150000000L
#define LIBRARIES_MAX 64

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int
main(int argc, char **argv)
{
	uint32_t count = argc == 4 ? (uint32_t) atoi(argv[2]) : 0;
	void (*libraries[LIBRARIES_MAX])(long);

	if (count == 0 || count > LIBRARIES_MAX)
		return 2;
	for (uint32_t i = 0; i < count; i++)
	{
		char path[512];

		snprintf(path, sizeof(path), "%s/lib%u.so", argv[1], i);
		libraries[i] = library_make(path, (uint32_t) atoi(argv[3]), i);
	}
	for (uint32_t i = 0;; i = (i + 1) % count)
	{
		int64_t end = now_ns() + TURN_NS;

		while (now_ns() < end)
			libraries[i](1000000);
	}
}
