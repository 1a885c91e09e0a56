/*
 * selection.c
 *		Finds the series of a selector and a range.
 */
#include "select/selection.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "base/privileges.h"
#include "base/relations.h"
#include "base/version.h"
#include "select/text_plan.h"
#include "select/type_name.h"

/* Columns of the statement below. */
enum
{
	SERIES_ID = 1,
	SERIES_UNIT,
	SERIES_DELTA,
	SERIES_LABELS,
	SERIES_PERIOD
};

#define SPAN_DIGITS 16

static const char SERIES_QUERY[] =
	"SELECT series_id, unit, delta, labels, period FROM profstore.matching_series($1) ORDER BY 1";
static const char SERIES_EXIST[] = "SELECT FROM profstore.matching_series($1)";

static void
series_read(PfsSelection *selection, HeapTuple tuple, TupleDesc descriptor, PfsSeries *series)
{
	bool is_null;

	series->id = DatumGetInt32(SPI_getbinval(tuple, descriptor, SERIES_ID, &is_null));
	series->period = DatumGetInt64(SPI_getbinval(tuple, descriptor, SERIES_PERIOD, &is_null));
	series->labels = DatumGetJsonbPCopy(SPI_getbinval(tuple, descriptor, SERIES_LABELS, &is_null));
	selection->delta = DatumGetBool(SPI_getbinval(tuple, descriptor, SERIES_DELTA, &is_null));
	if (*selection->unit == '\0')
		selection->unit = SPI_getvalue(tuple, descriptor, SERIES_UNIT);
}

static void
find_series(PfsSelection *selection, Datum selector)
{
	static SPIPlanPtr plan = NULL;
	MemoryContext caller = CurrentMemoryContext;

	SPI_connect();
	pfs_text_plan_run(&plan, SERIES_QUERY, selector);
	MemoryContextSwitchTo(caller);
	selection->series_count = (int) SPI_processed;
	selection->series = PFS_ARRAY(PfsSeries, SPI_processed);
	selection->series_ids = PFS_ARRAY(int64, SPI_processed);
	for (int i = 0; i < selection->series_count; i++)
	{
		series_read(selection, SPI_tuptable->vals[i], SPI_tuptable->tupdesc, &selection->series[i]);
		selection->series_ids[i] = selection->series[i].id;
	}
	SPI_finish();
}

/*
 * Compares series in any total order in which equal series are neighbours. Equal labels have equal
 * bytes.
 */
static int
compare_identity(const void *a, const void *b)
{
	const PfsSeries *left = *(PfsSeries *const *) a;
	const PfsSeries *right = *(PfsSeries *const *) b;

	if (left->period != right->period)
		return left->period < right->period ? -1 : 1;
	if (VARSIZE(left->labels) != VARSIZE(right->labels))
		return VARSIZE(left->labels) < VARSIZE(right->labels) ? -1 : 1;
	return memcmp(left->labels, right->labels, VARSIZE(left->labels));
}

static void
index_distinct_series(PfsSelection *selection)
{
	PfsSeries **sorted = PFS_ARRAY(PfsSeries *, selection->series_count);

	for (int i = 0; i < selection->series_count; i++)
		sorted[i] = &selection->series[i];
	qsort(sorted, (size_t) selection->series_count, sizeof(PfsSeries *), compare_identity);
	for (int i = 0; i < selection->series_count; i++)
	{
		if (i == 0 || compare_identity(&sorted[i - 1], &sorted[i]) != 0)
			selection->distinct_count++;
		sorted[i]->index = selection->distinct_count - 1;
	}
	pfree(sorted);
}

