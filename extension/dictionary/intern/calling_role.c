/*
 * calling_role.c
 *		The role that owns the rows of a writer.
 *
 * It is stored by name, because dumps contain names and not OIDs.
 */
#include "profstore.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "dictionary/intern/calling_role.h"

PG_FUNCTION_INFO_V1(profstore_calling_role);

/*
 * Finds the calling role. ANALYZE, REINDEX, REFRESH and similar commands run code of a table's
 * owner as the owner, on behalf of another role or of autovacuum, which is not the caller. Below a
 * SECURITY DEFINER function other than ours the caller is unknown.
 */
Oid
pfs_calling_role_id(void)
{
	Oid user;
	int context;

	GetUserIdAndSecContext(&user, &context);
	if ((context & SECURITY_RESTRICTED_OPERATION) == 0)
		return GetOuterUserId();
	if ((context & SECURITY_LOCAL_USERID_CHANGE) != 0)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("cannot determine the calling role within a security-restricted "
							   "operation"),
						errhint("Do not store profiles in expressions of indexes or materialized "
								"views.")));
	return user;
}

char *
pfs_calling_role(void)
{
	return GetUserNameFromId(pfs_calling_role_id(), false);
}

/* calling_role() -> text */
PGDLLEXPORT Datum
profstore_calling_role(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(pfs_calling_role()));
}
