/*
 * late_names.h
 *		Addresses that were stored without their names, until the symbolizer has answered.
 *
 * An interval waits for symbols for a bounded time, then its frames are stored by binary and
 * address. The addresses without names are kept here and asked for between two flushes. The answer
 * goes to the database as a location without a sample, which replaces the poorer location in place,
 * so that stored stacks get their names. The list is bounded, as is each owner's part of it
 * (worker_accounts.h), and addresses that are given up are counted. Flusher thread.
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

/* files must outlive the list, which holds files of it. Returns 0 or -ENOMEM. */
int late_names_create(MappedFileTable *files, LateNames **late);
void late_names_free(LateNames *late); /* accepts NULL */

/*
 * Adds an offset in a file unless the list contains it, and holds the file. If there is no room,
 * counts the address as without a name.
 */
void late_names_add(LateNames *late, MappedFile *file, uint64_t offset, uint64_t owners);

/*
 * Asks for names until the deadline (CLOCK_MONOTONIC), those of the owners who used the least time
 * first, and adds the answers to the batch. round: see symbol_ask.h. Returns the number of settled
 * addresses. Addresses that have been owed for ten minutes are given up.
 */
size_t late_names_resolve(LateNames *late, Symbolizer *symbolizer, uint32_t round,
						  int64_t deadline_ns, Batch *batch);

size_t late_names_count(const LateNames *late);
uint64_t late_names_dropped(const LateNames *late);

#endif
