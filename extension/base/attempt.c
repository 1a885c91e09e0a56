/*
 * attempt.c
 *		Calls functions in subtransactions.
 */
#include "base/attempt.h"

#include "access/xact.h"
#include "utils/resowner.h"

ErrorData *
pfs_subtransaction(bool (*work)(void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		if (work(arg))
			ReleaseCurrentSubTransaction();
		else
			RollbackAndReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}

ErrorData *
pfs_subtransaction_or_cancel(bool (*work)(void *arg), void *arg)
{
	ErrorData *error = pfs_subtransaction(work, arg);

	if (error != NULL && error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		ReThrowError(error);
	return error;
}

typedef struct Attempt
{
	void (*work)(void *arg);
	void *arg;
} Attempt;

static bool
attempt_work(void *arg)
{
	const Attempt *attempt = arg;

	attempt->work(attempt->arg);
	return true;
}

bool
pfs_attempt(void (*work)(void *arg), void *arg, const char *what)
{
	Attempt attempt = { work, arg };
	ErrorData *error = pfs_subtransaction_or_cancel(attempt_work, &attempt);

	if (error == NULL)
		return true;
	ereport(WARNING, (errcode(error->sqlerrcode), errmsg("%s: %s", what, error->message),
					  error->hint == NULL ? 0 : errhint("%s", error->hint)));
	FreeErrorData(error);
	return false;
}
