/*
 * bounded_waits.c
 *		lock_timeout for a function's own time.
 */
#include "admin/bounded_waits.h"

#include "storage/proc.h"
#include "utils/guc.h"

#define LONGEST_WAIT_MS 10000

int
pfs_bounded_waits_begin(void)
{
	int level = NewGUCNestLevel();

	if (LockTimeout == 0 || LockTimeout > LONGEST_WAIT_MS)
		(void) set_config_option("lock_timeout", PFS_LONGEST_WAIT, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

void
pfs_bounded_waits_end(int level)
{
	AtEOXact_GUC(true, level);
}
