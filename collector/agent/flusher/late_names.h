/*
 * late_names.h
 *		Addresses that were stored without names, to be named as soon as the symbolizer answers.
 *
 * An interval waits for symbols for a bounded time; then its frames are stored by binary and
 * address. This list keeps the addresses without names, and asks for them between two flushes. The
 * answer goes to the database as a location without a sample, which replaces the location that had
 * only an address, so that stored stacks get their names. The list is bounded, as is each owner's
 * part of it (worker_accounts.h); addresses that are given up are counted. Flusher thread.
 */
#ifndef COLLECTOR_LATE_NAMES_H
#define COLLECTOR_LATE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"
#include "process/mapped_file.h"
#include "symbols/symbolizer.h"

#define LATE_NAMES_MAX		 16384 /* limit of addresses */
#define LATE_NAMES_OWNER_MAX 2048  /* limit of addresses in files of one owner */

typedef struct LateNames LateNames;

/*
 * Creates an empty list. files must outlive the list, which holds references to its files. Returns
 * 0 or -ENOMEM.
 */
int late_names_create(MappedFileTable *files, LateNames **late);
void late_names_free(LateNames *late); /* accepts NULL */

/*
 * Adds an offset in a file unless the list contains it, and takes a reference to the file. If the
 * list is full, counts the address as dropped.
 */
void late_names_add(LateNames *late, MappedFile *file, uint64_t offset, uint64_t owners);

/*
 * Asks for names until the deadline (CLOCK_MONOTONIC), beginning with the owners who have used the
 * least symbolization time, and adds the answers to the batch. round: see symbol_ask.h. Returns the
 * number of addresses that were answered. Addresses that have been owed for ten minutes are given
 * up.
 */
size_t late_names_resolve(LateNames *late, Symbolizer *symbolizer, uint32_t round,
						  int64_t deadline_ns, Batch *batch);

size_t late_names_count(const LateNames *late);
uint64_t late_names_dropped(const LateNames *late);

#endif
