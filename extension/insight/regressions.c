/*
 * regressions.c
 *		regression_rows() and regression_basis(): the functions whose cost a deploy changed, and the
 *		data on which that answer is based. SQL has chosen the periods (regressions.sql).
 *
 * 1. regressions_find_hosts(): series get hosts by a label, and versions.
 * 2. One merge of both sides lists functions and calls (function_costs.c); renamed functions are
 *    paired (renamed.c).
 * 3. A scan of each period adds up the functions that have enough samples (function_cells.c).
 * 4. The statistic judges them (findings.c).
 */
#include "profstore.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "base/srf.h"
#include "insight/findings.h"
#include "insight/function_cells.h"
#include "insight/function_costs.h"
#include "insight/rates.h"
#include "insight/renamed.h"
#include "insight/statistic/discoveries.h"
#include "insight/statistic/student.h"
#include "select/buckets.h"
#include "select/range_partitions.h"
#include "select/series_groups.h"
#include "views/view.h"

/* Functions with fewer samples on both sides together are not tested. */
#define LEAST_SAMPLES 400

/* Share of a query's memory that the cells may use. */
#define CELLS_SHARE(bytes) ((bytes) / 4)

/*
 * Function name of the row that represents all code. The row exists only with rates; its cost is
 * that of a request.
 */
#define ALL_CODE "(whole)"

/* The share of the function for which detectable_at_1_percent is computed. */
#define ONE_PERCENT 0.01

enum
{
	COL_FUNCTION,
	COL_STATUS,
	COL_BASE_SHARE,
	COL_SHARE,
	COL_CHANGE,
	COL_CHANGE_LOW,
	COL_CHANGE_HIGH,
	COL_P_VALUE,
	COL_Q_VALUE,
	COL_CORES,
	COL_CORES_LOW,
	COL_CORES_HIGH,
	COL_MEASURE,
	COL_RENAMED_FROM,
	COL_WITHIN,
	COL_DETECTABLE,
	COL_HOSTS,
	COL_FAR_HOSTS,
	COL_FILE,
	COL_MAPPING,
	COL_COUNT
};

enum
{
	BASIS_METHOD,
	BASIS_HOSTS,
	BASIS_PAIRED_SHARE,
	BASIS_SAMPLES_BEFORE,
	BASIS_SAMPLES_AFTER,
	BASIS_TESTED,
	BASIS_LEFT_OUT,
	BASIS_LOAD_CHANGE,
	BASIS_REFERENCE,
	BASIS_WHOLE_CHANGE,
	BASIS_WHOLE_LOW,
	BASIS_WHOLE_HIGH,
	BASIS_DETECTABLE,
	BASIS_REASON,
	BASIS_WARNING,
	BASIS_COUNT
};

PG_FUNCTION_INFO_V1(profstore_regression_rows);
PG_FUNCTION_INFO_V1(profstore_regression_basis);

typedef struct Answer
{
	const PfsFunctionCosts *costs;
	const PfsFunctionCells *cells;
	const PfsDeployFindings *findings;
	const char **old_names;
	PfsFindingRules rules;
	double cores_now; /* all code: cores, or values per second */
} Answer;

/* Returns the value of an argument of type float8, which must be in a range; name is for errors. */
static double
regressions_get_number(FunctionCallInfo fcinfo, const char *name, double most)
{
	double value = DatumGetFloat8(pfs_argument_require(fcinfo, name, NULL));

	if (!(value >= 0 && value <= most))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must be between 0 and %g", name, most)));
	return value;
}

