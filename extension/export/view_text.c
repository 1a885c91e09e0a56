/*
 * view_text.c
 *		Describes the arguments of a view in one line.
 */
#include "profstore.h"

#include "lib/stringinfo.h"

#include "base/arguments.h"
#include "export/view_text.h"

char *
pfs_view_text(FunctionCallInfo fcinfo, const char *beginning)
{
	StringInfoData view;

	initStringInfo(&view);
	appendStringInfoString(&view, beginning);
	for (int i = 0; i < PFS_FILTER_COUNT; i++)
	{
		const char *name = PFS_FILTER_NAMES[i];
		const char *value = pfs_argument_text(fcinfo, name);

		if (value != NULL && *value != '\0')
			appendStringInfo(&view, "%s%s %s", view.len > 0 ? ", " : "", name, value);
	}
	return view.data;
}

char *
pfs_share_text(FunctionCallInfo fcinfo, double kept, const PfsDropped *dropped, const char *unit)
{
	double whole = kept + dropped->value;

	return psprintf("%s: %.2f %% of %.0f %s", pfs_view_text(fcinfo, ""),
					whole == 0 ? 0 : 100 * kept / whole, whole, unit);
}
