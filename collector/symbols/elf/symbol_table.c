/*
 * symbol_table.c
 *		Builds and searches the sorted symbol array of a binary.
 *
 * 1. Candidates of all tables are collected with the properties that decide between them.
 * 2. They are sorted by address, best first.
 * 3. One candidate for each address is kept. Untyped labels inside a function with a size are
 *    dropped.
 */
#include "symbols/elf/symbol_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/plt.h"
#include "symbols/elf/symbol_name.h"
#include "symbols/elf/symbol_table_parts.h"

#define SYMBOL_BLOCK	   256
#define SYMBOL_NESTING_MAX 16 /* enclosing functions that a search considers */
#define SYMBOL_ALIASES_MAX 64 /* limit of the names of one address that are compared */

typedef struct Candidate
{
	uint64_t start;
	uint32_t size_bytes; /* saturated */
	uint32_t place;
	SymbolRank rank;
} Candidate;

typedef struct Candidates
{
	const ElfFile *const *files;
	Candidate *items;
	size_t count;
	size_t room;
} Candidates;

static const ElfFile *
place_file(const ElfFile *const *files, uint32_t place)
{
	return files[place_file_index(place)];
}

static bool
read_place(const ElfFile *const *files, uint32_t place, ElfSymbol *symbol)
{
	return elf_file_read_symbols(place_file(files, place), place_kind(place),
								 place & PLACE_INDEX_MAX, symbol, 1) == 1;
}

static bool
symbol_table_read_name(const ElfFile *const *files, uint32_t place, const ElfSymbol *symbol,
					   char *name, size_t size_bytes)
{
	const ElfFile *file = place_file(files, place);

	return elf_source_string(&file->source, &file->symbols[place_kind(place)].strings,
							 symbol->name_offset, name, size_bytes) &&
		   name[0] != '\0';
}

/*
 * Returns true if a symbol names code. An untyped symbol names code if it is in an executable
 * section and is no mark.
 */
static bool
symbol_is_code(const ElfFile *file, ElfSymbolsKind kind, const ElfSymbol *symbol, SymbolRank *rank)
{
	char name[64];

	if (symbol->section == SHN_UNDEF || symbol->name_offset == 0 || symbol->address == 0)
		return false;
	if (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC)
	{
		*rank = symbol->binding == STB_LOCAL ? SYMBOL_RANK_LOCAL : SYMBOL_RANK_EXPORTED;
		return symbol->section != SHN_ABS;
	}
	*rank = SYMBOL_RANK_LABEL;
	return symbol->type == STT_NOTYPE && symbol->section < SHN_LORESERVE &&
		   elf_file_section(file, symbol->address) != NULL &&
		   elf_source_string(&file->source, &file->symbols[kind].strings, symbol->name_offset, name,
							 sizeof(name)) &&
		   !symbol_name_is_mark(name);
}

