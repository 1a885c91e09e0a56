/*
 * function_index.c
 *		Indexes the functions of a unit, and the inlined calls of functions that are asked about.
 *
 * Most units consist of types and of functions whose code is never asked about. Compilers that give
 * each entry a reference to its sibling let us step over these.
 */
#include "symbols/worker/function_index.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "symbols/dwarf/dwarf_ranges.h"

#define DEPTH_MAX 128 /* limit of the nesting of entries in a function; deeper ones are ignored */

/*
 * How often inlined calls may be read from each byte of a unit, on average. Functions in functions
 * are read several times. In a damaged unit all functions may contain the rest of the unit, so that
 * reading each of them would take time that is quadratic in the unit's size.
 */
#define WALKS_MAX 16

struct IndexedFunction
{
	uint32_t entry; /* offset of its entry, relative to the unit's root */
	bool is_read;
	Scope *scopes;		  /* scopes precede the scopes inside them */
	AddressRanges ranges; /* ranges of inlined calls */
};

/* The scopes of a function that are being read. */
typedef struct ScopeReading
{
	FunctionIndex *index;
	IndexedFunction *function;
	size_t count;
	size_t room;
} ScopeReading;

/*
 * Returns the value of the ranges of the function or scope with a number. Among equal ranges a
 * search finds the smallest value, so the value must be smallest for the innermost scope.
 */
static uint32_t
range_value(size_t number)
{
	return UINT32_MAX - (uint32_t) number;
}

int
code_ranges_add(const AddressRanges *code, const DwarfEntry *entry, AddressRanges *ranges,
				uint32_t value, bool *any)
{
	DwarfRanges walk;
	uint32_t section;
	uint64_t low;
	uint64_t high;
	int err = 0;

	/* most entries have one range, which needs no walk */
	if (dwarf_entry_range(entry, &low, &high))
	{
		if (high <= low)
			return 0;
		*any = true;
		return code == NULL || address_ranges_find(code, low, &section)
				   ? address_ranges_add(ranges, low, high, value)
				   : 0;
	}
	dwarf_ranges_begin(&walk, entry);
	while (err == 0 && dwarf_ranges_next(&walk, &low, &high))
	{
		*any = true;
		/*
		 * Linkers leave the DWARF of discarded functions at addresses near 0, where it must not
		 * hide real functions.
		 */
		if (code == NULL || address_ranges_find(code, low, &section))
			err = address_ranges_add(ranges, low, high, value);
	}
	return err;
}

static void
function_index_clear(FunctionIndex *index)
{
	for (size_t i = 0; i < index->count; i++)
	{
		free(index->functions[i].scopes);
		address_ranges_fini(&index->functions[i].ranges);
	}
	index->count = 0;
	index->ranges.count = 0;
	index->is_listed = false;
}

void
function_index_fini(FunctionIndex *index)
{
	function_index_clear(index);
	free(index->functions);
	address_ranges_fini(&index->ranges);
	*index = (FunctionIndex){ 0 };
}

/* Adds a function to the index, unless none of its ranges is in code. */
static int
function_index_add(FunctionIndex *index, const DwarfEntry *entry)
{
	uint64_t place = entry->offset - index->unit->root;
	size_t before = index->ranges.count;
	bool any = false;
	int err;

	if (place >= UINT32_MAX)
		return 0;
	err = grow_array(&index->functions, &index->room, index->count, sizeof(*index->functions));
	if (err == 0)
		err = code_ranges_add(index->code, entry, &index->ranges, range_value(index->count), &any);
	if (err == 0 && index->ranges.count > before)
		index->functions[index->count++] = (IndexedFunction){ .entry = (uint32_t) place };
	return err;
}

/* Lists the functions of the unit, if everywhere is true also those in types and in functions. */
static int
function_index_list(FunctionIndex *index, bool everywhere)
{
	uint64_t at = index->unit->root;
	DwarfEntry entry;
	int err = 0;

	function_index_clear(index);
	while (err == 0 && dwarf_entry_next_function(index->unit, at, everywhere, &entry))
	{
		err = function_index_add(index, &entry);
		at = everywhere ? entry.next : dwarf_entry_after(&entry);
	}
	if (err == 0)
		err = address_ranges_sort(&index->ranges);
	if (err != 0)
	{
		/* drop the functions of this attempt, because the next one would add them again */
		function_index_clear(index);
		return err;
	}
	index->is_listed = true;
	index->is_whole = everywhere;
	return 0;
}

int
function_index_list_all(FunctionIndex *index)
{
	return index->is_whole ? 0 : function_index_list(index, true);
}