static PfsPeriods
regressions_get_periods(FunctionCallInfo fcinfo)
{
	int64 before;
	int64 end;
	PfsPeriods periods = {
		.base_from = DatumGetTimestampTz(pfs_argument_require(fcinfo, "from_ts", NULL)),
		.after_from = DatumGetTimestampTz(pfs_argument_require(fcinfo, "after_from", NULL)),
		.length_us =
			pfs_step_us(DatumGetIntervalP(pfs_argument_require(fcinfo, "length", NULL)), "length"),
		.base_count = (uint32) DatumGetInt32(pfs_argument_require(fcinfo, "base_count", NULL)),
	};

	/* The number of periods multiplies the memory of all sums. */
	if (periods.base_count < 1 || periods.base_count > 1000)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the base must have between 1 and 1000 periods")));
	/* The last condition is base_from + base_count * length_us <= after_from, without overflow. */
	if (TIMESTAMP_NOT_FINITE(periods.base_from) || TIMESTAMP_NOT_FINITE(periods.after_from) ||
		pg_sub_s64_overflow(periods.after_from, periods.base_from, &before) ||
		pg_add_s64_overflow(periods.after_from, periods.length_us, &end) ||
		before / periods.base_count < periods.length_us)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the base ends after the beginning of the time after the deploy")));
	return periods;
}

/* --- hosts and versions --- */

static ArrayType *
array_of_label(const char *label)
{
	Datum text = CStringGetTextDatum(label);

	return construct_array(&text, 1, TEXTOID, -1, false, TYPALIGN_INT);
}

/* Sets the numbers and the names of hosts. */
static void
regressions_number_hosts(const PfsSelection *selection, const char *label, PfsHosts *hosts)
{
	PfsSeriesGroups groups = pfs_series_groups(selection, array_of_label(label));
	int32 *numbers = PFS_ARRAY(int32, groups.count);

	hosts->names = PFS_ARRAY(const char *, groups.count);
	hosts->count = 0;
	for (int32 i = 0; i < groups.count; i++)
	{
		numbers[i] = -1;
		/* Series without the label form a group without labels. */
		if (JsonContainerSize(&groups.groups[i].labels->root) == 0)
			continue;
		numbers[i] = (int32) hosts->count;
		hosts->names[hosts->count++] = groups.groups[i].metric;
	}
	/* Series get the numbers of hosts instead of those of groups. */
	for (int i = 0; i < selection->distinct_count; i++)
		groups.of_series[i] = numbers[groups.of_series[i]];
	hosts->of_series = groups.of_series;
	pfree(numbers);
	if (hosts->count == 0 && selection->series_count > 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("no series of the selection has the label \"%s\"", label),
						errhint("Pass the label that distinguishes hosts, such as host => "
								"'instance'. profstore.label_names() lists the labels.")));
}

static bool
series_has_version(const PfsSeries *series, const char *version, bool *has_label)
{
	JsonbValue *value = getKeyJsonValueFromContainer(&series->labels->root, "version",
													 (int) strlen("version"), NULL);

	*has_label = value != NULL && value->type == jbvString;
	return *has_label && strlen(version) == (size_t) value->val.string.len &&
		   memcmp(version, value->val.string.val, strlen(version)) == 0;
}

/* Marks the series that the canary's selector picks, which keep the old version. */
static void
regressions_mark_canary(FunctionCallInfo fcinfo, const PfsSelection *selection, bool *is_old)
{
	PfsSelection *old = pfs_selection_get_range(fcinfo, "canary", "from_ts", "to_ts");
	bool any = false;

	for (int i = 0; i < selection->series_count; i++)
		if (pfs_selection_series(old, selection->series[i].id) != NULL)
			any = is_old[selection->series[i].index] = true;
	if (!any)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("canary picks no series of the selection"),
						errhint("It selects the series of the same profile type that keep the old "
								"version.")));
}

/*
 * If some series has the deploy's version as its label, and some has another one, the label decides
 * on the side of a series, not the time: series with another version measure the old version even
 * after the deploy, unless a canary's selector names these, and series with the deploy's version do
 * not belong to the base. Otherwise, as if a version is deployed again, the time alone decides.
 */
