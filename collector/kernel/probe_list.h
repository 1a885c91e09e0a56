/*
 * probe_list.h
 *		The list of --probe: what is sampled if it is asked for by name.
 */
#ifndef COLLECTOR_PROBE_LIST_H
#define COLLECTOR_PROBE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

#define PROBE_FILES_MAX 8

typedef struct ProbeList
{
	bool page_faults;
	const char *files[PROBE_FILES_MAX]; /* whose functions allocate */
	size_t file_count;
} ProbeList;

/*
 * Reads a list such as "page-faults,allocations=FILE"; the files' names are the list's. Failures:
 * EXIT_CONFIG; text was written into even so.
 */
ExitCode probe_list_parse(char *text, ProbeList *list, Failure *failure);

#endif
