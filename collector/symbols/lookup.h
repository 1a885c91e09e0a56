/*
 * lookup.h
 *		Finds the lines of an address in a binary: in the cache, otherwise with the worker.
 */
#ifndef COLLECTOR_LOOKUP_H
#define COLLECTOR_LOOKUP_H

#include "base/cache_directory.h"
#include "symbols/binary.h"
#include "symbols/result_cache.h"
#include "symbols/symbolizer_options.h"
#include "symbols/worker/symbol_ask.h"
#include "symbols/worker/symbol_line.h"
#include "symbols/worker/worker_client.h"

typedef struct Lookup
{
	ResultCache *results;
	WorkerClient *worker;
	CacheDirectory *tables; /* symbol tables on disk; NULL: not used */
	Binary *leaders;		/* keyed by twin_key: open binaries with which copies are compared */
	uint64_t last_number;	/* last number that a binary was given */
	Patience *patience;		/* backoff and deadlines for the file systems of debug files */
	char *debug_directory;
	bool inlined_lines;
	NameStyle style;
	uint64_t name_seed; /* of the hashes of names that belong to no binary */
	uint64_t resolved;
	uint64_t unknown;
	uint64_t left_out; /* binaries with DWARF that did not fit into memory at a lookup */
} Lookup;

/* Makes a lookup without open files. Returns 0 or -ENOMEM. */
int lookup_init(Lookup *lookup, const SymbolizerOptions *options);
void lookup_fini(Lookup *lookup);

/*
 * Finds the lines of an address. Parameters and results are like those of
 * binary_symbolize_within().
 */
int lookup_symbolize(Lookup *lookup, Binary *binary, uint64_t address, const SymbolAsk *terms,
					 SymbolLines *lines);

/* Parameters and results are like those of symbolizer_demangle(). */
int lookup_demangle(Lookup *lookup, const char *name, const SymbolAsk *terms, SymbolLines *lines);

/* Asks about many addresses. Parameters are like those of binary_prepare(). */
void lookup_prepare(Lookup *lookup, Binary *binary, const uint64_t *addresses, uint32_t count,
					const SymbolAsk *terms);

/* Removes a binary, whose file was closed, from those with which copies are compared. */
void lookup_forget_leader(Lookup *lookup, Binary *binary);

/* Frees unused memory: the older half of the results, the worker. */
void lookup_shrink(Lookup *lookup);

#endif
