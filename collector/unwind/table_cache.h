/*
 * table_cache.h
 *		Unwind tables on disk, so that a restart does not compile them again.
 *
 * The directory contains one file for each build ID, BUILDID.unwind; other files in it are not
 * touched. Files are written under a temporary name and renamed, so they are always complete. Above
 * the size limit the least recently used files are removed. An invalid file (see table_file.h)
 * counts as absent, and is replaced by the next store. Not thread-safe.
 */
#ifndef COLLECTOR_TABLE_CACHE_H
#define COLLECTOR_TABLE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table_file.h"

typedef struct TableCache TableCache;

/*
 * Opens the directory, and creates it if its parent exists. Returns 0; -EPERM if other users may
 * write into it; another -errno if it is not available.
 */
int table_cache_open(const char *directory, size_t limit_bytes, TableCache **cache);
void table_cache_close(TableCache *cache); /* accepts NULL */

/*
 * Loads the table of an input. Returns like table_file_read(): 0 with a table, which the caller
 * frees; -ENOENT, -EBADMSG or another -errno if the cache has no table for this input.
 */
int table_cache_load(TableCache *cache, const char *build_id, const CfiInput *input,
					 const PackedParts *parts, RuleSet *rules, PackedTable *packed, CfiStats *stats,
					 TableFileIndex *index);

/*
 * Loads parts of a table that was loaded or stored before. Returns like table_file_read_parts();
 * -errno if the table's file was removed.
 */
int table_cache_load_parts(TableCache *cache, const char *build_id, const TableFileIndex *index,
						   PackedTable *packed);

/*
 * Stores a complete table that has at least one line. Returns 0, with an index that the caller
 * frees; or -errno, with the cache unchanged.
 */
int table_cache_store(TableCache *cache, const char *build_id, const CfiInput *input,
					  const RuleSet *rules, const PackedTable *packed, const CfiStats *stats,
					  TableFileIndex *index);

#endif
