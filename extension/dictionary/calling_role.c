/*
 * calling_role.c
 *		The role that a writer's rows belong to.
 *
 * It is kept by its name: that is what a dump has.
 */
#include "dictionary/calling_role.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(profstore_calling_role);

char *
pfs_calling_role(void)
{
	return GetUserNameFromId(GetOuterUserId(), false);
}

/* calling_role() -> text */
PGDLLEXPORT Datum
profstore_calling_role(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(pfs_calling_role()));
}