static void
regressions_mark_versions(FunctionCallInfo fcinfo, const PfsSelection *selection, bool has_canary,
						  PfsHosts *hosts)
{
	bool *is_old = PFS_ARRAY0(bool, selection->distinct_count);
	bool *is_new = PFS_ARRAY0(bool, selection->distinct_count);
	bool *has_other = PFS_ARRAY0(bool, selection->distinct_count);
	char *version = pfs_argument_text(fcinfo, "version");
	bool any_new = false;
	bool any_other = false;
	bool has_label;

	for (int i = 0; version != NULL && i < selection->series_count; i++)
	{
		int32 index = selection->series[i].index;

		is_new[index] = series_has_version(&selection->series[i], version, &has_label);
		has_other[index] = has_label && !is_new[index];
		any_new |= is_new[index];
		any_other |= has_other[index];
	}
	if (any_new && !has_canary)
		memcpy(is_old, has_other, (Size) selection->distinct_count * sizeof(bool));
	if (!any_other)
		memset(is_new, 0, (Size) selection->distinct_count * sizeof(bool));
	if (has_canary)
		regressions_mark_canary(fcinfo, selection, is_old);
	pfree(has_other);
	hosts->is_old = is_old;
	hosts->is_new = is_new;
}

static PfsHosts
regressions_find_hosts(FunctionCallInfo fcinfo, const PfsSelection *selection, bool has_canary)
{
	PfsHosts hosts;

	regressions_number_hosts(selection,
							 TextDatumGetCString(pfs_argument_require(fcinfo, "host", NULL)),
							 &hosts);
	regressions_mark_versions(fcinfo, selection, has_canary, &hosts);
	return hosts;
}

/* Returns the selection without the series that are marked by their index. */
static PfsSelection
regressions_series_but(const PfsSelection *selection, const bool *is_marked)
{
	PfsSelection kept = *selection;

	kept.series = PFS_ARRAY(PfsSeries, selection->series_count);
	kept.series_ids = PFS_ARRAY(int64, selection->series_count);
	kept.series_count = 0;
	for (int i = 0; i < selection->series_count; i++)
	{
		if (is_marked[selection->series[i].index])
			continue;
		kept.series[kept.series_count] = selection->series[i];
		kept.series_ids[kept.series_count++] = selection->series_ids[i];
	}
	return kept;
}

/* --- units --- */

/* Returns a component of a profile type, counted from 0; an empty text if the type has fewer. */
static char *
type_component(const char *profile_type, int number)
{
	const char *end;

	for (; number > 0; number--)
	{
		profile_type = strchr(profile_type, ':');
		if (profile_type == NULL)
			return pstrdup("");
		profile_type++;
	}
	end = strchrnul(profile_type, ':');
	return pnstrdup(profile_type, (Size) (end - profile_type));
}

/*
 * Returns the value of one sample: the period if it has the unit of the values, or 1 for counts.
 * For other types, such as the time of contentions, a thousandth of a percent of all values stands
 * for it.
 */
static double
regressions_quantum(const PfsSelection *selection, const PfsFunctionCosts *costs)
{
	char *unit = type_component(selection->profile_type, 2);
	double all = 0;
	int64 period = 0;

	/* Of several periods the largest counts, so that the number of samples is not overestimated. */
	for (int i = 0; i < selection->series_count; i++)
		period = Max(period, selection->series[i].period);
	if (strcmp(unit, type_component(selection->profile_type, 4)) == 0 && period > 0)
		return (double) period;
	if (strcmp(unit, "count") == 0)
		return 1;
	for (uint32 i = 0; i < costs->count; i++)
		all += costs->functions[i].self.base + costs->functions[i].self.value;
	return Max(all * 1e-5, 1);
}

/* --- the answer --- */

/*
 * Sums that retention keeps begin with their buckets, so periods must consist of whole buckets;
 * otherwise returns a reason why nothing can be judged.
 */
