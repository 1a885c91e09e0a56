/*
 * function_index.h
 *		Finds the function of a unit that covers an address, and the calls that are inlined there.
 *
 * A file has far more entries than are asked about, so entries are read as late as possible: the
 * functions of a unit at the first lookup in the unit, the inlined calls of a function at the first
 * lookup in the function.
 */
#ifndef COLLECTOR_FUNCTION_INDEX_H
#define COLLECTOR_FUNCTION_INDEX_H

#include "symbols/dwarf/dwarf_unit.h"
#include "symbols/worker/address_ranges.h"

typedef struct IndexedFunction IndexedFunction;

/* A zeroed FunctionIndex is empty. */
typedef struct FunctionIndex
{
	DwarfUnit *unit;		   /* the unit that has the functions */
	const AddressRanges *code; /* ranges of the executable sections */
	bool is_listed;			   /* has the functions outside of types and of other functions */
	bool is_whole;			   /* has functions inside of these, too */
	IndexedFunction *functions;
	size_t count;
	size_t room;
	AddressRanges ranges;  /* ranges of functions */
	uint64_t walked_bytes; /* bytes of entries over which reading of inlined calls went */
} FunctionIndex;

/* A function, or a call that is inlined in one. */
typedef struct Scope
{
	uint32_t entry;	 /* offset of its entry, relative to the unit's root */
	uint32_t parent; /* number of the scope around an inlined call; unused for a function */
} Scope;

/* The scopes of a function: scope 0 is the function, the others are inlined calls. */
typedef struct ScopeChain
{
	const Scope *scopes;
	uint32_t innermost; /* number of the scope that covers the address */
} ScopeChain;

void function_index_fini(FunctionIndex *index);

/* Lists all functions of the unit. Returns 0 or -ENOMEM. */
int function_index_list_all(FunctionIndex *index);

/*
 * Finds the innermost scope that covers an address. Returns 0; -ENOENT if there is no such
 * function; -ENOMEM.
 */
int function_index_find(FunctionIndex *index, uint64_t address, ScopeChain *chain);

/*
 * Adds those ranges of an entry that are in code to ranges; all of them if code is NULL. Sets *any
 * if the entry has a range, in code or not. Returns 0 or -ENOMEM.
 */
int code_ranges_add(const AddressRanges *code, const DwarfEntry *entry, AddressRanges *ranges,
					uint32_t value, bool *any);

#endif
