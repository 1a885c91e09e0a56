/*
 * stack_visit.h
 *		Visits of all frames of all stacks of a stream, part after part.
 */
#ifndef PFS_STACK_VISIT_H
#define PFS_STACK_VISIT_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/stack_walk.h"
#include "tree/symbols.h"

typedef struct PfsStackVisit PfsStackVisit;

/*
 * symbols has the filters. The stream must outlive the visit, which lives in CurrentMemoryContext.
 */
PfsStackVisit *pfs_stack_visit_begin(PfsStackStream *stream, PfsSymbols *symbols);

/*
 * Visits the stacks that pass, and returns the sum of their values; what the visitor allocates has
 * to be in a context of its own. May be called again where the stream is kept.
 */
PfsWideSides pfs_stack_visit_all(PfsStackVisit *visit, const PfsFrameVisitor *visitor, void *state);

void pfs_stack_visit_end(PfsStackVisit *visit);

#endif
