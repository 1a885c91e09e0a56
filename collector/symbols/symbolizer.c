/*
 * symbolizer.c
 *		Manages the symbolizer and its binaries.
 *
 * 1. binary_open_at() describes the file and searches for it among the binaries, by (device, inode,
 *    size, ctime). lookup.c finds copies later, because a comparison of their bytes must prove
 *    them.
 * 2. binary_release() keeps the last binaries without references for the next process that maps
 *    them.
 * 3. Results are dropped to keep budgets; they are made again when needed.
 *
 * lookup.c finds the lines of an address.
 */
#include "symbols/symbolizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "symbols/binary.h"
#include "symbols/kallsyms.h"
#include "symbols/lookup.h"

#define KALLSYMS_PATH	   "/proc/kallsyms"
#define MODULES_PATH	   "/proc/modules"
/* binaries without references that are kept for the next process that maps them */
#define IDLE_BINARIES_MAX  256
/* room for the start of a function with the name of its file */
#define UNNAMED_NAME_BYTES 512

struct Symbolizer
{
	Patience patience; /* its prober bounds waits for files, because file systems may not answer */
	Lookup lookup;
	Kallsyms *kallsyms;
	Binary *by_file;
	Binary *idle;
	uint32_t idle_count;
	uint64_t opened;
	uint64_t unreadable;
	SymbolLine unnamed; /* the last answer without a symbol, after the file's name was added */
	char unnamed_name[UNNAMED_NAME_BYTES];
	char unnamed_system_name[UNNAMED_NAME_BYTES];
};

int
symbolizer_create(const SymbolizerOptions *options, Symbolizer **symbolizer)
{
	Symbolizer *made = calloc(1, sizeof(*made));
	int err = made == NULL ? -ENOMEM : 0;

	if (err == 0)
		err = patience_init(&made->patience);
	if (err == 0)
		err = lookup_init(&made->lookup, options);
	if (err == 0)
		made->lookup.patience = &made->patience;
	if (err == 0)
		err = kallsyms_create(KALLSYMS_PATH, MODULES_PATH, KALLSYMS_RELOAD_MIN_NS, &made->kallsyms);
	if (err == 0)
		*symbolizer = made;
	else
		symbolizer_free(made);
	return err;
}

static void
binary_forget(Binary *binary)
{
	Symbolizer *symbolizer = binary->symbolizer;

	HASH_DELETE(by_file, symbolizer->by_file, binary);
	binary_close(binary, &symbolizer->patience);
	binary_free(binary);
}

void
symbolizer_free(Symbolizer *symbolizer)
{
	if (symbolizer == NULL)
		return;
	while (symbolizer->by_file != NULL)
		binary_forget(symbolizer->by_file);
	lookup_fini(&symbolizer->lookup);
	kallsyms_free(symbolizer->kallsyms);
	patience_fini(&symbolizer->patience);
	free(symbolizer);
}

void
symbolizer_stats(const Symbolizer *symbolizer, SymbolizerStats *stats)
{
	const Lookup *lookup = &symbolizer->lookup;

	*stats = (SymbolizerStats){
		.binaries_opened = symbolizer->opened,
		.binaries_unreadable = symbolizer->unreadable,
		.addresses_resolved = lookup->resolved,
		.addresses_unknown = lookup->unknown,
		.worker_failures = worker_client_failures(lookup->worker),
		.worker_refused = worker_client_refused(lookup->worker),
		.worker_unavailable = worker_client_unavailable(lookup->worker),
		.tables_loaded = worker_client_tables_loaded(lookup->worker),
		.tables_damaged = worker_client_tables_damaged(lookup->worker),
		.debug_info_left_out = worker_client_left_out(lookup->worker) + lookup->left_out,
		.timeouts = symbolizer->patience.timeouts,
		.results_evicted = result_cache_evictions(lookup->results),
		.cache_bytes = result_cache_bytes(lookup->results) + kallsyms_bytes(symbolizer->kallsyms),
	};
}

void
symbolizer_shrink(Symbolizer *symbolizer)
{
	lookup_shrink(&symbolizer->lookup);
}

void
symbolizer_start_worker(Symbolizer *symbolizer)
{
	worker_client_start(symbolizer->lookup.worker);
}

pid_t
symbolizer_worker_pid(const Symbolizer *symbolizer)
{
	return worker_client_pid(symbolizer->lookup.worker);
}

/*
 * Adds a reference to a binary. If the binary is idle, it gets the descriptor of made, which was
 * opened just now; made is freed.
 */
static void
binary_reuse(Binary *binary, Binary *made)
{
	Symbolizer *symbolizer = binary->symbolizer;

	if (binary->references++ > 0)
		binary_close(made, &symbolizer->patience);
	else
	{
		DL_DELETE(symbolizer->idle, binary);
		symbolizer->idle_count--;
		binary->file.source.fd = made->file.source.fd;
		binary->root_pid = made->root_pid;
		made->file.source.fd = -1;
	}
	binary_free(made);
}