/* Adds a scope; its ranges, if it is an inlined call. Sets *number to that of the scope. */
static int
add_scope(ScopeReading *reading, const DwarfEntry *entry, uint32_t parent, uint32_t *number)
{
	IndexedFunction *function = reading->function;
	uint64_t place = entry->offset - reading->index->unit->root;
	bool any;
	int err = 0;

	if (place >= UINT32_MAX || reading->count >= UINT32_MAX)
	{
		*number = parent;
		return 0;
	}
	/* a discarded function is not in the index, so its calls are not read */
	if (reading->count > 0)
		err = code_ranges_add(NULL, entry, &function->ranges, range_value(reading->count), &any);
	if (err == 0)
		err = grow_array(&function->scopes, &reading->room, reading->count, sizeof(Scope));
	if (err != 0)
		return err;
	*number = (uint32_t) reading->count;
	function->scopes[reading->count++] = (Scope){ (uint32_t) place, parent };
	return 0;
}

/* Returns true for a block of a function, which may contain inlined calls. */
static bool
is_block(unsigned tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
		   tag == DW_TAG_with_stmt || tag == DW_TAG_common_block;
}

/* Adds the inlined calls that are among the children of a function. */
static int
add_calls(ScopeReading *reading, uint64_t at)
{
	uint32_t around[DEPTH_MAX] = { 0 }; /* the innermost scope at each depth of entries */
	const uint64_t begin = at;
	unsigned depth = 1;
	DwarfEntry entry;
	int err = 0;

	while (err == 0 && depth > 0)
	{
		uint32_t scope = around[depth < DEPTH_MAX ? depth : DEPTH_MAX - 1];
		unsigned before = depth;

		if (!dwarf_entry_next_scope(reading->index->unit, at, &depth, &entry))
			break;
		while (before < depth && ++before < DEPTH_MAX)
			around[before] = scope;
		at = entry.next;
		if (entry.tag == 0)
			depth--;
		else if (entry.tag != DW_TAG_inlined_subroutine && !is_block(entry.tag))
			at = dwarf_entry_after(&entry); /* a type or a function in this function */
		else
		{
			if (depth < DEPTH_MAX && entry.tag == DW_TAG_inlined_subroutine)
				err = add_scope(reading, &entry, scope, &scope);
			depth += entry.has_children;
			if (entry.has_children && depth < DEPTH_MAX)
				around[depth] = scope;
		}
	}
	reading->index->walked_bytes += at - begin;
	return err;
}

/* Returns true if inlined calls of another function of the unit may be read. */
static bool
may_walk(const FunctionIndex *index)
{
	return index->walked_bytes / WALKS_MAX <= index->unit->end - index->unit->root;
}

static void
scope_reading_shrink(ScopeReading *reading)
{
	Scope *scopes = realloc(reading->function->scopes, reading->count * sizeof(*scopes));

	if (scopes != NULL)
		reading->function->scopes = scopes;
}

/* Reads the inlined calls of a function. Returns 0, -ENOENT if its entry is damaged, or -ENOMEM. */
static int
read_scopes(FunctionIndex *index, IndexedFunction *function)
{
	ScopeReading reading = { .index = index, .function = function };
	DwarfEntry entry;
	uint32_t number;
	int err = 0;

	if (function->is_read)
		return 0;
	if (!dwarf_entry_read(index->unit, index->unit->root + function->entry, &entry))
		return -ENOENT;
	err = add_scope(&reading, &entry, 0, &number);
	if (err == 0 && entry.has_children && may_walk(index))
		err = add_calls(&reading, entry.next);
	if (err == 0)
		err = address_ranges_sort(&function->ranges);
	if (err != 0)
	{
		free(function->scopes);
		function->scopes = NULL;
		function->ranges.count = 0;
		return err;
	}
	scope_reading_shrink(&reading);
	function->is_read = true;
	return 0;
}

int
function_index_find(FunctionIndex *index, uint64_t address, ScopeChain *chain)
{
	IndexedFunction *function;
	uint32_t value;
	int err = index->is_listed ? 0 : function_index_list(index, false);

	if (err == 0 && !index->is_whole && !address_ranges_find(&index->ranges, address, &value))
		err = function_index_list(index, true);
	if (err != 0)
		return err;
	if (!address_ranges_find(&index->ranges, address, &value))
		return -ENOENT;
	function = &index->functions[range_value(value)];
	err = read_scopes(index, function);
	if (err != 0)
		return err;
	chain->scopes = function->scopes;
	chain->innermost =
		address_ranges_find(&function->ranges, address, &value) ? range_value(value) : 0;
	return 0;
}
