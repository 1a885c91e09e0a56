/*
 * probed_libraries.h
 *		Libraries that sampled processes map, probed by name wherever they lie: one for all
 *		processes of a machine, or one in each container.
 *
 * Any process may give a file any name, so each owner of processes has a limited share of the
 * places. All functions belong to the tender.
 */
#ifndef COLLECTOR_PROBED_LIBRARIES_H
#define COLLECTOR_PROBED_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

#include "events.h"
#include "files/exported_symbol.h"
#include "kernel/call_probe.h"

/* A library that is probed, unless its file is marked as useless. */
typedef struct ProbedLibrary
{
	uint64_t device;
	uint64_t inode;
	uint64_t owner; /* charged for it; OWNER_NONE: its disk is */
	char *name;
	uint64_t seen_ns;
	/* identifies the library; its remainder is its place in cookies */
	uint64_t cookie;
} ProbedLibrary;

typedef struct ProbedLibraries
{
	CallProbe calls;
	const char *prefix;					  /* the names of the files begin with it */
	volatile unsigned long long *cookies; /* PFS_LAUNCH_LIBRARIES of them; 0: a free place */
	ProbedFile files[PFS_LAUNCH_LIBRARIES];
	ProbedLibrary libraries[PFS_LAUNCH_LIBRARIES]; /* indexed like files */
	uint64_t numbers;							   /* number of libraries found so far */
	uint64_t now_ns;							   /* time of the current search */
	uint64_t looked_ns;
	uint32_t refused; /* libraries that were refused in the current search */
	uint32_t refused_before;
} ProbedLibraries;

/*
 * Searches every two seconds. Links new libraries, and drops those that no process has mapped for
 * long.
 */
void probed_libraries_look(ProbedLibraries *libraries, int64_t now_ns);

/* Closes all files. */
void probed_libraries_fini(ProbedLibraries *libraries);

/*
 * Reads the headers of a file that is probed. Returns 0 and headers that the caller frees, or
 * -errno.
 */
int probed_library_headers(const ProbedFile *file, ElfHeaders **headers);

/*
 * Finds the offset in the file of an exported symbol. writable: it is a variable, not code. Returns
 * false if there is none.
 */
bool probed_library_symbol(ElfHeaders *headers, const char *name, bool writable, uint64_t *offset);

#endif
