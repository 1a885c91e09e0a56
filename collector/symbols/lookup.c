/*
 * lookup.c
 *		What is asked of the worker, and what is kept of its answers.
 *
 * A binary that makes the worker fail is asked about without DWARF and without demangling, and
 * where that fails as well not at all, for ten minutes each. What is known of an address then is
 * good enough to show, and not to keep.
 */
#include "symbols/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define PAUSE_NS INT64_C(600000000000)

int
lookup_init(Lookup *lookup, size_t cache_bytes, const char *debug_directory, bool inlined_lines)
{
	int err = result_cache_create(cache_bytes, &lookup->results);

	if (err == 0)
		err = worker_client_create(&lookup->worker);
	if (err != 0)
		return err;
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

/* A file may be large, and one of a container: it is read where time is limited. */
static bool
has_checksum(void *worker, int fd, uint32_t checksum)
{
	return worker_client_checksum(worker, fd, checksum) == 0;
}

static void
look_for_debug_files(Lookup *lookup, Binary *binary)
{
	const DebugPlaces places = { binary->root_pid, binary->name, lookup->debug_directory,
								 has_checksum, lookup->worker };

	if (binary->debug_files_known)
		return;
	debug_files_open(&binary->debug_files, &binary->file, &places);
	binary->debug_files_known = true;
}

/* *whole: as much was asked as can be known. */
static int
ask_worker(Lookup *lookup, Binary *binary, uint64_t address, SymbolLines *lines, bool *whole)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	WorkerFiles files = {
		.binary = binary->file.source.fd,
		.debug = binary->debug_files.debug.source.fd,
		.alternative = binary->debug_files.alt_fd,
		.no_dwarf = !lookup->inlined_lines,
	};
	bool plain = binary->plain_until_ns > now_ns;
	/* the worker keeps it open under another number for questions without DWARF */
	uint64_t number = binary->number * 2;
	int err = 0;

	*whole = !plain;
	if (binary->pause_until_ns > now_ns)
		return -EAGAIN;
	if (!plain)
	{
		err = worker_client_lookup(lookup->worker, number, &files, address, lines);
		if (err != -EIO)
			return err;
		binary->plain_until_ns = now_ns + PAUSE_NS;
		*whole = false;
	}
	files.no_dwarf = true;
	files.raw_names = true;
	err = worker_client_lookup(lookup->worker, number + 1, &files, address, lines);
	if (err == -EIO)
		binary->pause_until_ns = now_ns + PAUSE_NS;
	return err;
}

int
lookup_symbolize(Lookup *lookup, Binary *binary, uint64_t address, SymbolLines *lines)
{
	SymbolLines found = { 0, NULL };
	bool whole;
	int err;

	if (result_cache_find(lookup->results, binary->number, address, lines))
		return 0;
	look_for_debug_files(lookup, binary);
	err = ask_worker(lookup, binary, address, &found, &whole);
	if (found.count > 0)
		lookup->resolved++;
	else
		lookup->unknown++;
	*lines = found;
	if (!whole || err == -EAGAIN || err == -EIO)
		return 0;
	return result_cache_add(lookup->results, binary->number, address, &found, lines);
}

void
lookup_shrink(Lookup *lookup)
{
	result_cache_shrink(lookup->results);
	worker_client_end(lookup->worker);
}
