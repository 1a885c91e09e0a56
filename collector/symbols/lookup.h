/*
 * lookup.h
 *		From a binary's address to its lines: from the cache, otherwise from the worker.
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
	Binary *leaders;		/* by twin_key: open binaries that copies are compared with */
	uint64_t last_number;	/* of binaries */
	Patience *patience;		/* with the file systems of debug files */
	char *debug_directory;
	bool inlined_lines;
	NameStyle style;
	uint64_t resolved;
	uint64_t unknown;
} Lookup;

/* Returns 0 or -ENOMEM. */
int lookup_init(Lookup *lookup, const SymbolizerOptions *options);
void lookup_fini(Lookup *lookup);

/* Finds the lines of an address. Parameters and results are those of binary_symbolize_within(). */
int lookup_symbolize(Lookup *lookup, Binary *binary, uint64_t address, const SymbolAsk *terms,
					 SymbolLines *lines);

/* Asks about many addresses. Parameters are those of binary_prepare(). */
void lookup_prepare(Lookup *lookup, Binary *binary, const uint64_t *addresses, uint32_t count,
					const SymbolAsk *terms);

/* Removes a binary whose file is closed from those that copies are compared with. */
void lookup_forget_leader(Lookup *lookup, Binary *binary);

/* Frees unused memory: the older half of the results, the worker. */
void lookup_shrink(Lookup *lookup);

#endif