static const char *
regressions_resolution(const PfsSelection *selection, const PfsPeriods *periods)
{
	int64 width = pfs_sample_resolution(selection);

	/*
	 * A width of 0 means that no samples are kept as sums. Half of the length must fit, too,
	 * because the time after the deploy is halved.
	 */
	if (width == 0 ||
		(periods->length_us / 2 % width == 0 && pfs_bucket_offset(periods->base_from, width) == 0 &&
		 pfs_bucket_offset(periods->after_from, width) == 0))
		return NULL;
	return "a part of the samples is kept as sums of buckets that the periods cut";
}

/* Begins with the function's first argument, because pfs_result_begin() has allowed reading it. */
static Answer
regressions_answer(FunctionCallInfo fcinfo)
{
	PfsSelection *selection = pfs_selection_get_range(fcinfo, "selector", "from_ts", "to_ts");
	PfsPeriods periods = regressions_get_periods(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	bool has_canary = pfs_argument(fcinfo, "canary") != NULL;
	PfsSelection after;
	PfsSelection base;
	char *rate = pfs_argument_text(fcinfo, "rate");
	PfsHosts hosts;
	const double *rates;
	PfsStackStream *stream;
	PfsSymbols *symbols;
	PfsFunctionCosts *costs;
	PfsFunctionCells *cells;
	Answer answer;
	double per_second;

	pfs_selection_tell_unknown(selection);
	if (!selection->delta)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("regressions require a delta profile type"),
				 errdetail("Values of %s do not add up over time.", selection->profile_type)));
	answer.rules = (PfsFindingRules){
		.min_change = regressions_get_number(fcinfo, "min_change", 10),
		.max_rate = regressions_get_number(fcinfo, "max_fdr", 1),
		.has_canary = has_canary,
	};
	hosts = regressions_find_hosts(fcinfo, selection, has_canary);
	rates = rate == NULL ? NULL : pfs_rates_read(rate, &periods, &hosts);
	/*
	 * Series of the new version do not belong to the base, series of the old one not to the time
	 * after the deploy.
	 */
	base = regressions_series_but(selection, hosts.is_new);
	base.to = periods.base_from + (int64) periods.base_count * periods.length_us;
	after = regressions_series_but(selection, hosts.is_old);
	after.from = periods.after_from;
	after.to = periods.after_from + periods.length_us;
	stream = pfs_stack_stream_compare(&after, &base, false);
	/* The stream is read twice: for the costs of functions, and for their cells. */
	pfs_stack_stream_keep(stream);
	pfs_dictionary_begin();
	symbols = pfs_symbols_create(&filters);
	costs = pfs_function_costs(stream, symbols);
	answer.rules.quantum = regressions_quantum(selection, costs);
	answer.rules.least_total = LEAST_SAMPLES * answer.rules.quantum;
	answer.rules.reason = regressions_resolution(selection, &periods);
	answer.old_names = pfs_pair_renamed(costs, answer.rules.least_total / 2);
	if (after.series_count < selection->series_count)
	{
		/* stacks of the old version after the deploy count, too */
		pfs_stack_stream_end(stream);
		stream = pfs_stack_stream_begin(selection);
	}
	else
		pfs_stack_stream_rewind(stream);
	cells = pfs_function_cells(selection, &periods, &hosts, costs, stream, symbols,
							   answer.rules.least_total, CELLS_SHARE(pfs_hash_memory_bytes()));
	cells->rates = rates;
	answer.cells = cells;
	answer.costs = costs;
	answer.findings =
		pfs_deploy_findings(answer.cells, &hosts, costs, answer.old_names, &answer.rules);
	/*
	 * Nanoseconds of CPU time per nanosecond of time are cores; other units are values per second.
	 */
	per_second =
		strcmp(selection->unit, "nanoseconds") == 0 ? (double) USECS_PER_SEC * 1000.0 : 1.0;
	answer.cores_now = answer.findings->whole_after / per_second *
					   ((double) USECS_PER_SEC / (double) periods.length_us);
	return answer;
}

