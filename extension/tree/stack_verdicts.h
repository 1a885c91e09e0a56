/*
 * stack_verdicts.h
 *		What the filters make of whole stacks.
 */
#ifndef PFS_STACK_VERDICTS_H
#define PFS_STACK_VERDICTS_H

#include "profstore.h"

#include "tree/stack_subset.h"
#include "tree/symbols.h"

/* The first that applies. */
typedef enum PfsStackVerdict
{
	PFS_STACK_PASSES,
	PFS_STACK_NOT_FOCUSED,
	PFS_STACK_IGNORED,
	PFS_STACK_WITHOUT_FRAMES /* since show and hide left none */
} PfsStackVerdict;

/* Judges each stack. In CurrentMemoryContext; NULL where there are no filters. */
PfsStackVerdict *pfs_stack_verdicts(const PfsStackSubset *subset, PfsSymbols *symbols);

/*
 * The same for who only asks whether a stack passes. Adds up what does not (pfs_symbols_dropped),
 * so each stack is asked for once.
 */
bool *pfs_stacks_passing(const PfsStackSubset *subset, PfsSymbols *symbols);

#endif
