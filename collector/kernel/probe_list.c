/*
 * probe_list.c
 *		Parses the list of --probe.
 */
#include "kernel/probe_list.h"

#include <string.h>

/* Path of the C library on Debian, as an example in a message. */
#ifdef __aarch64__
#define LIBC_EXAMPLE "/lib/aarch64-linux-gnu/libc.so.6"
#else
#define LIBC_EXAMPLE "/lib/x86_64-linux-gnu/libc.so.6"
#endif

static ExitCode
refuse_list(Failure *failure, const char *detail, const char *item)
{
	failure_set(failure, EXIT_CONFIG, "value for --probe cannot be used");
	failure_detail(failure, "%s: \"%s\".", detail, item);
	failure_hint(failure, "It is a list of \"page-faults\", \"gpu-launches\", \"gpu-kernels\" and "
						  "\"allocations=FILE\", "
						  "such as page-faults,allocations=" LIBC_EXAMPLE ".");
	return failure->code;
}

ExitCode
probe_list_parse(char *text, ProbeList *list, Failure *failure)
{
	static const char allocations[] = "allocations=";
	char *rest = text;
	char *item;

	/* The list's files point into the text, which is split in place. */
	while ((item = strsep(&rest, ",")) != NULL)
	{
		if (strcmp(item, "page-faults") == 0)
			list->page_faults = true;
		else if (strcmp(item, "gpu-launches") == 0)
			list->gpu_launches = true;
		else if (strcmp(item, "gpu-kernels") == 0)
			list->gpu_kernels = true;
		else if (strncmp(item, allocations, strlen(allocations)) != 0 ||
				 item[strlen(allocations)] == '\0')
			return refuse_list(failure, "Unknown probe", item);
		else if (list->file_count == PROBE_FILES_MAX)
			return refuse_list(failure, "Too many files, beginning with", item);
		else
			list->files[list->file_count++] = item + strlen(allocations);
	}
	return EXIT_OK;
}
