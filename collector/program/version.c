/*
 * version.c
 *		Version and commit, which the Makefile defines.
 */
#include "program/version.h"

#include "program/commit.h"

const char *
collector_version(void)
{
	return COLLECTOR_VERSION;
}

const char *
collector_build(void)
{
	if (sizeof(COLLECTOR_COMMIT) == 1)
		return COLLECTOR_VERSION;
	return COLLECTOR_VERSION " (commit " COLLECTOR_COMMIT ")";
}
