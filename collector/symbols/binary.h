/*
 * binary.h
 *		What the symbolizer keeps per binary; inside of the room only.
 */
#ifndef COLLECTOR_BINARY_H
#define COLLECTOR_BINARY_H

#include <sys/types.h>
#include <time.h>

#include <uthash.h>

#include "symbols/debug_files.h"
#include "symbols/elf_file.h"
#include "symbols/kallsyms.h"
#include "symbols/result_cache.h"
#include "symbols/symbol_table.h"
#include "symbols/symbolizer.h"
#include "symbols/worker_client.h"

/*
 * The same file for as long as these are equal: a change of the content changes ctime. Compared by
 * bytes.
 */
typedef struct FileIdentity
{
	dev_t device;
	ino_t inode;
	off_t size_bytes;
	struct timespec changed;
} FileIdentity;

/*
 * The same content, whatever the file: containers hold many copies of one library. Compared by
 * bytes.
 */
typedef struct ContentIdentity
{
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	uint64_t build_id_bytes;
	uint64_t size_bytes;
	uint64_t header_hash; /* of the first page: a stripped copy has other sections */
} ContentIdentity;

struct Binary
{
	Symbolizer *symbolizer;
	uint64_t number; /* never used again */
	uint32_t references;
	FileIdentity file_identity;
	ContentIdentity content;
	UT_hash_handle by_file;
	UT_hash_handle by_content;
	char *name;
	char root[32]; /* of the process that it was opened from, "" where not known */
	char build_id[2 * ELF_BUILD_ID_MAX_BYTES + 1];
	ElfFile file; /* its descriptor is open while references > 0 */
	DebugFiles debug_files;
	bool debug_files_known; /* looked for since the file was opened */
	bool dwarf_unusable;	/* since the file was opened: the worker can make nothing of it */
	int64_t worker_pause_until_ns; /* CLOCK_MONOTONIC: the worker failed with this binary */
	SymbolTable *table;
	struct Binary *prev; /* among the idle ones, least recently released first */
	struct Binary *next;
	struct Binary *table_prev; /* among those with a table, least recently used first */
	struct Binary *table_next;
};

struct Symbolizer
{
	SymbolizerStats stats;
	uint64_t last_number;
	size_t table_budget_bytes;
	size_t table_bytes;
	char *debug_directory;
	bool inlined_lines;
	Binary *by_file;
	Binary *by_content;
	Binary *idle;
	uint32_t idle_count;
	Binary *tables;
	ResultCache *results;
	Kallsyms *kallsyms;
	WorkerClient *worker;
	SymbolLine line;				  /* a result that is not in the cache */
	char name[SYMBOL_NAME_MAX_BYTES]; /* the symbol last found */
};

/* Frees a binary's symbol table; it is read again when needed. */
void symbolizer_drop_table(Binary *binary);

#endif
