/*
 * compaction.h
 *		Merges the segments of one table, step by step.
 *
 * Merged rows keep their visibility: a snapshot from before the transaction sees the old segments,
 * a later one the new ones. Compaction waits for neither writers nor readers, and they do not wait
 * for it.
 */
#ifndef PFS_COMPACTION_H
#define PFS_COMPACTION_H

#include "profstore.h"

#include "utils/relcache.h"

typedef enum PfsCompactionStep
{
	PFS_COMPACTION_IDLE, /* nothing to do */
	/* nothing to do until VACUUM has processed the table's TOAST relation (relocation.h) */
	PFS_COMPACTION_AWAITS_VACUUM,
	PFS_COMPACTION_MERGED,	  /* one merge was done */
	PFS_COMPACTION_ROLLED_UP, /* nothing is left to merge; one roll-up was made */
	/* nothing is left to merge or roll up; segments were moved to the front */
	PFS_COMPACTION_MOVED,
	/* another transaction has changed a segment; all changes of the step were rolled back */
	PFS_COMPACTION_GIVEN_UP,
	PFS_COMPACTION_BLOCKED /* the directory's lock is not available; nothing was changed */
} PfsCompactionStep;

/*
 * Does the next step that the table needs, in a subtransaction. The caller holds
 * ShareUpdateExclusiveLock on the table, so that no other session compacts it, and its transaction
 * has no snapshot of its own: rows committed by now are merged, all others stay. open_inputs is the
 * number of segments that make a merge worthwhile in a bucket that still receives rows. max_inputs
 * limits the segments of one merge; *merged is set to their number. Memory is bounded by
 * maintenance_work_mem, approximately.
 */
PfsCompactionStep pfs_compaction_step(Relation relation, uint32 open_inputs, uint32 max_inputs,
									  uint32 *merged);

#endif
