/*
 * target_rows.h
 *		The table profstore.targets: a thread that stores what became of targets.
 *
 * It has a connection of its own, so that neither samples nor scrapes wait for it. While the
 * database is away rows wait with the targets, whose last state is all that is kept.
 */
#ifndef COLLECTOR_SCRAPE_TARGET_ROWS_H
#define COLLECTOR_SCRAPE_TARGET_ROWS_H

#include "database/wire.h"
#include "scrape/target.h"

#define TARGET_ROWS_MAX 10000 /* of one statement */

/* Rows by columns. Build: count, begin, add that often. */
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
 * 0 or -errno; starts the thread, which sets all rows of this scraper to unknown first. Both texts
 * are copied.
 */
int target_store_create(const char *conninfo, const char *scraper, TargetStore **store);

/* True where it waits for rows; *failed where the last ones were not stored. */
bool target_store_is_idle(TargetStore *store, bool *failed);

/* Stores rows, which are the store's then. It must be idle. */
void target_store_put(TargetStore *store, TargetRows *rows);

/*
 * Ends the thread, as soon as it has stored what it has and set all rows of this scraper to
 * unknown, or after deadline_ms. Accepts NULL.
 */
void target_store_free(TargetStore *store, int64_t deadline_ms);

#endif