/*
 * Returns the hosts of both sides together if the sides have different hosts, otherwise the hosts
 * that both have.
 */
static int32
answer_hosts(const PfsDeployFindings *findings)
{
	if (findings->design == PFS_DESIGN_PAIRED)
		return (int32) findings->basis.hosts[0];
	return (int32) (findings->basis.hosts[0] + findings->basis.hosts[1]);
}

static double
answer_detectable(const Answer *answer, const PfsFinding *finding)
{
	if (finding->function == PFS_NO_FUNCTION)
		return pfs_detectable_change(&finding->change, log1p(answer->rules.min_change / 2),
									 answer->rules.min_change, answer->rules.max_rate, 1, 1);
	/* half of the rate is for own values and half for totals */
	return pfs_detectable_change(&finding->change, log1p(answer->rules.min_change / 2),
								 answer->rules.min_change, answer->rules.max_rate / 2,
								 answer->findings->found[finding->is_total],
								 answer->findings->tested[finding->is_total]);
}

static Datum
float_or_null(double value, bool *is_null)
{
	*is_null = isnan(value) || isinf(value);
	return Float8GetDatum(*is_null ? 0 : value);
}

/*
 * Returns the cores that a change costs: for a function at the present load, for all code at the
 * present number of requests.
 */
static double
finding_cores(const Answer *answer, const PfsFinding *finding, double change)
{
	/* cores_now includes the change, so the cores before it are cores_now / (1 + change). */
	if (finding->function == PFS_NO_FUNCTION)
		return answer->cores_now * change / (1 + change);
	/* New and gone functions have shares but no change. */
	if (isnan(finding->change.change))
		return (finding->change.share - finding->change.base_share) * answer->cores_now;
	return finding->change.base_share * change * answer->cores_now;
}

/* Computes the ends of the 95 % interval; NAN if the error is unknown. */
static void
change_interval(const PfsChange *change, double *low, double *high)
{
	double half =
		isnan(change->error) ? NAN : pfs_student_bound(0.025, change->freedom) * change->error;

	*low = expm1(change->change - half);
	*high = expm1(change->change + half);
}

/* Puts the columns with a function's name, old name, file and mapping. */
static void
regressions_put_function(const Answer *answer, const PfsFinding *finding, Datum *values,
						 bool *nulls)
{
	const PfsFunctionCost *function;

	if (finding->function == PFS_NO_FUNCTION)
	{
		values[COL_FUNCTION] = CStringGetTextDatum(ALL_CODE);
		nulls[COL_RENAMED_FROM] = nulls[COL_FILE] = nulls[COL_MAPPING] = true;
		return;
	}
	function = &answer->costs->functions[finding->function];
	values[COL_FUNCTION] = CStringGetTextDatum(function->name);
	values[COL_RENAMED_FROM] =
		pfs_text_or_null(answer->old_names[finding->function], &nulls[COL_RENAMED_FROM]);
	values[COL_FILE] = pfs_text_or_null(function->file, &nulls[COL_FILE]);
	values[COL_MAPPING] = pfs_text_or_null(*function->mapping == '\0' ? NULL : function->mapping,
										   &nulls[COL_MAPPING]);
}

