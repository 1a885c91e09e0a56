/*
 * attempt.c
 *		Subtransactions whose errors become warnings.
 */
#include "base/attempt.h"

#include "access/xact.h"
#include "utils/resowner.h"

bool
pfs_attempt(void (*work)(void *arg), void *arg, const char *what)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(arg);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		done = true;
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(error);
		ereport(WARNING, (errcode(error->sqlerrcode), errmsg("%s: %s", what, error->message),
						  error->hint == NULL ? 0 : errhint("%s", error->hint)));
		FreeErrorData(error);
	}
	PG_END_TRY();
	return done;
}
