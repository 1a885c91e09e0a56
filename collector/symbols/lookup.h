/*
 * lookup.h
 *		From a binary's address to its lines: cache, DWARF, symbol table, demangling.
 */
#ifndef COLLECTOR_LOOKUP_H
#define COLLECTOR_LOOKUP_H

#include "symbols/binary.h"
#include "symbols/result_cache.h"
#include "symbols/symbol_line.h"
#include "symbols/worker_client.h"

typedef struct Lookup
{
	ResultCache *results;
	WorkerClient *worker;
	char *debug_directory;
	bool inlined_lines;
	size_t table_budget_bytes;
	size_t table_bytes;
	Binary *tables; /* binaries with a symbol table */
	uint64_t resolved;
	uint64_t unknown;
	uint64_t tables_evicted;
	SymbolLine line;				  /* a result that is not in the cache */
	char name[SYMBOL_NAME_MAX_BYTES]; /* the symbol last found */
} Lookup;

/* Half of cache_bytes is for results, half for symbol tables. 0 or -ENOMEM. */
int lookup_init(Lookup *lookup, size_t cache_bytes, const char *debug_directory,
				bool inlined_lines);
void lookup_fini(Lookup *lookup); /* after the tables of all binaries were dropped */

/* As binary_symbolize. */
int lookup_symbolize(Lookup *lookup, Binary *binary, uint64_t address, SymbolLines *lines);

/* Frees a binary's symbol table; it is read again when needed. */
void lookup_drop_table(Lookup *lookup, Binary *binary);

/* Gives back what is not in use. */
void lookup_shrink(Lookup *lookup);

#endif
