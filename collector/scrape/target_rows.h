/*
 * target_rows.h
 *		Stores the states of targets in the table profstore.targets, on a thread of its own.
 *
 * The thread has a connection of its own, so that neither samples nor scrapes wait for it. While
 * the database is not available, states stay with their targets, and only the last state of each
 * is kept.
 */
#ifndef COLLECTOR_SCRAPE_TARGET_ROWS_H
#define COLLECTOR_SCRAPE_TARGET_ROWS_H

#include "database/wire.h"
#include "scrape/scrape_target.h"

#define TARGET_ROWS_MAX 10000 /* rows in one statement */

/*
 * Rows in columns. Call target_rows_begin() with the count, and then target_rows_add() exactly that
 * often.
 */
typedef struct TargetRows
{
	size_t count;
	Buffer names;
	Buffer labels;
	Buffer healths;
	Buffer errors;
	Buffer times;
	Buffer durations;
	Buffer samples;
	Buffer skipped;
} TargetRows;

void target_rows_begin(TargetRows *rows, size_t count);
void target_rows_add(TargetRows *rows, const ScrapeTarget *target);
void target_rows_fini(TargetRows *rows);

typedef struct TargetStore TargetStore;

/*
 * Starts the thread, which first sets all rows of this scraper to unknown. Both strings are copied.
 * 0 or -errno.
 */
int target_store_create(const char *conninfo, const char *scraper, TargetStore **store);

/* Returns true if the store is idle. *failed means that the last rows were not stored. */
bool target_store_is_idle(TargetStore *store, bool *failed);

/* Stores rows, which the store owns from then on. The store must be idle. */
void target_store_put(TargetStore *store, TargetRows *rows);

/*
 * Ends the thread after it has stored its rows and set the rows of this scraper to stopped, or
 * after deadline_ms. Accepts NULL.
 */
void target_store_free(TargetStore *store, int64_t deadline_ms);

#endif
