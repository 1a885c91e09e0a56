/*
 * probe_list.h
 *		The list of --probe: events that are sampled on request, by name.
 */
#ifndef COLLECTOR_PROBE_LIST_H
#define COLLECTOR_PROBE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "program/failure.h"

#define PROBE_FILES_MAX 8

typedef struct ProbeList
{
	bool page_faults;
	bool gpu_launches;
	bool gpu_kernels;
	const char *files[PROBE_FILES_MAX]; /* files whose allocation functions are probed */
	size_t file_count;
} ProbeList;

/*
 * Parses a list such as "page-faults,allocations=FILE". Names of files point into text, which is
 * modified even on failure. Returns EXIT_OK, or EXIT_CONFIG with *failure set.
 */
ExitCode probe_list_parse(char *text, ProbeList *list, Failure *failure);

#endif
