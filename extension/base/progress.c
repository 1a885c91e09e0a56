/*
 * progress.c
 *		Reporting through the server's own progress facility.
 */
#include "base/progress.h"

#include "utils/backend_progress.h"
#include "utils/backend_status.h"

static bool
is_ours(void)
{
	return MyBEEntry != NULL && (int) MyBEEntry->st_progress_command == PFS_PROGRESS_COMMAND;
}

void
pfs_progress_begin(Oid relation_id)
{
	if (MyBEEntry == NULL || MyBEEntry->st_progress_command != PROGRESS_COMMAND_INVALID)
		return;
	pgstat_progress_start_command((ProgressCommandType) PFS_PROGRESS_COMMAND, relation_id);
	pfs_progress_set(PFS_PROGRESS_TIME_MIN, PG_INT64_MIN);
	pfs_progress_set(PFS_PROGRESS_TIME_MAX, PG_INT64_MIN);
}

void
pfs_progress_set(PfsProgressParam param, int64 value)
{
	if (is_ours())
		pgstat_progress_update_param(param, value);
}

void
pfs_progress_add(PfsProgressParam param, int64 value)
{
	if (is_ours())
		pgstat_progress_update_param(param, MyBEEntry->st_progress_param[param] + value);
}

void
pfs_progress_end(void)
{
	if (is_ours())
		pgstat_progress_end_command();
}
