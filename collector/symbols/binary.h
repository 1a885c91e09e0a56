/*
 * binary.h
 *		What is kept of one ELF file that code was sampled in.
 */
#ifndef COLLECTOR_BINARY_H
#define COLLECTOR_BINARY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <uthash.h>

#include "symbols/binary_place.h"
#include "symbols/debug_files.h"
#include "symbols/elf_file.h"
#include "symbols/file_identity.h"

/*
 * Files that may have the same names: containers hold many copies of one library, and what may be
 * is compared before it is believed. Compared by bytes.
 */
typedef struct TwinKey
{
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	uint64_t build_id_bytes;
	uint64_t size_bytes;
	uint64_t header_hash; /* of the first page: a stripped copy has other sections */
	/* debug file and supplement, zeroed for none: names are those of the very same ones alone */
	FileIdentity debug;
	FileIdentity alternative;
} TwinKey;

typedef struct Binary
{
	struct Symbolizer *symbolizer;
	uint64_t number; /* never used again; twins have that of their leader */
	uint32_t references;
	FileIdentity file_identity;
	uid_t owner;
	TwinKey twin_key;
	UT_hash_handle by_file;
	UT_hash_handle by_twin_key;
	uint32_t first_round; /* that it was asked about in (symbol_ask.h); 0: none yet */
	bool twin_known;	  /* it was looked for since the file was opened */
	bool is_leader;		  /* others are compared with it */
	char *name;
	uint32_t root_pid; /* of the process that it was opened from, 0 where not known */
	char build_id[2 * ELF_BUILD_ID_MAX_BYTES + 1];
	ElfFile file; /* its descriptor is open while references > 0 */
	DebugLinks links;
	DebugFiles debug_files;
	bool debug_files_known; /* looked for since the file was opened */
	Stall stall;			/* nobody answered about those */
	uint8_t table_tries;	/* to keep its symbol table on disk */
	int64_t plain_until_ns; /* CLOCK_MONOTONIC: the worker failed with its DWARF, or with a name */
	int64_t pause_until_ns; /* it failed even without */
	struct Binary *prev;	/* among the idle ones, least recently released first */
	struct Binary *next;
} Binary;

/*
 * Opens and describes a regular file. It has one reference and no number yet. 0; -ENOEXEC where it
 * is none, or no ELF file; -EAGAIN where it does not answer; -errno.
 */
int binary_create(Patience *patience, const BinaryPlace *place, const char *name, Binary **binary);
void binary_free(Binary *binary); /* and closes its file, here */

/* Closes what is open of it; an open descriptor would keep a deleted file's space on disk. */
void binary_close(Binary *binary, Patience *patience);

#endif
