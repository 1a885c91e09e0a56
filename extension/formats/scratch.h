/*
 * scratch.h
 *		Small pieces of memory that go all at once, charged to a budget. Knows no server header.
 */
#ifndef PFS_SCRATCH_H
#define PFS_SCRATCH_H

#include "formats/profile.h"

/* Aligned for 8 bytes; NULL where memory or budget are out. */
void *pfs_scratch_alloc(PfsScratch *scratch, PfsBudget *budget, size_t bytes);

/* Gives all of it back, and its charge; the scratch is then empty. */
void pfs_scratch_free(PfsScratch *scratch, PfsBudget *budget);

#endif