static int
candidates_add(Candidates *candidates, const Candidate *candidate)
{
	if (candidates->count == candidates->room)
	{
		size_t room = candidates->room == 0 ? 1024 : candidates->room * 2;
		Candidate *items = realloc(candidates->items, room * sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		candidates->items = items;
		candidates->room = room;
	}
	candidates->items[candidates->count++] = *candidate;
	return 0;
}

/* Adds the code symbols of one table of a file to the candidates. */
static int
candidates_collect(Candidates *candidates, uint32_t file_index, ElfSymbolsKind kind)
{
	const ElfFile *file = candidates->files[file_index];
	uint32_t count = file->symbols[kind].count;
	uint32_t got;

	if (count > PLACE_INDEX_MAX)
		count = PLACE_INDEX_MAX;
	for (uint32_t at = 0; at < count; at += got)
	{
		ElfSymbol symbols[SYMBOL_BLOCK];

		got = elf_file_read_symbols(file, kind, at, symbols, SYMBOL_BLOCK);
		if (got == 0)
			break;
		for (uint32_t i = 0; i < got; i++)
		{
			uint64_t size = symbols[i].size_bytes;
			Candidate candidate = {
				.start = symbols[i].address,
				.size_bytes = size > UINT32_MAX ? UINT32_MAX : (uint32_t) size,
				.place = file_index << (PLACE_INDEX_BITS + 1) |
						 (kind == ELF_DYNSYM ? 1U : 0U) << PLACE_INDEX_BITS | (at + i),
			};

			if (!symbol_is_code(file, kind, &symbols[i], &candidate.rank))
				continue;
			if (candidates_add(candidates, &candidate) != 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	if ((left->size_bytes == 0) != (right->size_bytes == 0))
		return left->size_bytes != 0 ? -1 : 1;
	return (left->place > right->place) - (left->place < right->place);
}

/*
 * Returns the best of the candidates first … end - 1, which share one address: those equal to the
 * first are compared by name.
 */
static const Candidate *
candidates_choose(const ElfFile *const *files, const Candidate *first, const Candidate *end)
{
	const Candidate *best = first;
	char best_name[256] = "";

	if (first + 1 == end || first[1].rank != first->rank)
		return first;
	if (end - first > SYMBOL_ALIASES_MAX)
		end = first + SYMBOL_ALIASES_MAX;
	for (const Candidate *at = first; at < end && at->rank == first->rank; at++)
	{
		ElfSymbol symbol;
		char name[256];

		if ((at->size_bytes == 0) != (first->size_bytes == 0) ||
			!read_place(files, at->place, &symbol) ||
			!symbol_table_read_name(files, at->place, &symbol, name, sizeof(name)))
			continue;
		symbol_name_cut_version(name);
		if (best_name[0] == '\0' || symbol_name_compare(name, best_name) < 0)
		{
			best = at;
			memcpy(best_name, name, sizeof(name));
		}
	}
	return best;
}

/*
 * Moves the remaining candidates to the front and returns their number. An entry is marked if a
 * symbol before it extends beyond its start: without the mark, each search of an address without a
 * symbol would read all entries before it.
 */
static size_t
candidates_reduce(Candidates *candidates)
{
	Candidate *items = candidates->items;
	uint64_t covered_until = 0; /* end of the sized functions so far */
	uint64_t reach = 0;			/* greatest end of the entries kept so far */
	size_t kept = 0;
	size_t end;

	for (size_t at = 0; at < candidates->count; at = end)
	{
		Candidate best;

		for (end = at + 1; end < candidates->count && items[end].start == items[at].start; end++)
			;
		best = *candidates_choose(candidates->files, &items[at], &items[end]);
		if (best.rank == SYMBOL_RANK_LABEL && best.start < covered_until)
			continue;
		if (best.rank != SYMBOL_RANK_LABEL && best.start + best.size_bytes > covered_until)
			covered_until = best.start + best.size_bytes;
		if (best.start < reach)
			best.place |= PLACE_NESTED;
		if (best.start + best.size_bytes > reach)
			reach = best.start + best.size_bytes;
		items[kept++] = best;
	}
	return kept;
}

bool
symbol_table_needs_dynsym(const ElfFile *const *files, uint32_t file_count)
{
	/* mini debug information, which has no descriptor, contains only symbols that .dynsym lacks */
	for (uint32_t i = 0; i < file_count; i++)
	{
		if (files[i]->symbols[ELF_SYMTAB].count > 0 && files[i]->source.fd >= 0)
			return false;
	}
	return file_count > 0;
}

int
symbol_table_create(const ElfFile *const *files, uint32_t file_count, SymbolTable **table)
{
	Candidates candidates = { .files = files };
	SymbolTable *made;
	size_t kept;
	int err = 0;

	for (uint32_t i = 0; i < file_count && err == 0; i++)
		err = candidates_collect(&candidates, i, ELF_SYMTAB);
	if (err == 0 && symbol_table_needs_dynsym(files, file_count))
		err = candidates_collect(&candidates, 0, ELF_DYNSYM);
	if (err != 0)
		goto cleanup;

	if (candidates.count > 0)
		qsort(candidates.items, candidates.count, sizeof(*candidates.items), compare_candidates);
	kept = candidates_reduce(&candidates);
	made = malloc(sizeof(*made) + kept * sizeof(made->entries[0]));
	if (made == NULL)
	{
		err = -ENOMEM;
		goto cleanup;
	}
	made->base = kept > 0 ? candidates.items[0].start : 0;
	made->count = 0;
	for (size_t i = 0; i < kept && candidates.items[i].start - made->base <= UINT32_MAX; i++)
		made->entries[made->count++] =
			(SymbolEntry){ (uint32_t) (candidates.items[i].start - made->base),
						   candidates.items[i].place };
	*table = made;

cleanup:
	free(candidates.items);
	return err;
}

void
symbol_table_free(SymbolTable *table)
{
	free(table);
}

/* Returns the index after the last entry that starts at or before an address. */
static uint32_t
symbol_table_search(const SymbolTable *table, uint32_t start)
{
	uint32_t low = 0;
	uint32_t high = table->count;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (table->entries[middle].start <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool
symbol_table_find(const SymbolTable *table, const ElfFile *const *files, uint64_t address,
				  char *name, uint64_t *start)
{
	const ElfSection *section = elf_file_section(files[0], address);
	uint32_t after;

	if (section != NULL && section->kind == ELF_SECTION_PLT &&
		plt_find(files[0], section, address, name, SYMBOL_NAME_MAX_BYTES, start))
		return true;
	if (address < table->base || address - table->base > UINT32_MAX)
		return false;
	after = symbol_table_search(table, (uint32_t) (address - table->base));
	for (uint32_t i = after; i > 0 && after - i < SYMBOL_NESTING_MAX; i--)
	{
		const SymbolEntry *entry = &table->entries[i - 1];
		uint64_t at = table->base + entry->start;
		ElfSymbol symbol;
		bool covers;

		if (!read_place(files, entry->place, &symbol))
			return false;
		if (symbol.size_bytes > 0)
			covers = address - at < symbol.size_bytes;
		else
			covers = i == after && section == elf_file_section(files[0], at);
		if (!covers && (entry->place & PLACE_NESTED) == 0)
			return false;
		if (!covers)
			continue;
		if (!symbol_table_read_name(files, entry->place, &symbol, name, SYMBOL_NAME_MAX_BYTES))
			return false;
		symbol_name_cut_version(name);
		*start = at;
		return true;
	}
	return false;
}
