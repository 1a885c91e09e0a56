/*
 * bounded_waits.c
 *		Sets lock_timeout for the duration of a function.
 */
#include "admin/bounded_waits.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "base/attempt.h"

#define LONGEST_WAIT_MS 10000

/* Duration of one attempt to take a lock, and of the pause between two attempts. */
#define ATTEMPT	 "200ms"
#define PAUSE_MS 300

int
pfs_bounded_waits_begin(void)
{
	int level = NewGUCNestLevel();

	/* A shorter lock_timeout of the caller stays in force. */
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

typedef struct LockRequest
{
	Oid relation_id;
	LOCKMODE mode;
} LockRequest;

static bool
lock_request_wait(void *arg)
{
	const LockRequest *request = arg;
	int level = NewGUCNestLevel();

	(void) set_config_option("lock_timeout", ATTEMPT, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	LockRelationOid(request->relation_id, request->mode);
	AtEOXact_GUC(true, level);
	return true;
}

/*
 * Requests the lock for the duration of one attempt. If it does not become available, withdraws the
 * request and returns false.
 */
static bool
try_for_a_moment(Oid relation_id, LOCKMODE mode)
{
	LockRequest request = { relation_id, mode };
	ErrorData *error = pfs_subtransaction(lock_request_wait, &request);

	if (error == NULL)
		return true;
	/* Only after a timeout may another attempt succeed. */
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

void
pfs_lock_in_turns(Oid relation_id, LOCKMODE mode, int64 *waited_us)
{
	int longest_ms = LockTimeout > 0 ? LockTimeout : LONGEST_WAIT_MS;
	TimestampTz begin = GetCurrentTimestamp();
	char *name = get_rel_name(relation_id);

	while (!try_for_a_moment(relation_id, mode))
	{
		CHECK_FOR_INTERRUPTS();
		if (*waited_us + GetCurrentTimestamp() - begin > longest_ms * INT64CONST(1000))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not lock table \"%s\" within %d ms", name == NULL ? "" : name,
							longest_ms),
					 errdetail("Transactions that have read or changed it are still running."),
					 errhint("Try again later, or set lock_timeout to wait longer.")));
		/* Sessions that queued behind the request get their locks during the pause. */
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, PAUSE_MS,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	*waited_us += GetCurrentTimestamp() - begin;
}
