/*
 * text_plan.c
 *		Runs statements with one text parameter, which are planned once per session.
 */
#include "select/text_plan.h"

#include "catalog/pg_type.h"

void
pfs_text_plan_run(SPIPlanPtr *plan, const char *query, Datum text)
{
	if (*plan == NULL)
	{
		Oid type = TEXTOID;
		SPIPlanPtr prepared = SPI_prepare(query, 1, &type);

		if (prepared == NULL || SPI_keepplan(prepared) != 0)
			elog(ERROR, "could not prepare \"%s\": %s", query, SPI_result_code_string(SPI_result));
		*plan = prepared;
	}
	if (SPI_execute_plan(*plan, &text, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run \"%s\": %s", query, SPI_result_code_string(SPI_result));
}
