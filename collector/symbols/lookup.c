/*
 * lookup.c
 *		The order in which sources are asked, and what they keep.
 */
#include "symbols/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"

#define WORKER_PAUSE_NS INT64_C(600000000000) /* after a binary made the worker fail */

int
lookup_init(Lookup *lookup, size_t cache_bytes, const char *debug_directory, bool inlined_lines)
{
	int err = result_cache_create(cache_bytes / 2, &lookup->results);

	if (err == 0)
		err = worker_client_create(&lookup->worker);
	if (err != 0)
		return err;
	lookup->table_budget_bytes = cache_bytes / 2;
	lookup->inlined_lines = inlined_lines;
	lookup->debug_directory = strdup(debug_directory);
	return lookup->debug_directory == NULL ? -ENOMEM : 0;
}

void
lookup_fini(Lookup *lookup)
{
	result_cache_free(lookup->results);
	worker_client_free(lookup->worker);
	free(lookup->debug_directory);
}

static uint32_t
binary_files(const Binary *binary, const ElfFile *files[SYMBOL_TABLE_FILES_MAX])
{
	uint32_t count = 0;

	files[count++] = &binary->file;
	if (binary->debug_files.debug.source.fd >= 0)
		files[count++] = &binary->debug_files.debug;
	if (binary->debug_files.mini_bytes != NULL)
		files[count++] = &binary->debug_files.mini;
	return count;
}

static void
look_for_debug_files(Lookup *lookup, Binary *binary)
{
	const DebugPlaces places = { binary->root_pid, binary->name, lookup->debug_directory };

	if (binary->debug_files_known)
		return;
	debug_files_open(&binary->debug_files, &binary->file, &places);
	binary->debug_files_known = true;
}

static size_t
table_bytes(const Binary *binary)
{
	return symbol_table_bytes(binary->table);
}

void
lookup_drop_table(Lookup *lookup, Binary *binary)
{
	if (binary->table == NULL)
		return;
	DL_DELETE2(lookup->tables, binary, table_prev, table_next);
	lookup->table_bytes -= symbol_table_bytes(binary->table);
	symbol_table_free(binary->table);
	binary->table = NULL;
}

/* The binary's symbol table, read when first needed; the others make room for it. */
static int
use_table(Lookup *lookup, Binary *binary)
{
	const ElfFile *files[SYMBOL_TABLE_FILES_MAX];
	int err;

	if (binary->table != NULL)
	{
		DL_DELETE2(lookup->tables, binary, table_prev, table_next);
		DL_APPEND2(lookup->tables, binary, table_prev, table_next);
		return 0;
	}
	err = symbol_table_create(files, binary_files(binary, files), &binary->table);
	if (err != 0)
		return err;
	while (lookup->tables != NULL &&
		   lookup->table_bytes + table_bytes(binary) > lookup->table_budget_bytes)
	{
		lookup_drop_table(lookup, lookup->tables);
		lookup->tables_evicted++;
	}
	lookup->table_bytes += table_bytes(binary);
	DL_APPEND2(lookup->tables, binary, table_prev, table_next);
	return 0;
}

/* A binary that made the worker fail is kept away from it for a while. */
static bool
worker_pauses(const Binary *binary)
{
	return binary->worker_pause_until_ns > clock_ns(CLOCK_MONOTONIC);
}

static int
note_worker(Binary *binary, int err)
{
	if (err == -EIO)
		binary->worker_pause_until_ns = clock_ns(CLOCK_MONOTONIC) + WORKER_PAUSE_NS;
	return err;
}

/*
 * The symbol that covers an address, "" where none does; held by the symbolizer until the next one.
 */
static int
find_symbol(Lookup *lookup, Binary *binary, uint64_t address, const char **symbol)
{
	char *name = lookup->name;
	const ElfFile *files[SYMBOL_TABLE_FILES_MAX];
	uint64_t start;
	int err = use_table(lookup, binary);

	if (err != 0)
		return err;
	(void) binary_files(binary, files);
	if (!symbol_table_find(binary->table, files, address, name, &start))
		name[0] = '\0';
	*symbol = name;
	return 0;
}

/*
 * Lines by DWARF, none where it does not cover the address. -EAGAIN or -EIO where it might, but the
 * worker is not to be had now: what else is found then is good enough to show, and not to keep.
 */
static int
ask_dwarf(Lookup *lookup, Binary *binary, uint64_t address, SymbolLines *lines)
{
	const ElfFile *file = binary->file.has_dwarf ? &binary->file : &binary->debug_files.debug;
	const char *symbol;
	int err;

	if (!lookup->inlined_lines || file->source.fd < 0 || !file->has_dwarf || binary->dwarf_unusable)
		return 0;
	if (worker_pauses(binary))
		return -EAGAIN;
	err = worker_client_lookup(lookup->worker, binary->number, file->source.fd,
							   binary->debug_files.alt_fd, address, NULL, lines);
	if (err == -ENOKEY)
	{
		err = find_symbol(lookup, binary, address, &symbol);
		if (err == 0)
			err = worker_client_lookup(lookup->worker, binary->number, file->source.fd,
									   binary->debug_files.alt_fd, address, symbol, lines);
	}
	binary->dwarf_unusable = err == -ENODATA;
	return note_worker(binary, err);
}

static bool
is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 ||
		   strncmp(name, "_D", 2) == 0 || strncmp(name, "_GLOBAL_", 8) == 0;
}

/*
 * One line by the symbol table, or none. Returns like ask_dwarf, where a name could not be
 * demangled.
 */
static int
ask_symbol_table(Lookup *lookup, Binary *binary, uint64_t address, SymbolLines *lines)
{
	const char *symbol;
	int err = find_symbol(lookup, binary, address, &symbol);

	if (err != 0 || symbol[0] == '\0')
		return err;
	lookup->line = (SymbolLine){ .name = symbol, .system_name = symbol, .filename = "" };
	*lines = (SymbolLines){ 1, &lookup->line };
	if (!is_mangled(symbol))
		return 0;
	if (worker_pauses(binary))
		return -EAGAIN;
	return note_worker(binary, worker_client_demangle(lookup->worker, symbol, lines));
}

int
lookup_symbolize(Lookup *lookup, Binary *binary, uint64_t address, SymbolLines *lines)
{
	SymbolLines found = { 0, NULL };
	bool lasting;
	int err;

	if (result_cache_find(lookup->results, binary->number, address, lines))
		return 0;
	look_for_debug_files(lookup, binary);
	err = ask_dwarf(lookup, binary, address, &found);
	lasting = err != -EAGAIN && err != -EIO;
	if (found.count == 0)
	{
		err = ask_symbol_table(lookup, binary, address, &found);
		if (err == -ENOMEM)
			return err;
		lasting = lasting && err != -EAGAIN && err != -EIO;
	}
	if (found.count > 0)
		lookup->resolved++;
	else
		lookup->unknown++;
	*lines = found;
	return lasting ? result_cache_add(lookup->results, binary->number, address, &found, lines) : 0;
}

void
lookup_shrink(Lookup *lookup)
{
	result_cache_shrink(lookup->results);
	while (lookup->tables != NULL)
	{
		lookup_drop_table(lookup, lookup->tables);
		lookup->tables_evicted++;
	}
	worker_client_end(lookup->worker);
}