PfsSelection *
pfs_selection_get_range(FunctionCallInfo fcinfo, const char *selector_name, const char *from_name,
						const char *to_name)
{
	static const char any_series[] = "A profile type followed by {} selects all of its series.";
	static const char open_range[] =
		"A range is half open; '-infinity' and 'infinity' leave an end open.";
	PfsSelection *selection = palloc0(sizeof(PfsSelection));
	const PfsSelector *parsed;
	Datum selector;

	pfs_extension_require_current();
	selector = pfs_argument_require(fcinfo, selector_name, any_series);
	selection->from = DatumGetTimestampTz(pfs_argument_require(fcinfo, from_name, open_range));
	selection->to = DatumGetTimestampTz(pfs_argument_require(fcinfo, to_name, open_range));
	if (selection->from > selection->to)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the time range ends before it begins"),
						errdetail("%s is %s, %s is %s.", from_name,
								  pstrdup(timestamptz_to_str(selection->from)), to_name,
								  pstrdup(timestamptz_to_str(selection->to)))));

	selection->unit = "";
	selection->delta = true;
	parsed = pfs_selector_parse(TextDatumGetCString(selector), selector_name);
	selection->profile_type = parsed->profile_type;
	selection->over_time = parsed->over_time;
	if (selection->profile_type == NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s names no profile type", selector_name),
						errdetail("Values of different profile types do not add up."),
						errhint("Put one of profstore.profile_types() before the braces.")));
	pfs_require_privilege(pfs_relation_oid("profile_types"), ACL_SELECT);
	pfs_require_privilege(pfs_relation_oid("series"), ACL_SELECT);
	selection->profile_type = pfs_type_name_find(selection->profile_type);
	find_series(selection, selector);
	if (selection->over_time != PFS_OVER_TIME_UNSAID && selection->delta &&
		selection->series_count > 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s requires an instant profile type",
							   pfs_over_time_name(selection->over_time)),
						errdetail("Values of %s add up over time.", selection->profile_type)));
	index_distinct_series(selection);
	return selection;
}

static void
check_span(const char *span, const char *name)
{
	if (strlen(span) != SPAN_DIGITS || strspn(span, "0123456789abcdefABCDEF") != SPAN_DIGITS)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s is not a span id: \"%s\"", name, span),
						errhint("A span id has 16 hexadecimal digits.")));
}

void
pfs_selection_restrict(PfsSelection *selection, FunctionCallInfo fcinfo, const char *prefix)
{
	const Datum *trace = pfs_argument(fcinfo, psprintf("%strace", prefix));
	const char *span_name = psprintf("%sspan", prefix);
	const char *query_name = psprintf("%squery_id", prefix);
	const Datum *query = pfs_argument(fcinfo, query_name);

	if (trace != NULL)
		selection->trace.id = DatumGetUUIDP(*trace);
	selection->trace.span = pfs_argument_text(fcinfo, span_name);
	if (selection->trace.span != NULL)
		check_span(selection->trace.span, span_name);
	if (query != NULL && selection->trace.span != NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s and %s exclude each other", query_name, span_name),
						errdetail("A query id is stored as a span id.")));
	if (query != NULL)
		selection->trace.span = psprintf("%016llx", (unsigned long long) DatumGetInt64(*query));
}

/* Returns true if a profile type has a series, regardless of labels. */
static bool
has_series(const char *profile_type)
{
	Datum selector = CStringGetTextDatum(profile_type);
	Oid type = TEXTOID;
	bool found;

	SPI_connect();
	if (SPI_execute_with_args(SERIES_EXIST, 1, &type, &selector, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for series");
	found = SPI_processed > 0;
	SPI_finish();
	return found;
}

bool
pfs_selection_notes_first(void)
{
	static TimestampTz noted;
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	if (noted == statement || !message_level_is_interesting(NOTICE))
		return false;
	noted = statement;
	return true;
}

void
pfs_selection_tell_empty(const PfsSelection *selection)
{
	if (!pfs_selection_notes_first())
		return;
	ereport(NOTICE,
			(errmsg("the selection is empty"),
			 selection->series_count == 0
				 ? errdetail("No series matches the selector.")
				 : errdetail("Its series have no samples in the range that pass the filters, or "
							 "their sum is 0."),
			 errhint("profstore.series() lists series, and when they were seen.")));
}

void
pfs_selection_tell_unknown(const PfsSelection *selection)
{
	const char *similar;

	if (selection->series_count > 0 || has_series(selection->profile_type) ||
		!pfs_selection_notes_first())
		return;
	similar = pfs_type_name_similar(selection->profile_type);
	ereport(NOTICE,
			(errmsg("no series has profile type \"%s\"", selection->profile_type),
			 similar != NULL ? errhint("Perhaps you mean \"%s\".", similar)
							 : errhint("profstore.profile_types() lists all profile types.")));
}

PfsSelection *
pfs_selection_get(FunctionCallInfo fcinfo)
{
	PfsSelection *selection = pfs_selection_get_range(fcinfo, "selector", "from_ts", "to_ts");

	pfs_selection_restrict(selection, fcinfo, "");
	pfs_selection_tell_unknown(selection);
	return selection;
}

const PfsSeries *
pfs_selection_series(const PfsSelection *selection, int64 id)
{
	uint32 count = (uint32) selection->series_count;
	uint32 place = pfs_lower_bound(selection->series_ids, 0, count, id);

	if (place == count || selection->series_ids[place] != id)
		return NULL;
	return &selection->series[place];
}
