/*
 * thrash.c
 *		Runs code of libraries in turn whose CFI is larger than any compiler's.
 *
 * thrash DIRECTORY COUNT FUNCTIONS writes the libraries into DIRECTORY. Each has FUNCTIONS
 * functions, and differs from all others.
 */
#include "cfi_library.h"

#define TURN_NS		  150000000L
#define LIBRARIES_MAX 64

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
		library_run(libraries[i], TURN_NS);
}
