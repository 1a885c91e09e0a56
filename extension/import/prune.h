/*
 * prune.h
 *		Removes frames that a pprof file marks as uninteresting.
 */
#ifndef PFS_PRUNE_H
#define PFS_PRUNE_H

#include "profstore.h"

#include "import/import_request.h"

/*
 * Cuts off stacks each frame that matches drop_frames of the profile, and all that it calls, unless
 * it matches keep_frames: regular expressions on whole names of functions, without their arguments.
 * As in pprof, a stack keeps the frames before its first one that does not match. Raises
 * INVALID_REGULAR_EXPRESSION. Does nothing for a profile without drop_frames.
 */
void pfs_profile_prune(const PfsImport *import, PfsProfile *profile);

#endif
