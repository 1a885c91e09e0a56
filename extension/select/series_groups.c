/*
 * series_groups.c
 *		Groups series by their values of the labels in by, and numbers the groups.
 */
#include "select/series_groups.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "base/arrays.h"

/* Most labels by which series may be grouped. The name of each group contains all of them. */
#define MAX_GROUPING_LABELS 1000

/* A distinct series, before it is put into a group. */
typedef struct Projection
{
	PfsSeriesGroup group;
	int32 series;
} Projection;

/* Returns the value of a label as text; "" if it is null or not a scalar. */
static const char *
scalar_text(const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvString:
			return pnstrdup(value->val.string.val, (Size) value->val.string.len);
		case jbvNumeric:
			return DatumGetCString(
				DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
		case jbvBool:
			return value->val.boolean ? "true" : "false";
		case jbvNull:
		case jbvArray:
		case jbvObject:
		case jbvBinary:
		case jbvDatetime:
			break;
	}
	return "";
}

static void
append_pair(StringInfo metric, const char *label, const char *value)
{
	if (metric->len > 0)
		appendStringInfoString(metric, ", ");
	appendStringInfo(metric, "%s=\"%s\"", label, value);
}

/*
 * Returns the group of a series. If by has a single label, the group is named by the label's value,
 * unless that is empty.
 */
static PfsSeriesGroup
labels_project(const PfsSelection *selection, const PfsSeries *series, const Datum *by,
			   int by_count)
{
	PfsSeriesGroup group;
	JsonbParseState *state = NULL;
	StringInfoData metric;
	const char *single = "";

	initStringInfo(&metric);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < by_count; i++)
	{
		JsonbValue key;
		JsonbValue *value;

		key.type = jbvString;
		key.val.string.val = TextDatumGetCString(by[i]);
		key.val.string.len = (int) strlen(key.val.string.val);
		value = getKeyJsonValueFromContainer(&series->labels->root, key.val.string.val,
											 key.val.string.len, NULL);
		single = value ? scalar_text(value) : "";
		append_pair(&metric, key.val.string.val, single);
		if (value != NULL)
		{
			pushJsonbValue(&state, WJB_KEY, &key);
			pushJsonbValue(&state, WJB_VALUE, value);
		}
	}
	group.labels = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
	if (by_count == 0)
		group.metric = selection->profile_type;
	else
		group.metric = by_count == 1 && *single ? single : metric.data;
	return group;
}

static int
compare_projections(const void *a, const void *b)
{
	const PfsSeriesGroup *left = &((const Projection *) a)->group;
	const PfsSeriesGroup *right = &((const Projection *) b)->group;
	int order = strcmp(left->metric, right->metric);

	if (order != 0)
		return order;
	if (VARSIZE(left->labels) != VARSIZE(right->labels))
		return VARSIZE(left->labels) < VARSIZE(right->labels) ? -1 : 1;
	return memcmp(left->labels, right->labels, VARSIZE(left->labels));
}

PfsSeriesGroups
pfs_series_groups(const PfsSelection *selection, ArrayType *by)
{
	Size count = (Size) selection->distinct_count;
	Projection *projections = PFS_ARRAY0(Projection, count);
	PfsSeriesGroups result = { 0, NULL, NULL };
	Datum *labels;
	int label_count;

	if (array_contains_nulls(by))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("argument \"by\" must not contain nulls")));
	deconstruct_array(by, TEXTOID, -1, false, TYPALIGN_INT, &labels, NULL, &label_count);
	if (label_count > MAX_GROUPING_LABELS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("argument \"by\" has too many labels"),
						errdetail("It has %d labels, at most %d are allowed.", label_count,
								  MAX_GROUPING_LABELS)));
	for (int i = 0; i < selection->series_count; i++)
	{
		const PfsSeries *series = &selection->series[i];
		Projection *projection = &projections[series->index];

		CHECK_FOR_INTERRUPTS();
		if (projection->group.labels == NULL)
			*projection = (Projection){ labels_project(selection, series, labels, label_count),
										series->index };
	}
	qsort(projections, count, sizeof(Projection), compare_projections);

	result.groups = PFS_ARRAY(PfsSeriesGroup, count);
	result.of_series = PFS_ARRAY(int32, count);
	for (Size i = 0; i < count; i++)
	{
		if (i == 0 || compare_projections(&projections[i - 1], &projections[i]) != 0)
			result.groups[result.count++] = projections[i].group;
		result.of_series[projections[i].series] = result.count - 1;
	}
	pfree(projections);
	return result;
}
