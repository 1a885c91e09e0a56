/*
 * stack_visit.h
 *		Visits all frames of all stacks of a stream, one part after another.
 */
#ifndef PFS_STACK_VISIT_H
#define PFS_STACK_VISIT_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/frames/symbols.h"
#include "tree/stack_walk.h"

typedef struct PfsStackVisit PfsStackVisit;

/*
 * Begins a visit. symbols has the filters. The stream must outlive the visit, which lives in
 * CurrentMemoryContext.
 */
PfsStackVisit *pfs_stack_visit_begin(PfsStackStream *stream, PfsSymbols *symbols);

/*
 * Visits the stacks that pass, and returns the sum of their values. The visitor must allocate in a
 * context of its own. May be called again if the stream is kept.
 */
PfsWideSides pfs_stack_visit_all(PfsStackVisit *visit, const PfsFrameVisitor *visitor, void *state);

void pfs_stack_visit_end(PfsStackVisit *visit);

#endif
