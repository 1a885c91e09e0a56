/*
 * view_text.c
 *		From arguments to a line.
 */
#include "profstore.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "export/view_text.h"

char *
pfs_view_text(FunctionCallInfo fcinfo, int first_argument, const char *beginning)
{
	static const char *const names[] = { "focus", "ignore", "show", "hide" };
	StringInfoData view;

	initStringInfo(&view);
	appendStringInfoString(&view, beginning);
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		int argument = first_argument + i;
		char *value = PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));

		if (value != NULL && *value != '\0')
			appendStringInfo(&view, "%s%s %s", view.len > 0 ? ", " : "", names[i], value);
	}
	return view.data;
}

char *
pfs_share_text(FunctionCallInfo fcinfo, int first_argument, double kept, const PfsDropped *dropped,
			   const char *unit)
{
	double whole = kept + dropped->value;

	return psprintf("%s: %.2f %% of %.0f %s", pfs_view_text(fcinfo, first_argument, ""),
					whole == 0 ? 0 : 100 * kept / whole, whole, unit);
}
