/*
 * memory_peak.c
 *		Calls the tests' module.
 */
#include "base/memory_peak.h"

#include "fmgr.h"

void
pfs_memory_look(void)
{
	static PfsMemoryLook *look = NULL;

	if (look == NULL)
		look = (PfsMemoryLook *) find_rendezvous_variable(PFS_MEMORY_LOOK);
	if (*look != NULL)
		(*look)();
}
