/*
 * table_cache.h
 *		Unwind tables on disk, so that a restart does not compile them again.
 *
 * A directory with one file for each build ID, BUILDID.unwind; other files in it are left alone.
 * Files are written under another name and renamed, so one is there wholly or not at all. Over the
 * size limit those not used for longest go. A file that cannot be believed (see table_file.h)
 * counts as absent, and the next store takes its place. Not thread-safe.
 */
#ifndef COLLECTOR_TABLE_CACHE_H
#define COLLECTOR_TABLE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table_file.h"

typedef struct TableCache TableCache;

/*
 * The directory is made where only it is missing. 0; -EPERM where others than we may write into it;
 * another -errno where it cannot be had.
 */
int table_cache_open(const char *directory, size_t limit_bytes, TableCache **cache);
void table_cache_close(TableCache *cache); /* accepts NULL */

/*
 * As table_file_read(): 0 with a table, to be freed; -ENOENT, -EBADMSG or another -errno if there
 * is none for this input.
 */
int table_cache_load(TableCache *cache, const char *build_id, const CfiInput *input,
					 const PackedParts *parts, RuleSet *rules, PackedTable *packed, CfiStats *stats,
					 TableFileIndex *index);

/*
 * As table_file_read_parts(), of a table that was loaded or stored: -errno if its file is no longer
 * there.
 */
int table_cache_load_parts(TableCache *cache, const char *build_id, const TableFileIndex *index,
						   PackedTable *packed);

/*
 * Keeps a whole table with at least one line. 0, with an index to be freed, or -errno; on failure
 * the cache is as it was.
 */
int table_cache_store(TableCache *cache, const char *build_id, const CfiInput *input,
					  const RuleSet *rules, const PackedTable *packed, const CfiStats *stats,
					  TableFileIndex *index);

#endif
