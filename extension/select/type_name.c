/*
 * type_name.c
 *		Finds profile types by their first parts.
 */
#include "select/type_name.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/varlena.h"

#include "select/text_plan.h"

#define FULL_NAME_PARTS 5

/* Most types that the error for an ambiguous name lists. */
#define LISTED_TYPES 10

/*
 * Longer names are not compared by spelling, because the time grows with the square of their
 * lengths.
 */
#define LONGEST_COMPARED_BYTES 255

/* Lists the profile types that begin with these parts and have series visible to the caller. */
static const char TYPES_QUERY[] =
	"SELECT DISTINCT n.profile_type COLLATE pg_catalog.\"C\" "
	"FROM profstore.profile_types AS t CROSS JOIN LATERAL (SELECT pg_catalog.concat_ws(':', "
	"    t.name, t.sample_type, t.sample_unit, t.period_type, t.period_unit, "
	"    CASE WHEN t.delta THEN 'delta' END)) AS n(profile_type) "
	"WHERE pg_catalog.starts_with(n.profile_type, $1 OPERATOR(pg_catalog.||) ':') "
	"    AND EXISTS (SELECT FROM profstore.series AS s "
	"                WHERE s.profile_type OPERATOR(pg_catalog.=) t.id) "
	"ORDER BY 1";

PG_FUNCTION_INFO_V1(profstore_full_profile_type);

static int
part_count(const char *name)
{
	int count = 1;

	for (; *name != '\0'; name++)
		count += *name == ':';
	return count;
}

static char *
result_text(uint64 row)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1);
}

pg_noreturn static void
refuse_ambiguous(const char *name)
{
	StringInfoData list;

	initStringInfo(&list);
	for (uint64 i = 0; i < SPI_processed && i < LISTED_TYPES; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", result_text(i));
	if (SPI_processed > LISTED_TYPES)
		appendStringInfoString(&list, ", ...");
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("several profile types begin with \"%s\"", name),
					errdetail_internal("%s", list.data),
					errhint("Add more components until the profile type is unambiguous.")));
}

const char *
pfs_type_name_find(const char *name)
{
	static SPIPlanPtr plan = NULL;
	MemoryContext caller = CurrentMemoryContext;
	const char *full = name;

	if (part_count(name) >= FULL_NAME_PARTS)
		return name;
	SPI_connect();
	pfs_text_plan_run(&plan, TYPES_QUERY, CStringGetTextDatum(name));
	if (SPI_processed > 1)
		refuse_ambiguous(name);
	if (SPI_processed == 1)
		full = MemoryContextStrdup(caller, result_text(0));
	SPI_finish();
	return full;
}

/* Cuts a full name to its first count parts. */
static void
cut_to_parts(char *name, int count)
{
	for (; *name != '\0'; name++)
	{
		if (*name == ':' && --count == 0)
			*name = '\0';
	}
}

const char *
pfs_type_name_similar(const char *name)
{
	MemoryContext caller = CurrentMemoryContext;
	int length = (int) strlen(name);
	int least = length / 3 + 1;
	const char *similar = NULL;

	SPI_connect();
	if (SPI_execute("SELECT profile_type FROM profstore.profile_types()", true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list the profile types");
	for (uint64 i = 0; i < SPI_processed && length <= LONGEST_COMPARED_BYTES; i++)
	{
		char *type = result_text(i);
		int type_length;
		int distance;

		if (part_count(name) < FULL_NAME_PARTS)
			cut_to_parts(type, part_count(name));
		type_length = (int) strlen(type);
		if (type_length > LONGEST_COMPARED_BYTES)
			continue;
		distance =
			varstr_levenshtein_less_equal(name, length, type, type_length, 1, 1, 1, least, true);
		if (distance < least)
		{
			least = distance;
			similar = MemoryContextStrdup(caller, type);
		}
	}
	SPI_finish();
	return similar;
}

/* full_profile_type(name) */
PGDLLEXPORT Datum
profstore_full_profile_type(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(pfs_type_name_find(text_to_cstring(PG_GETARG_TEXT_PP(0)))));
}
