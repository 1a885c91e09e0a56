/*
 * verify.h
 *		Reading a table's segments to the last byte, and telling what does not fit.
 */
#ifndef PFS_VERIFY_H
#define PFS_VERIFY_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * segment_no is 0 where the table as a whole is damaged; stream is -1 for header and directory row.
 */
typedef void (*PfsReportProblem)(void *arg, int64 segment_no, int stream, const char *problem);

/*
 * What else is to be known of the series and stacks of a segment's rows: begin forgets those of
 * another one, take sees a block, tell says what is wrong with all of them (NULL: nothing). Each
 * may raise errors.
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
 * blocks, header and directory, numbers of rows and bytes, the order of rows; then whether all
 * segments are there, each once, and roll-ups against them. Damage is reported, at most one problem
 * for a stream, and raised is only what is none (a cancel, no memory). The snapshot is active and
 * the caller holds AccessShareLock. Segments are read in subtransactions, so not in parallel mode.
 * keys: NULL where there is nothing else to be known.
 */
void pfs_verify_table(Relation relation, Snapshot snapshot, const PfsKeyCheck *keys,
					  PfsReportProblem report, void *arg);

/*
 * The part of it that asks whether segments are missing or stand for rows twice. Rows are counted
 * in the ledger as they are stored, large segments leave their streams behind.
 */
void pfs_verify_directory(Relation relation, Snapshot snapshot, PfsReportProblem report, void *arg);

#endif
