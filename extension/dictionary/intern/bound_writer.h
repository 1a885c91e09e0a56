/*
 * bound_writer.h
 *		Writers with a selector: which ids they may use.
 *
 * Ids of functions, locations and stacks are shared by all roles, so a writer that passed a guessed
 * id could attach another role's names to its own samples. A bound writer may pass ids only that
 * interning has returned to it in this session, for content that it knew.
 */
#ifndef PFS_BOUND_WRITER_H
#define PFS_BOUND_WRITER_H

#include "profstore.h"

#include "executor/tuptable.h"
#include "utils/relcache.h"

typedef enum PfsProvenKind
{
	PFS_PROVEN_SERIES,
	PFS_PROVEN_FUNCTION,
	PFS_PROVEN_LOCATION,
	PFS_PROVEN_STACK,
	PFS_PROVEN_COUNT
} PfsProvenKind;

/*
 * Notes the ids that interning returns to the calling role. Does nothing unless the role is bound.
 * For series, raises INSUFFICIENT_PRIVILEGE if one does not match the role's selectors.
 */
void pfs_proven_add(PfsProvenKind kind, const int32 *ids, uint32 count);
void pfs_proven_add_stacks(const int64 *ids, uint32 count);

/*
 * Raises an error if the calling role is bound and one of the ids was not returned to it. The code
 * is OBJECT_NOT_IN_PREREQUISITE_STATE, as for an expired epoch, so that a collector interns again.
 */
void pfs_proven_require(PfsProvenKind kind, const int32 *ids, uint32 count);

/*
 * Checks the ids in rows that the current user inserts into a partition of samples, like
 * pfs_proven_require(). Other tables pass.
 */
void pfs_proven_require_rows(Relation relation, TupleTableSlot **rows, uint32 count);

#endif