static void
regressions_put_row(const PfsResult *result, const Answer *answer, const PfsFinding *finding)
{
	const PfsChange *change = &finding->change;
	double low;
	double high;
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };

	change_interval(change, &low, &high);
	regressions_put_function(answer, finding, values, nulls);
	values[COL_STATUS] = CStringGetTextDatum(pfs_finding_name(finding->status));
	values[COL_BASE_SHARE] = Float8GetDatum(change->base_share);
	values[COL_SHARE] = Float8GetDatum(change->share);
	values[COL_CHANGE] = float_or_null(expm1(change->change), &nulls[COL_CHANGE]);
	values[COL_CHANGE_LOW] = float_or_null(low, &nulls[COL_CHANGE_LOW]);
	values[COL_CHANGE_HIGH] = float_or_null(high, &nulls[COL_CHANGE_HIGH]);
	values[COL_P_VALUE] = float_or_null(change->p_value, &nulls[COL_P_VALUE]);
	values[COL_Q_VALUE] = float_or_null(finding->q_value, &nulls[COL_Q_VALUE]);
	values[COL_CORES] = Float8GetDatum(finding_cores(answer, finding, expm1(change->change)));
	values[COL_CORES_LOW] = float_or_null(isnan(low) ? NAN : finding_cores(answer, finding, low),
										  &nulls[COL_CORES_LOW]);
	values[COL_CORES_HIGH] = float_or_null(isnan(high) ? NAN : finding_cores(answer, finding, high),
										   &nulls[COL_CORES_HIGH]);
	values[COL_MEASURE] = CStringGetTextDatum(finding->is_total ? "total" : "self");
	values[COL_WITHIN] = pfs_text_or_null(finding->within, &nulls[COL_WITHIN]);
	values[COL_DETECTABLE] =
		float_or_null(answer_detectable(answer, finding), &nulls[COL_DETECTABLE]);
	values[COL_HOSTS] = Int32GetDatum(answer_hosts(answer->findings));
	values[COL_FAR_HOSTS] = Int32GetDatum((int32) change->far_hosts);
	pfs_result_put(result, values, nulls);
}

typedef struct SortedVerdict
{
	const PfsFinding *finding;
	double cores;
	const char *name;
} SortedVerdict;

static int
compare_findings(const void *a, const void *b)
{
	const SortedVerdict *left = a;
	const SortedVerdict *right = b;

	if (left->cores != right->cores)
		return left->cores > right->cores ? -1 : 1;
	if (strcmp(left->name, right->name) != 0)
		return strcmp(left->name, right->name);
	return left->finding->is_total - right->finding->is_total;
}

/* Says that the deploy may not be the only cause of the changes; NULL if nothing suggests that. */
static const char *
regressions_warning(const PfsDeployFindings *findings)
{
	if (!findings->is_many)
		return NULL;
	return psprintf("%u of %u functions changed, as if the traffic changed with the deploy",
					findings->found[0], findings->tested[0]);
}

PGDLLEXPORT Datum
profstore_regression_rows(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	int64 max_rows = pfs_max_rows_get(fcinfo);
	Answer answer = regressions_answer(fcinfo);
	SortedVerdict *sorted = PFS_ARRAY(SortedVerdict, answer.findings->count + 1);
	uint32 count = 0;

	if (answer.findings->reason != NULL)
		ereport(NOTICE, (errmsg("no change can be tested: %s", answer.findings->reason),
						 errhint("profstore.regressions_basis() shows the samples before and "
								 "after the deploy.")));
	if (answer.findings->is_many)
		ereport(NOTICE, (errmsg("%s", regressions_warning(answer.findings)),
						 errhint("Compare with hosts that keep the old version, by the argument "
								 "\"canary\".")));
	for (uint32 i = 0; i < answer.findings->count; i++)
	{
		const PfsFinding *finding = &answer.findings->findings[i];

		if (finding->status == PFS_FINDING_NONE || finding->is_dropped)
			continue;
		sorted[count++] =
			(SortedVerdict){ finding,
							 finding_cores(&answer, finding, expm1(finding->change.change)),
							 answer.costs->functions[finding->function].name };
	}
	if (answer.findings->has_whole && answer.findings->whole.status != PFS_FINDING_NONE)
		sorted[count++] =
			(SortedVerdict){ &answer.findings->whole,
							 finding_cores(&answer, &answer.findings->whole,
										   expm1(answer.findings->whole.change.change)),
							 ALL_CODE };
	qsort(sorted, count, sizeof(SortedVerdict), compare_findings);
	for (uint32 i = 0; i < count && i < max_rows; i++)
		regressions_put_row(&result, &answer, sorted[i].finding);
	return (Datum) 0;
}

