/*
 * mapping_list.h
 *		The executable mappings of a process at one moment, and their files.
 */
#ifndef COLLECTOR_MAPPING_LIST_H
#define COLLECTOR_MAPPING_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/mapped_file.h"
#include "process/proc_file.h"

typedef enum MappingKind
{
	MAPPING_FILE,
	MAPPING_VDSO,
	MAPPING_ANONYMOUS, /* executable memory without a file, usually made by a JIT compiler */
	MAPPING_OTHER,	   /* [vsyscall], [uprobes] */
} MappingKind;

typedef struct Mapping
{
	ProcMapping map; /* its name belongs to the list */
	MappingKind kind;
	bool file_tried;
	bool file_late;	  /* the file did not answer; a later reading tries it again */
	MappedFile *file; /* a reference; NULL if not opened or not available */
} Mapping;

/*
 * Limit of a list's length. A process may have 65,530 mappings with names of 4 kB each, and memory
 * and time of reading grow with the length.
 */
#define MAPPINGS_MAX 8192

/* The mappings, read between begin_ns and end_ns (CLOCK_MONOTONIC). A zeroed list is empty. */
typedef struct MappingList
{
	Mapping *mappings; /* disjoint, by ascending start */
	size_t count;
	char *names; /* equal names are usually stored only once */
	size_t name_bytes;
	bool is_cut; /* mappings after the last one are missing */
	uint64_t begin_ns;
	uint64_t end_ns;
} MappingList;

MappingKind mapping_kind(const ProcMapping *map);

/*
 * Returns true if a mapping of this name, with or without " (deleted)", may be POSIX shared memory
 * of PHP's compiler: /dev/shm/ZendAccelerator.NUMBER, after the path of a chroot.
 */
bool mapping_is_opcache(const char *name);

/*
 * Reads the list of a process or thread. The list is cut after limit mappings (at most
 * MAPPINGS_MAX), and when it reaches the bytes of names or the time that belong to that limit. Must
 * be released even after a failure. Returns 0 or -errno.
 */
int mapping_list_read(uint32_t pid, size_t limit, MappingList *list);

/*
 * Each makes a list in *list, which must be released even after a failure: from the text of a maps
 * file, which is modified; from ascending mappings; from another list, adding references to its
 * files. Return 0 or -ENOMEM.
 */
int mapping_list_parse(char *text, MappingList *list);
int mapping_list_make(const ProcMapping *maps, size_t count, MappingList *list);
int mapping_list_copy(MappedFileTable *files, const MappingList *from, MappingList *list);
void mapping_list_release(MappedFileTable *files, MappingList *list);

/* Returns the heap memory of the list without its files. */
size_t mapping_list_bytes(const MappingList *list);

/* Returns the mapping that contains the address; NULL if the address is not mapped. */
Mapping *mapping_list_find(const MappingList *list, uint64_t address);

/*
 * Copies references to files from an older list to those mappings that both lists contain, so that
 * the files are not opened again. Returns true if the new list contains all mappings of the older
 * one.
 */
bool mapping_list_inherit(MappedFileTable *files, const MappingList *older, MappingList *list);

/*
 * Returns the file of a mapping, whose reference belongs to the list; NULL if the mapping has no
 * file, or if the file was not opened.
 */
MappedFile *mapping_file(MappedFileTable *files, Mapping *mapping);

#endif
