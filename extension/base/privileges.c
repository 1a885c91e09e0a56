/*
 * privileges.c
 *		Checks privileges; errors say who can grant the missing one.
 */
#include "base/privileges.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "base/relations.h"

/*
 * Returns true if row policies restrict the current user to some series, and the user may read the
 * samples of these series through the view selected_samples.
 */
static bool
reads_selected_series(void)
{
	Oid view = pfs_relation_find("selected_samples");
	Oid series = pfs_relation_find("series");

	return OidIsValid(view) && OidIsValid(series) &&
		   pg_class_aclcheck(view, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		   check_enable_rls(series, InvalidOid, true) == RLS_ENABLED;
}

void
pfs_require_privilege(Oid relid, AclMode mode)
{
	AclResult result = pg_class_aclcheck(relid, GetUserId(), mode);
	const char *role;

	if (result == ACLCHECK_OK)
		return;
	if (mode == ACL_SELECT && reads_selected_series())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for table %s", get_rel_name(relid)),
				 errdetail("The role can read only rows of the series that match its selector.")));
	role = quote_literal_cstr(quote_identifier(GetUserNameFromId(GetUserId(), false)));
	ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					errmsg("permission denied for table %s", get_rel_name(relid)),
					errhint("The owner of the extension can grant it: SELECT profstore.%s(%s).",
							mode == ACL_SELECT ? "grant_read" : "grant_write", role)));
}

void
pfs_require_all_rows(Oid relid, AclMode mode)
{
	pfs_require_privilege(relid, mode);
	pfs_refuse_row_security(relid);
}

void
pfs_require_rows_of_series(Oid relid)
{
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK && reads_selected_series())
		pfs_refuse_row_security(relid);
	else
		pfs_require_all_rows(relid, ACL_SELECT);
}

void
pfs_refuse_row_security(Oid relid)
{
	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security on table \"%s\" is not supported", get_rel_name(relid)),
				 errhint(
					 "Put policies on profstore.series: they decide which samples a role sees.")));
}

void
pfs_require_execute(Oid function_id)
{
	AclResult result = pfs_proc_executable(function_id);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function_id));
	InvokeFunctionExecuteHook(function_id);
}

PfsCaller
pfs_become_owner(void)
{
	Oid schema_id = get_namespace_oid("profstore_internal", false);
	HeapTuple schema = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema_id));
	PfsCaller caller;

	if (!HeapTupleIsValid(schema))
		elog(ERROR, "cache lookup failed for schema %u", schema_id);
	GetUserIdAndSecContext(&caller.user, &caller.context);
	SetUserIdAndSecContext(((Form_pg_namespace) GETSTRUCT(schema))->nspowner,
						   caller.context | SECURITY_LOCAL_USERID_CHANGE);
	ReleaseSysCache(schema);
	return caller;
}

void
pfs_become_caller(PfsCaller caller)
{
	SetUserIdAndSecContext(caller.user, caller.context);
}
