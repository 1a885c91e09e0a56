/*
 * fresh.c
 *		fresh same|new DIRECTORY FUNCTIONS: runs a library whose CFI differs each time that it is
 *		mapped, so that each time it needs an unwind table of its own.
 *
 * "same": one file, which is rewritten. "new": a new file each time, which is removed.
 */
#include <stdbool.h>

#include "cfi_library.h"

#define TURN_NS 100000000L

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

		snprintf(path, sizeof(path), "%s/lib%u.so", argv[2], is_new ? i : 0);
		library = library_make(path, functions, i % functions);
		library_run(library, TURN_NS);
		munmap((void *) library, library_text_bytes(functions));
		if (is_new)
			unlink(path);
	}
}