/* Puts the detectable change of the function whose share is nearest to one percent. */
static double
regressions_detectable(const Answer *answer)
{
	const PfsFinding *nearest = NULL;

	/* Findings that were tested precede those of functions that are missing on a side. */
	for (uint32 i = 0; i < answer->findings->tested[0] + answer->findings->tested[1]; i++)
	{
		const PfsFinding *finding = &answer->findings->findings[i];

		if (isnan(finding->change.error) || finding->change.base_share <= 0)
			continue;
		/* Distances are those of logarithms: 0.5 % is as near as 2 %. */
		if (nearest == NULL || fabs(log(finding->change.base_share / ONE_PERCENT)) <
								   fabs(log(nearest->change.base_share / ONE_PERCENT)))
			nearest = finding;
	}
	if (nearest == NULL || answer->findings->reason != NULL)
		return NAN;
	return answer_detectable(answer, nearest);
}

PGDLLEXPORT Datum
profstore_regression_basis(PG_FUNCTION_ARGS)
{
	/* The names are in the order of PfsDesign. */
	static const char *const methods[] = { "before and after", "canary",
										   "before and after, other hosts" };
	PfsResult result = pfs_result_begin(fcinfo);
	Answer answer = regressions_answer(fcinfo);
	const PfsDeployFindings *findings = answer.findings;
	Datum values[BASIS_COUNT];
	bool nulls[BASIS_COUNT] = { false };
	double whole_low = NAN;
	double whole_high = NAN;

	if (findings->has_whole)
		change_interval(&findings->whole.change, &whole_low, &whole_high);
	values[BASIS_METHOD] = CStringGetTextDatum(methods[findings->design]);
	values[BASIS_HOSTS] = Int32GetDatum(answer_hosts(findings));
	values[BASIS_PAIRED_SHARE] = Float8GetDatum(findings->basis.paired_share);
	values[BASIS_SAMPLES_BEFORE] =
		Int64GetDatum((int64) (findings->base_samples / answer.rules.quantum));
	values[BASIS_SAMPLES_AFTER] =
		Int64GetDatum((int64) (findings->whole_after / answer.rules.quantum));
	values[BASIS_TESTED] = Int32GetDatum((int32) (findings->tested[0] + findings->tested[1]));
	values[BASIS_LEFT_OUT] = Int32GetDatum((int32) answer.cells->left_out);
	values[BASIS_LOAD_CHANGE] =
		float_or_null(expm1(findings->basis.load_change), &nulls[BASIS_LOAD_CHANGE]);
	values[BASIS_REFERENCE] = float_or_null(expm1(findings->reference), &nulls[BASIS_REFERENCE]);
	values[BASIS_WHOLE_CHANGE] =
		float_or_null(findings->has_whole ? expm1(findings->whole.change.change) : NAN,
					  &nulls[BASIS_WHOLE_CHANGE]);
	values[BASIS_WHOLE_LOW] = float_or_null(whole_low, &nulls[BASIS_WHOLE_LOW]);
	values[BASIS_WHOLE_HIGH] = float_or_null(whole_high, &nulls[BASIS_WHOLE_HIGH]);
	values[BASIS_DETECTABLE] =
		float_or_null(regressions_detectable(&answer), &nulls[BASIS_DETECTABLE]);
	values[BASIS_REASON] = pfs_text_or_null(findings->reason, &nulls[BASIS_REASON]);
	values[BASIS_WARNING] = pfs_text_or_null(regressions_warning(findings), &nulls[BASIS_WARNING]);
	pfs_result_put(&result, values, nulls);
	return (Datum) 0;
}
