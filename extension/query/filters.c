/*
 * filters.c
 *		Regular expressions on function names; evaluated once per name, by the symbol table.
 */
#include "query/filters.h"

#include "catalog/pg_collation.h"
#include "regex/regex.h"

static text *
get_expression(FunctionCallInfo fcinfo, int argument)
{
	text *expression;

	if (PG_ARGISNULL(argument))
		return NULL;
	expression = PG_GETARG_TEXT_P(argument);
	if (VARSIZE(expression) == VARHDRSZ)
		return NULL;
	/* raises now what is wrong with it, rather than at the first frame, which may never come */
	RE_compile_and_cache(expression, REG_ADVANCED, C_COLLATION_OID);
	return expression;
}

PfsFilters
pfs_filters_get(FunctionCallInfo fcinfo, int first_argument)
{
	PfsFilters filters;

	filters.focus = get_expression(fcinfo, first_argument);
	filters.ignore = get_expression(fcinfo, first_argument + 1);
	filters.show = get_expression(fcinfo, first_argument + 2);
	filters.hide = get_expression(fcinfo, first_argument + 3);
	return filters;
}

bool
pfs_filters_any(const PfsFilters *filters)
{
	return filters->focus || filters->ignore || filters->show || filters->hide;
}

static bool
matches(text *expression, const char *name)
{
	return RE_compile_and_execute(expression, unconstify(char *, name), (int) strlen(name),
								  REG_ADVANCED, C_COLLATION_OID, 0, NULL);
}

PfsVerdict
pfs_filters_judge(const PfsFilters *filters, const char *name)
{
	PfsVerdict verdict;

	verdict.focused = filters->focus == NULL || matches(filters->focus, name);
	verdict.ignored = filters->ignore != NULL && matches(filters->ignore, name);
	verdict.visible = (filters->hide == NULL || !matches(filters->hide, name)) &&
					  (filters->show == NULL || matches(filters->show, name));
	return verdict;
}
