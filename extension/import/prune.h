/*
 * prune.h
 *		Frames that a file of pprof says are of no interest.
 */
#ifndef PFS_PRUNE_H
#define PFS_PRUNE_H

#include "profstore.h"

#include "import/import_request.h"

/*
 * Cuts off stacks what drop_frames of the profile matches, and all that it calls, unless
 * keep_frames matches: regular expressions on whole names of functions, without their arguments.
 * As in pprof, a stack keeps what precedes its first frame that does not match. Raises
 * INVALID_REGULAR_EXPRESSION. Does nothing for a profile without drop_frames.
 */
void pfs_profile_prune(const PfsImport *import, PfsProfile *profile);

#endif
