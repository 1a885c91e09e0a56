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
 * Files with equal keys may be copies of one another: containers hold many copies of one library.
 * Such files are compared byte by byte before they share names. Keys are compared as bytes.
 */
typedef struct TwinKey
{
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	uint64_t build_id_bytes;
	uint64_t size_bytes;
	uint64_t header_hash; /* hash of the first page: a stripped copy has other sections */
	/*
	 * Identities of debug file, supplement and package of split units; zeroed if there is none.
	 * Copies share names only if these files are identical.
	 */
	FileIdentity debug;
	FileIdentity alternative;
	FileIdentity package;
} TwinKey;

typedef struct Binary
{
	struct Symbolizer *symbolizer;
	/* Unique while this process runs. A copy has the number of its leader. */
	uint64_t number;
	uint32_t references;
	FileIdentity file_identity;
	uid_t owner;
	TwinKey twin_key;
	UT_hash_handle by_file;
	UT_hash_handle by_twin_key;
	/* round of the first question (symbol_ask.h); 0: there was no question yet */
	uint32_t first_round;
	bool twin_known; /* a copy was searched for since the file was opened */
	bool is_leader;	 /* other copies are compared with this binary */
	bool is_alone;	 /* shares nothing with copies, because it has files of split units */
	bool left_out;	 /* it was counted, because DWARF did not fit into memory at a lookup */
	uint16_t splits; /* number of files of split units that were searched for */
	char *name;
	uint32_t root_pid; /* process through which it was opened; 0: not known */
	char build_id[ELF_BUILD_ID_TEXT_BYTES];
	ElfFile file; /* its descriptor is open while references > 0 */
	DebugLinks links;
	DebugFiles debug_files;
	bool debug_files_known; /* debug files were searched for since the file was opened */
	Stall stall;			/* backoff after the file system of the debug files did not answer */
	uint8_t table_tries;	/* attempts to store its symbol table on disk */
	/*
	 * CLOCK_MONOTONIC; until then DWARF and demangling are not used, because the worker failed with
	 * them.
	 */
	int64_t plain_until_ns;
	/* no questions until then, because the worker failed even without DWARF */
	int64_t pause_until_ns;
	struct Binary *prev; /* in the list of idle binaries, least recently released first */
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
 * Closes the files of a binary that stays known, because an open descriptor keeps the disk space of
 * a deleted file allocated.
 */
void binary_close(Binary *binary, Patience *patience);

#endif