static Binary *
find_known(const Symbolizer *symbolizer, const Binary *made)
{
	Binary *known;

	HASH_FIND(by_file, symbolizer->by_file, &made->file_identity, sizeof(made->file_identity),
			  known);
	return known;
}

static void
add_binary(Symbolizer *symbolizer, Binary *made)
{
	made->symbolizer = symbolizer;
	made->number = ++symbolizer->lookup.last_number;
	HASH_ADD(by_file, symbolizer->by_file, file_identity, sizeof(made->file_identity), made);
}

int
binary_open_at(Symbolizer *symbolizer, const BinaryPlace *place, const char *name, Binary **binary)
{
	Binary *known;
	Binary *made;
	int err = binary_create(&symbolizer->patience, place, name, &made);

	if (err != 0)
	{
		symbolizer->unreadable += err != -EAGAIN;
		return err;
	}
	known = find_known(symbolizer, made);
	if (known != NULL)
		binary_reuse(known, made);
	else
		add_binary(symbolizer, made);
	*binary = known != NULL ? known : made;
	symbolizer->opened++;
	return 0;
}

int
binary_open(Symbolizer *symbolizer, const char *path, const char *name, Binary **binary)
{
	const BinaryPlace place = { .path = path };

	return binary_open_at(symbolizer, &place, name, binary);
}

void
binary_release(Binary *binary)
{
	Symbolizer *symbolizer = binary->symbolizer;

	if (--binary->references > 0)
		return;
	lookup_forget_leader(&symbolizer->lookup, binary);
	binary_close(binary, &symbolizer->patience);
	DL_APPEND(symbolizer->idle, binary);
	if (++symbolizer->idle_count > IDLE_BINARIES_MAX)
	{
		Binary *oldest = symbolizer->idle;

		DL_DELETE(symbolizer->idle, oldest);
		symbolizer->idle_count--;
		binary_forget(oldest);
	}
}

const char *
binary_build_id(const Binary *binary)
{
	return binary->build_id;
}

bool
binary_address(const Binary *binary, uint64_t file_offset, uint64_t *address)
{
	return elf_file_address(&binary->file, file_offset, address);
}

/*
 * Inserts the file's base name before the start of a function that has no symbol. Copies of a file
 * share answers but may have different names.
 */
static void
add_file_name(Symbolizer *symbolizer, const Binary *binary, SymbolLines *lines)
{
	const char *slash = strrchr(binary->name, '/');
	const char *file = slash != NULL ? slash + 1 : binary->name;

	snprintf(symbolizer->unnamed_name, UNNAMED_NAME_BYTES, "%.255s%s", file, lines->lines[0].name);
	snprintf(symbolizer->unnamed_system_name, UNNAMED_NAME_BYTES, "%.255s%s", file,
			 lines->lines[0].system_name);
	symbolizer->unnamed = lines->lines[0];
	symbolizer->unnamed.name = symbolizer->unnamed_name;
	symbolizer->unnamed.system_name = symbolizer->unnamed_system_name;
	lines->lines = &symbolizer->unnamed;
}

int
binary_symbolize_within(Binary *binary, uint64_t address, const SymbolAsk *terms,
						SymbolLines *lines)
{
	int err = lookup_symbolize(&binary->symbolizer->lookup, binary, address, terms, lines);

	if (err == 0 && lines->count > 0 && !symbol_lines_are_named(lines))
		add_file_name(binary->symbolizer, binary, lines);
	return err;
}

int
binary_symbolize(Binary *binary, uint64_t address, SymbolLines *lines)
{
	int err = binary_symbolize_within(binary, address, &SYMBOL_ASK_PATIENT, lines);

	return err == -EAGAIN ? 0 : err;
}

void
binary_prepare(Binary *binary, const uint64_t *addresses, uint32_t count, const SymbolAsk *terms)
{
	lookup_prepare(&binary->symbolizer->lookup, binary, addresses, count, terms);
}

int
symbolizer_demangle(Symbolizer *symbolizer, const char *name, const SymbolAsk *terms,
					SymbolLines *lines)
{
	return lookup_demangle(&symbolizer->lookup, name, terms, lines);
}

int64_t
symbolizer_used(const Symbolizer *symbolizer, uint64_t owners)
{
	return worker_client_used(symbolizer->lookup.worker, owners);
}

bool
kernel_symbolize(Symbolizer *symbolizer, uint64_t address, const char **name, const char **module,
				 uint64_t *start)
{
	KernelSymbol symbol;

	if (!kallsyms_find(symbolizer->kallsyms, address, &symbol))
		return false;
	*name = symbol.name;
	*module = symbol.module;
	*start = symbol.start;
	return true;
}

void
kernel_symbols_outdate(Symbolizer *symbolizer)
{
	kallsyms_outdate(symbolizer->kallsyms);
}

void
kernel_symbols_follow_modules(Symbolizer *symbolizer)
{
	kallsyms_follow_modules(symbolizer->kallsyms);
}

bool
kallsyms_readable(Symbolizer *symbolizer)
{
	return kallsyms_has_addresses(symbolizer->kallsyms);
}
