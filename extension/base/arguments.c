/*
 * arguments.c
 *		Finds arguments by their names in pg_proc.
 */
#include "base/arguments.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

typedef struct ArgumentNames
{
	int count;
	char **names;
} ArgumentNames;

static const ArgumentNames *
argument_names_get(FmgrInfo *function)
{
	ArgumentNames *names;
	HeapTuple tuple;
	MemoryContext caller;
	Oid *types;
	char *modes;

	if (function->fn_extra != NULL)
		return function->fn_extra;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function->fn_oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function->fn_oid);
	caller = MemoryContextSwitchTo(function->fn_mcxt);
	names = palloc0(sizeof(ArgumentNames));
	names->count = get_func_arg_info(tuple, &types, &names->names, &modes);
	if (names->names == NULL)
		names->count = 0;
	MemoryContextSwitchTo(caller);
	ReleaseSysCache(tuple);
	function->fn_extra = names;
	return names;
}

const Datum *
pfs_argument(FunctionCallInfo fcinfo, const char *name)
{
	const ArgumentNames *names = argument_names_get(fcinfo->flinfo);

	for (int i = 0; i < Min(names->count, PG_NARGS()); i++)
	{
		if (strcmp(names->names[i], name) == 0)
			return PG_ARGISNULL(i) ? NULL : &fcinfo->args[i].value;
	}
	return NULL;
}

Datum
pfs_argument_require(FunctionCallInfo fcinfo, const char *name, const char *hint)
{
	const Datum *value = pfs_argument(fcinfo, name);

	if (value == NULL)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("argument %s must not be null", name),
						hint != NULL ? errhint("%s", hint) : 0));
	return *value;
}

char *
pfs_argument_text(FunctionCallInfo fcinfo, const char *name)
{
	const Datum *value = pfs_argument(fcinfo, name);

	return value == NULL ? NULL : TextDatumGetCString(*value);
}

bool
pfs_argument_is_true(FunctionCallInfo fcinfo, const char *name)
{
	const Datum *value = pfs_argument(fcinfo, name);

	return value != NULL && DatumGetBool(*value);
}
