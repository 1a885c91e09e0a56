/*
 * symbolizer.h
 *		Finds the functions and lines of an address in a binary, and the symbol of a kernel address.
 *
 * A Binary is one ELF file, shared by all processes that map it and found by device, inode, size
 * and ctime. While it is referenced it holds one descriptor, and up to two more for separate debug
 * files. Copies that are equal byte by byte and have the same debug files share their answers. All
 * functions are called from one thread, unless stated otherwise. A worker process with limits on
 * time and memory reads DWARF and symbol tables, so that a huge or hostile file cannot take the
 * collector down. A function without a symbol is named by the base name of its file and its start.
 */
#ifndef COLLECTOR_SYMBOLIZER_H
#define COLLECTOR_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/binary_place.h"
#include "symbols/symbolizer_options.h"
#include "symbols/worker/symbol_ask.h"
#include "symbols/worker/symbol_line.h"

typedef struct Symbolizer Symbolizer;
typedef struct Binary Binary;

typedef struct SymbolizerStats
{
	uint64_t binaries_opened;
	uint64_t binaries_unreadable; /* files that could not be opened or are not ELF */
	uint64_t addresses_resolved;  /* addresses that the worker, not the cache, has answered */
	uint64_t addresses_unknown;	  /* addresses that no symbol covers */
	uint64_t worker_failures;	  /* workers that crashed or that a limit ended */
	uint64_t timeouts;			  /* waits in which a file system did not answer in time */
	uint64_t worker_refused;	  /* addresses whose owners had used up their allowance */
	uint64_t worker_unavailable;  /* addresses for which no worker could be started */
	uint64_t tables_loaded;		  /* symbol tables read from disk */
	uint64_t tables_damaged;	  /* damaged files of symbol tables */
	uint64_t debug_info_left_out; /* binaries whose debug information would take too much memory */
	uint64_t results_evicted;	  /* results dropped from the cache to keep the budget */
	size_t cache_bytes;			  /* memory of results and kernel symbols */
} SymbolizerStats;

int symbolizer_create(const SymbolizerOptions *options, Symbolizer **symbolizer);
void symbolizer_free(Symbolizer *symbolizer);
void symbolizer_stats(const Symbolizer *symbolizer, SymbolizerStats *stats);

/* Frees unused memory: the older half of the results, the worker. */
void symbolizer_shrink(Symbolizer *symbolizer);

/* Starts a worker in advance, so that the first question need not wait for its start. */
void symbolizer_start_worker(Symbolizer *symbolizer);

/* Returns the process ID of the worker, 0 if there is none. Any thread may call it. */
pid_t symbolizer_worker_pid(const Symbolizer *symbolizer);

/*
 * Opens the binary of a place; name is the path to show. Returns 0; -ENOEXEC if it is not a usable
 * ELF file; -EAGAIN if its file system does not answer in time; another -errno if it cannot be
 * read. Each success needs one binary_release().
 */
int binary_open_at(Symbolizer *symbolizer, const BinaryPlace *place, const char *name,
				   Binary **binary);
int binary_open(Symbolizer *symbolizer, const char *path, const char *name, Binary **binary);
void binary_release(Binary *binary);

/*
 * Returns the GNU build ID in hexadecimal or, if the file has none (Go, for instance),
 * OpenTelemetry's hash of head, tail and length. It is "" only if the file could not be read.
 */
const char *binary_build_id(const Binary *binary);

/*
 * Converts a file offset to an ELF virtual address. Returns false if no executable PT_LOAD covers
 * it.
 */
bool binary_address(const Binary *binary, uint64_t file_offset, uint64_t *address);

/*
 * Finds functions and lines at an ELF virtual address, including inlined calls. For a return
 * address pass address - 1. Returns 0, with count 0 if nothing covers the address or it cannot be
 * looked up for a while; otherwise -errno.
 */
int binary_symbolize(Binary *binary, uint64_t address, SymbolLines *lines);

/*
 * Like binary_symbolize(), but within the terms. Returns -EAGAIN if the question must be repeated
 * later. After the deadline only the cache is searched.
 */
int binary_symbolize_within(Binary *binary, uint64_t address, const SymbolAsk *terms,
							SymbolLines *lines);

/*
 * Demangles a name that belongs to no binary, within the terms. The line has the name itself if it
 * is not mangled; there is none if names are not demangled. Returns 0; -EINPROGRESS at the
 * deadline; -EAGAIN if the owners have used up their allowance or no worker can be started; or
 * another -errno.
 */
int symbolizer_demangle(Symbolizer *symbolizer, const char *name, const SymbolAsk *terms,
						SymbolLines *lines);

/* Asks about many addresses at once, within the terms, and caches the answers. */
void binary_prepare(Binary *binary, const uint64_t *addresses, uint32_t count,
					const SymbolAsk *terms);

/*
 * Returns how much CPU time of their allowance a file's owners have used, in ns. Callers ask first
 * about files whose owners have used less.
 */
int64_t symbolizer_used(const Symbolizer *symbolizer, uint64_t owners);

/*
 * Finds the symbol of /proc/kallsyms that covers a kernel address. module is "" for the kernel
 * itself, without brackets otherwise; start is the address of the symbol. Returns false if there is
 * none, or if the kernel hides addresses (kallsyms_readable()).
 */
bool kernel_symbolize(Symbolizer *symbolizer, uint64_t address, const char **name,
					  const char **module, uint64_t *start);
/* Records that code of BPF programs was loaded or unloaded (kallsyms_outdate()). */
void kernel_symbols_outdate(Symbolizer *symbolizer);

/*
 * Checks whether kernel modules were loaded or unloaded, because new modules may reuse their
 * addresses.
 */
void kernel_symbols_follow_modules(Symbolizer *symbolizer);
bool kallsyms_readable(Symbolizer *symbolizer);

#endif
