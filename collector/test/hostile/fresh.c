/*
 * fresh.c
 *		fresh same|new DIRECTORY FUNCTIONS: runs a library whose CFI differs each time that it is
 *		mapped, so that each time it needs an unwind table of its own.
 *
 * "same": always one file, which is written anew. "new": a file each, which is removed.
 */
#include <stdbool.h>
#include <time.h>

#include "cfi_library.h"

#define TURN_NS 100000000L

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
	bool is_new = argc == 4 && strcmp(argv[1], "new") == 0;
	uint32_t functions = argc == 4 ? (uint32_t) atoi(argv[3]) : 0;

	if (functions == 0)
		return 2;
	for (uint32_t i = 0;; i++)
	{
		void (*library)(long);
		char path[512];
		int64_t end;

		snprintf(path, sizeof(path), "%s/lib%u.so", argv[2], is_new ? i : 0);
		library = library_make(path, functions, i % functions);
		end = now_ns() + TURN_NS;
		while (now_ns() < end)
			library(1000000);
		munmap((void *) library, library_text_bytes(functions));
		if (is_new)
			unlink(path);
	}
}
