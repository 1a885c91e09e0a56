/*
 * symbolizer.h
 *		From (binary, address) to functions and lines, and from a kernel address to its symbol.
 *
 * A Binary is one ELF file, shared by all processes that map it, found again by device, inode, size
 * and ctime; it holds one descriptor while it is referenced, two more with separate debug files.
 * Copies that are equal byte by byte, and have the same debug files, share their answers. All
 * functions are called from one thread. DWARF and symbol tables are read in a worker process with
 * limits on time and memory, so that a huge or hostile file cannot take the collector down; a
 * missing symbol leaves binary + address.
 */
#ifndef COLLECTOR_SYMBOLIZER_H
#define COLLECTOR_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/binary_place.h"
#include "symbols/symbol_ask.h"
#include "symbols/symbol_line.h"
#include "symbols/symbolizer_options.h"

typedef struct Symbolizer Symbolizer;
typedef struct Binary Binary;

typedef struct SymbolizerStats
{
	uint64_t binaries_opened;
	uint64_t binaries_unreadable; /* could not be opened or is not ELF */
	uint64_t addresses_resolved;  /* looked up and found, not counting what the cache knew */
	uint64_t addresses_unknown;	  /* looked up, no symbol covers them */
	uint64_t worker_failures;	  /* DWARF worker killed by a limit, or ended */
	uint64_t timeouts;			  /* times that a file system did not answer */
	uint64_t worker_refused;	  /* addresses whose owners had used up their allowance */
	uint64_t worker_unavailable;  /* addresses for which no worker could be had */
	uint64_t tables_loaded;		  /* symbol tables that were taken from disk */
	uint64_t tables_damaged;	  /* files of symbol tables that were no such */
	uint64_t debug_info_left_out; /* binaries whose debug information would take too much memory */
	uint64_t results_evicted;	  /* dropped from the cache to keep the budget */
	size_t cache_bytes;			  /* in use: results, kernel symbols */
} SymbolizerStats;

int symbolizer_create(const SymbolizerOptions *options, Symbolizer **symbolizer);
void symbolizer_free(Symbolizer *symbolizer);
void symbolizer_stats(const Symbolizer *symbolizer, SymbolizerStats *stats);

/* Gives back what is not in use: the older half of the results, the worker. */
void symbolizer_shrink(Symbolizer *symbolizer);

/* Starts a worker ahead of the first question, which would wait for it. */
void symbolizer_start_worker(Symbolizer *symbolizer);

/* The worker process, 0 where there is none. Any thread may ask. */
pid_t symbolizer_worker_pid(const Symbolizer *symbolizer);

/*
 * The binary there; name is what people know it by. -errno where it cannot be read; -ENOEXEC where
 * it is not a usable ELF file; -EAGAIN where it does not answer in time. Counted. Each success is
 * paired with binary_release.
 */
int binary_open_at(Symbolizer *symbolizer, const BinaryPlace *place, const char *name,
				   Binary **binary);
int binary_open(Symbolizer *symbolizer, const char *path, const char *name, Binary **binary);
void binary_release(Binary *binary);

/*
 * Hexadecimal: the GNU build ID, or where the file has none (Go, say), OpenTelemetry's hash of its
 * head, tail and length. "" only for a file that could not be read any more.
 */
const char *binary_build_id(const Binary *binary);

/* ELF virtual address of a file offset that an executable PT_LOAD covers; false where none does. */
bool binary_address(const Binary *binary, uint64_t file_offset, uint64_t *address);

/*
 * Functions and lines at an ELF virtual address, inlined calls included. For a return address pass
 * address - 1. Returns 0 also if nothing covers it (count 0), or if it cannot be known for a while;
 * -errno on failure.
 */
int binary_symbolize(Binary *binary, uint64_t address, SymbolLines *lines);

/*
 * Like binary_symbolize(), but waits no longer than the terms say: -EAGAIN if the answer is to be
 * asked for again later. A deadline that has passed asks the cache alone.
 */
int binary_symbolize_within(Binary *binary, uint64_t address, const SymbolAsk *terms,
							SymbolLines *lines);

/* Asks about many addresses at once, as far as the terms allow: their answers are then cached. */
void binary_prepare(Binary *binary, const uint64_t *addresses, uint32_t count,
					const SymbolAsk *terms);

/* How much of their allowance the owners of a file have used: who used less is asked for first. */
int64_t symbolizer_used(const Symbolizer *symbolizer, uint64_t owners);

/*
 * Kernel symbols of /proc/kallsyms. module is "" for the kernel proper, without brackets otherwise;
 * start is the symbol's own address. False where unknown, or where the kernel hides addresses
 * (kallsyms_readable).
 */
bool kernel_symbolize(Symbolizer *symbolizer, uint64_t address, const char **name,
					  const char **module, uint64_t *start);
/* Code of the kernel came or went: kallsyms.h. */
void kernel_symbols_outdate(Symbolizer *symbolizer);

/* Looks whether modules of the kernel came or went, whose addresses are used again. */
void kernel_symbols_follow_modules(Symbolizer *symbolizer);
bool kallsyms_readable(Symbolizer *symbolizer);

#endif
