/*
 * late_names.h
 *		Addresses that were stored without their names, until the symbolizer has answered.
 *
 * An interval does not wait for symbols beyond a bound: its frames go out by binary and address.
 * What is owed is kept here and asked for between two flushes. The answer goes to the database as a
 * location without a sample, where it replaces the poorer one in place, so the stacks that are
 * stored get their names. The list is bounded, as is each owner's part of it (worker_accounts.h),
 * and what is given up is counted. Flusher thread.
 */
#ifndef COLLECTOR_LATE_NAMES_H
#define COLLECTOR_LATE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"
#include "process/mapped_file.h"
#include "symbols/symbolizer.h"

#define LATE_NAMES_MAX		 16384 /* addresses */
#define LATE_NAMES_OWNER_MAX 2048  /* of files of one owner */

typedef struct LateNames LateNames;

/* Holds files of the table. 0 or -ENOMEM. */
int late_names_create(MappedFileTable *files, LateNames **late);
void late_names_free(LateNames *late); /* accepts NULL */

/* Adds an offset in a file, once, and holds the file. Counts it as given up if there is no room. */
void late_names_add(LateNames *late, MappedFile *file, uint64_t offset, uint64_t owners);

/*
 * Asks for names until the deadline (CLOCK_MONOTONIC), those of owners who used least first, and
 * adds those that are known to the batch; round is that of symbol_ask.h. Returns the number of
 * addresses that are settled. What is owed for ten minutes is given up.
 */
size_t late_names_resolve(LateNames *late, Symbolizer *symbolizer, uint32_t round,
						  int64_t deadline_ns, Batch *batch);

size_t late_names_count(const LateNames *late);
uint64_t late_names_dropped(const LateNames *late);

#endif
