/*
 * verify_table.h
 *		Reads every byte of a table's segments and reports damage.
 */
#ifndef PFS_VERIFY_TABLE_H
#define PFS_VERIFY_TABLE_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * Receives a problem. segment_no is 0 for the table as a whole; stream is -1 for header and
 * directory row.
 */
typedef void (*PfsReportProblem)(void *arg, int64 segment_no, int stream, const char *problem);

/*
 * An additional check of a segment's series and stacks. begin() starts a new segment, take()
 * receives the keys of a block of rows, and tell() returns the problem of the segment, or NULL.
 * Each may raise errors.
 */
typedef struct PfsKeyCheck
{
	void *arg;
	void (*begin)(void *arg);
	void (*take)(void *arg, const int64 *series, const int64 *stacks, uint32 count);
	const char *(*tell)(void *arg);
} PfsKeyCheck;

/*
 * Checks every segment that the snapshot sees: checksums, encoding, least and greatest values of
 * blocks, header and directory, numbers of rows and bytes, the order of rows. Then checks that all
 * segments are present, each once, and that roll-ups match them. Damage is reported, at most one
 * problem per stream; other errors (a cancel, out of memory) are raised. The snapshot is active and
 * the caller holds AccessShareLock. Segments are read in subtransactions, so not in parallel mode.
 * keys may be NULL.
 */
void pfs_verify_table(Relation relation, Snapshot snapshot, const PfsKeyCheck *keys,
					  PfsReportProblem report, void *arg);

/*
 * Does the part of pfs_verify_table() that finds missing and duplicate segments: compares them with
 * the ledger, which counts rows as they are stored, and finds streams in the TOAST relation that no
 * segment names.
 */
void pfs_verify_directory(Relation relation, Snapshot snapshot, PfsReportProblem report, void *arg);

#endif
