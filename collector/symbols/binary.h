/*
 * binary.h
 *		State of one ELF file whose code was sampled.
 */
#ifndef COLLECTOR_BINARY_H
#define COLLECTOR_BINARY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <uthash.h>

#include "symbols/binary_place.h"
#include "symbols/elf/debug_files.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/file_identity.h"

/*
 * Key of files that may be copies of one another: containers hold many copies of one library. Files
 * of one key are compared byte by byte before they share names. Keys are compared as bytes.
 */
typedef struct TwinKey
{
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	uint64_t build_id_bytes;
	uint64_t size_bytes;
	uint64_t header_hash; /* of the first page: a stripped copy has other sections */
	/*
	 * debug file, supplement and package of split units, zeroed if there is none: copies share
	 * names only if these files are identical
	 */
	FileIdentity debug;
	FileIdentity alternative;
	FileIdentity package;
} TwinKey;

typedef struct Binary
{
	struct Symbolizer *symbolizer;
	/* unique for the life of the process; copies have the number of their leader */
	uint64_t number;
	uint32_t references;
	FileIdentity file_identity;
	uid_t owner;
	TwinKey twin_key;
	UT_hash_handle by_file;
	UT_hash_handle by_twin_key;
	uint32_t first_round; /* of the first question (symbol_ask.h); 0: no question yet */
	bool twin_known;	  /* a copy was searched since the file was opened */
	bool is_leader;		  /* copies are compared with this one */
	bool is_alone;		  /* shares nothing with copies: it has files of split units */
	uint16_t splits;	  /* files of split units that were searched */
	char *name;
	uint32_t root_pid; /* of the process that it was opened from; 0: unknown */
	char build_id[ELF_BUILD_ID_TEXT_BYTES];
	ElfFile file; /* its descriptor is open while references > 0 */
	DebugLinks links;
	DebugFiles debug_files;
	bool debug_files_known; /* searched since the file was opened */
	Stall stall;			/* the file system of the debug files did not answer */
	uint8_t table_tries;	/* attempts to store its symbol table on disk */
	/* CLOCK_MONOTONIC; until then no DWARF and raw names: the worker failed with them */
	int64_t plain_until_ns;
	int64_t pause_until_ns; /* until then no questions: the worker failed without DWARF, too */
	struct Binary *prev;	/* in the list of idle binaries, least recently released first */
	struct Binary *next;
} Binary;

/*
 * Opens and describes a regular file. The result has one reference and no number yet. Returns 0;
 * -ENOEXEC if it is not a regular ELF file; -EAGAIN if its file system does not answer; another
 * -errno.
 */
int binary_create(Patience *patience, const BinaryPlace *place, const char *name, Binary **binary);
void binary_free(Binary *binary); /* also closes its file, on this thread */

/*
 * Closes the files of a binary that stays known: an open descriptor keeps the space of a deleted
 * file allocated.
 */
void binary_close(Binary *binary, Patience *patience);

#endif
