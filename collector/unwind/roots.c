/*
 * roots.c
 *		The table of root functions.
 *
 * glibc's own start code has no frame pointers, so a walk by frame pointers ends in the function
 * that called main or the thread's function; these functions are roots as well. The table must not
 * contain names that a program may use for other functions, such as musl's "start", because the
 * callers of such a function would be cut off.
 */
#include "unwind/roots.h"

#include <stddef.h>
#include <string.h>

static const char *const roots[] = {
	"_start",
	"_dl_start_user", /* the dynamic loader, before the program */
	"_dl_start",
	"__libc_start_main", /* glibc, musl */
	"__libc_start_main_impl",
	"__libc_start_call_main", /* glibc from 2.34 */
	"libc_start_main_stage2", /* musl */
	"_start_c",
	"start_thread", /* glibc's threads */
	"clone",
	"clone3",
	"__clone",
	"__clone3",
	"runtime.rt0_go", /* Go: process, system threads, goroutines */
	"runtime.rt0_go.abi0",
	"runtime.mstart",
	"runtime.mstart.abi0",
	"runtime.mstart0",
	"runtime.goexit",
	"runtime.goexit.abi0",
	"runtime.mcall",
	"runtime.mcall.abi0",
	"runtime.morestack",
	"runtime.morestack.abi0",
};

RootKind
root_function(const char *system_name)
{
	/* without a version, as in "__libc_start_main@@GLIBC_2.34" */
	size_t length = strcspn(system_name, "@");

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
	{
		if (strlen(roots[i]) == length && memcmp(roots[i], system_name, length) == 0)
			return strncmp(roots[i], "runtime.", strlen("runtime.")) == 0 ? ROOT_RUNTIME : ROOT_C;
	}
	return ROOT_NONE;
}
