/*
 * compaction.h
 *		Merging the segments of one table, step by step.
 *
 * Rows that are merged keep their visibility: a snapshot from before the transaction sees the old
 * segments, a later one the new. Writers and readers do not wait, nor are they waited for.
 */
#ifndef PFS_COMPACTION_H
#define PFS_COMPACTION_H

#include "profstore.h"

#include "utils/relcache.h"

typedef enum PfsCompactionStep
{
	PFS_COMPACTION_IDLE,		  /* nothing to do */
	PFS_COMPACTION_AWAITS_VACUUM, /* nothing to do but for VACUUM of the table (relocation.h) */
	PFS_COMPACTION_MERGED,		  /* one merge is done */
	PFS_COMPACTION_ROLLED_UP,	  /* no merge is left to do; one roll-up was made */
	PFS_COMPACTION_MOVED,		  /* nor a roll-up; segments were moved to the front */
	PFS_COMPACTION_GIVEN_UP,	  /* somebody else has changed a segment; no trace is left */
	PFS_COMPACTION_BLOCKED		  /* the directory's lock is not to be had; no trace is left */
} PfsCompactionStep;

/*
 * Does the next step that the table needs, in a subtransaction. The caller holds
 * ShareUpdateExclusiveLock on the table, so that nobody else compacts it, and is in no transaction
 * with a snapshot of its own: what is committed now is merged, and what is not stays. open_inputs:
 * so many segments make a merge worth while where rows still come in. max_inputs limits the
 * segments of one merge; *merged is set to how many it had. Memory is bounded by
 * maintenance_work_mem, near enough.
 */
PfsCompactionStep pfs_compaction_step(Relation relation, uint32 open_inputs, uint32 max_inputs,
									  uint32 *merged);

#endif
