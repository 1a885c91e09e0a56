/*
 * mapping_list.h
 *		The executable mappings of a process as they were seen at one moment, with the files behind
 *		them.
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
	MAPPING_ANONYMOUS, /* executable memory without a file: a JIT compiler's */
	MAPPING_OTHER,	   /* [vsyscall], [uprobes] */
} MappingKind;

typedef struct Mapping
{
	ProcMapping map; /* its name belongs to the list */
	MappingKind kind;
	bool file_tried;
	MappedFile *file; /* held; NULL: not opened, or not to be had */
} Mapping;

/*
 * The most mappings that a list has. The memory and time that a reading takes are in proportion to
 * its limit: a process may have 65,530 mappings, whose names have 4 kB each.
 */
#define MAPPINGS_MAX 8192

/* Zeroed: empty. Looked at not before begin_ns and not after end_ns, CLOCK_MONOTONIC. */
typedef struct MappingList
{
	Mapping *mappings; /* by ascending start, disjoint */
	size_t count;
	char *names; /* each once, as a rule */
	size_t name_bytes;
	bool is_cut; /* mappings behind the last one are missing */
	uint64_t begin_ns;
	uint64_t end_ns;
} MappingList;

MappingKind mapping_kind(const ProcMapping *map);

/*
 * Reads the list of a process, or of a thread's, with its times; to be released also on failure.
 * Beyond limit mappings (MAPPINGS_MAX at most), and beyond what names and time are allowed for so
 * many, it is cut. 0 or -errno.
 */
int mapping_list_read(uint32_t pid, size_t limit, MappingList *list);

/*
 * Each makes a list of its own in *list, which is to be released also on failure: from the text of
 * a maps file, which is changed; from ascending mappings; of another list, whose files are held
 * once more. 0 or -ENOMEM.
 */
int mapping_list_parse(char *text, MappingList *list);
int mapping_list_make(const ProcMapping *maps, size_t count, MappingList *list);
int mapping_list_copy(MappedFileTable *files, const MappingList *from, MappingList *list);
void mapping_list_release(MappedFileTable *files, MappingList *list);

/* Bytes of the heap that the list holds, files not included. */
size_t mapping_list_bytes(const MappingList *list);

/* The mapping that covers the address, or NULL. */
Mapping *mapping_list_find(const MappingList *list, uint64_t address);

/*
 * Files that were opened already need not be opened again: those behind mappings that both lists
 * have. True where all of the older one's mappings are in the list.
 */
bool mapping_list_inherit(MappedFileTable *files, const MappingList *older, MappingList *list);

/* The file behind a mapping, which the list holds; NULL: it was not opened, or there is none. */
MappedFile *mapping_file(MappedFileTable *files, Mapping *mapping);

#endif
