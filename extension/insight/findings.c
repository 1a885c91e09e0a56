/*
 * findings.c
 *		Judges the functions of a deploy and explains the changes.
 *
 * 1. findings_make_table(): cells of all hosts in the form of the statistic, for functions' own
 *    values, then for totals that differ enough from these.
 * 2. findings_judge(): the statistic, on the whole time after the deploy and on its second half.
 * 3. findings_find(): false discovery rates; half of the rate for each kind of value.
 * 4. findings_explain(): changes that a caller or a callee explains.
 */
#include "insight/findings.h"

#include <math.h>

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "insight/statistic/discoveries.h"
#include "insight/statistic/student.h"

#define MIN_HOSTS	3
#define MIN_PERIODS 3

/* A total is tested if it exceeds the function's own value by this factor. */
#define TOTAL_OF_SELF 1.2

/*
 * If paired hosts have less than this part of the samples, before and after are compared as two
 * groups of hosts.
 */
#define LEAST_PAIRED 0.8

/* A caller's gain is explained by a callee that has at least this part of it. */
#define EXPLAINING_PART 0.8

/* A caller that makes at least this part of a function's calls is checked for its own change. */
#define CALLER_PART	  0.8
#define CALLER_LEVELS 3

/* Limit of the levels of callers that are followed, because callers may form a cycle. */
#define MAX_CALLER_LEVELS 1000

/*
 * A caller with more than this part of all code is no evidence, because many other reasons keep it
 * from growing.
 */
#define MAX_CALLER_SHARE 0.5

typedef struct Table
{
	PfsCells cells;
	double *sums;
	double *wholes;
	double *loads;
	bool *is_new;
	PfsFinding *findings;
	PfsChange *changes;
	bool is_whole; /* the table has one function, which is all code, and its wholes are requests */
} Table;

const char *
pfs_finding_name(PfsFindingStatus status)
{
	switch (status)
	{
		case PFS_FINDING_NONE:
			break;
		case PFS_FINDING_REGRESSION:
			return "regression";
		case PFS_FINDING_IMPROVEMENT:
			return "improvement";
		case PFS_FINDING_MOVED:
			return "moved";
		case PFS_FINDING_PASSING:
			return "passing";
		case PFS_FINDING_RENAMED:
			return "renamed";
		case PFS_FINDING_NEW:
			return "new";
		case PFS_FINDING_GONE:
			return "gone";
	}
	return "unclear";
}

/* --- the table --- */

/*
 * Returns the sum of the time after the deploy in a row of slots; if later is true, twice the sum
 * of its second half.
 */
static double
after_sum(const double *slots, uint32 slot, bool later)
{
	/* The second half counts twice, because all periods of the statistic have one length. */
	return later ? 2 * slots[slot + 1] : slots[slot] + slots[slot + 1];
}

/*
 * Returns the slot of a host after the deploy: that of the new version if it ran there. Without a
 * canary, a host that has only the old version counts as having no samples after the deploy.
 */
static uint32
host_slot(const PfsFunctionCells *cells, uint32 host, bool has_canary, bool *is_new)
{
	uint32 base = cells->slot_count - PFS_AFTER_SLOTS;
	const double *slots = cells->wholes + (Size) host * cells->slot_count;

	*is_new = !has_canary || after_sum(slots, base + PFS_SLOT_NEW, false) > 0;
	return base + (*is_new ? PFS_SLOT_NEW : PFS_SLOT_OLD);
}

static void
copy_row(const double *from, double *to, uint32 base_count, uint32 slot, bool later)
{
	memcpy(to, from, sizeof(double) * base_count);
	to[base_count] = after_sum(from, slot, later);
}

/* Copies the row of a host; after the deploy, the sum of both versions. */
static void
copy_row_of_both(const double *from, double *to, uint32 base_count, bool later)
{
	copy_row(from, to, base_count, base_count + PFS_SLOT_NEW, later);
	to[base_count] += after_sum(from, base_count + PFS_SLOT_OLD, later);
}

/* Returns the measure of the hosts' load: requests if they are known, otherwise samples. */
static const double *
cells_loads(const PfsFunctionCells *cells)
{
	return cells->rates != NULL ? cells->rates : cells->wholes;
}

/* Fills the table with the values of its findings' functions. */
static void
findings_fill_table(Table *table, const PfsFunctionCells *from, bool has_canary, bool later)
{
	uint32 hosts = table->cells.host_count;
	uint32 base_count = from->slot_count - PFS_AFTER_SLOTS;

	for (uint32 host = 0; host < hosts; host++)
	{
		uint32 slot = host_slot(from, host, has_canary, &table->is_new[host]);
		Size row = (Size) host * (base_count + 1);
		Size slots = (Size) host * from->slot_count;

		/* Both versions make the load of a host. */
		copy_row_of_both(cells_loads(from) + slots, table->loads + row, base_count, later);
		if (table->is_whole)
		{
			/*
			 * The sum is the host's samples and the whole its requests, so their ratio is the cost
			 * of a request.
			 */
			copy_row_of_both(from->wholes + slots, table->sums + row, base_count, later);
			copy_row_of_both(from->rates + slots, table->wholes + row, base_count, later);
			continue;
		}
		copy_row(from->wholes + slots, table->wholes + row, base_count, slot, later);
		for (uint32 i = 0; i < table->cells.function_count; i++)
		{
			const double *values = table->findings[i].is_total ? from->totals : from->selves;

			copy_row(values + ((Size) table->findings[i].place * hosts + host) * from->slot_count,
					 table->sums + ((Size) i * hosts + host) * (base_count + 1), base_count, slot,
					 later);
		}
	}
}

static void
findings_tick(void)
{
	CHECK_FOR_INTERRUPTS();
}

static Table
findings_make_table(const PfsFunctionCells *from, uint32 hosts, PfsFinding *findings, uint32 count,
					PfsDesign design, double quantum)
{
	uint32 periods = from->slot_count - PFS_AFTER_SLOTS + 1;
	Table table = { .sums = PFS_ARRAY(double, (Size) count *hosts *periods),
					.wholes = PFS_ARRAY(double, (Size) hosts *periods),
					.loads = PFS_ARRAY(double, (Size) hosts *periods),
					.is_new = PFS_ARRAY(bool, hosts),
					.findings = findings,
					.changes = PFS_ARRAY(PfsChange, count) };

	table.cells = (PfsCells){ .function_count = count,
							  .host_count = hosts,
							  .period_count = periods,
							  .sums = table.sums,
							  .wholes = table.wholes,
							  .quantum = quantum,
							  .design = design,
							  .loads = table.loads,
							  .loads_are_requests = from->rates != NULL,
							  .tick = findings_tick,
							  .is_new = table.is_new };
	return table;
}

static void
table_free(Table *table)
{
	pfree(table->sums);
	pfree(table->wholes);
	pfree(table->loads);
	pfree(table->is_new);
	pfree(table->changes);
}

/* --- the statistic --- */

/*
 * Judges the functions of a table twice. The reference comes from the table of own values, which
 * must be judged first.
 */
static void
findings_judge(Table *table, const PfsFunctionCells *from, const PfsFindingRules *rules,
			   PfsReference *reference, PfsReference *later_reference, PfsChangeBasis *basis)
{
	/*
	 * A change must be significantly above half of min_change; findings_find() compares the
	 * estimate with all of it.
	 */
	double least = log1p(rules->min_change / 2);
	void *scratch = PFS_ARRAY(char, pfs_changes_scratch_bytes(&table->cells));
	PfsChangeBasis ignored;

	/* 1. The second half of the time after the deploy. */
	findings_fill_table(table, from, rules->has_canary, true);
	pfs_changes_judge(&table->cells, least, later_reference, table->changes, &ignored, scratch);
	for (uint32 i = 0; i < table->cells.function_count; i++)
	{
		table->findings[i].later_change = table->changes[i].change;
		table->findings[i].later_error = table->changes[i].error;
		table->findings[i].is_later_gone =
			table->changes[i].base_share > 0 && table->changes[i].share <= 0;
	}
	CHECK_FOR_INTERRUPTS();
	/* 2. The whole time, of which the basis is kept. */
	findings_fill_table(table, from, rules->has_canary, false);
	pfs_changes_judge(&table->cells, least, reference, table->changes, basis, scratch);
	for (uint32 i = 0; i < table->cells.function_count; i++)
		table->findings[i].change = table->changes[i];
	CHECK_FOR_INTERRUPTS();
	pfs_memory_look();
	pfree(scratch);
}

/* Decides which findings of one kind of value count as found. */
static uint32
findings_find(PfsFinding *findings, uint32 count, const PfsFindingRules *rules)
{
	double *p = PFS_ARRAY(double, count);
	double *q = PFS_ARRAY(double, count);
	uint32 *order = PFS_ARRAY(uint32, count);
	uint32 found = 0;

	for (uint32 i = 0; i < count; i++)
		p[i] = findings[i].change.p_value;
	pfs_false_discovery_rates(p, count, q, order);
	for (uint32 i = 0; i < count; i++)
	{
		PfsFinding *finding = &findings[i];

		/* own values and totals share the rate equally */
		finding->q_value = Min(1, 2 * q[i]);
		/* A change counts if it is significant and large enough. */
		if (isnan(finding->change.change) || finding->q_value > rules->max_rate ||
			fabs(expm1(finding->change.change)) < rules->min_change)
			continue;
		finding->status =
			finding->change.change > 0 ? PFS_FINDING_REGRESSION : PFS_FINDING_IMPROVEMENT;
		found++;
	}
	pfree(p);
	pfree(q);
	pfree(order);
	return found;
}

/*
 * Returns whether the change of the second half of the time was less than half of the whole time's.
 */
static bool
finding_is_passing(const PfsFinding *finding)
{
	double bound;

	/* A regression ends with its function; an improvement that removes the function stays. */
	if (finding->is_later_gone)
		return finding->change.change > 0;
	/* Without an error nothing is known about the second half. */
	if (isnan(finding->later_error))
		return false;
	bound = fabs(finding->change.change) / 2;
	/* The upper end of the interval of the later change, in the direction of the change. */
	return copysign(1, finding->change.change) * finding->later_change +
			   pfs_student_bound(0.05, finding->change.freedom) * finding->later_error <
		   bound;
}

/*
 * Judges the cost of a request. The reference of shares does not apply: a loss of all code is a
 * change, too.
 */
static void
findings_judge_whole(const PfsFunctionCells *cells, uint32 hosts, const PfsFindingRules *rules,
					 PfsDeployFindings *all)
{
	uint32 periods = cells->slot_count - PFS_AFTER_SLOTS + 1;
	/* A reference of 0 that counts as known leaves changes as they are. */
	PfsReference none = { .changes = PFS_ARRAY0(double, periods), .is_known = true };
	PfsChangeBasis ignored;
	Table table;

	all->whole = (PfsFinding){ .function = PFS_NO_FUNCTION, .is_total = true };
	all->has_whole = true;
	table = findings_make_table(cells, hosts, &all->whole, 1, all->design, rules->quantum);
	table.is_whole = true;
	findings_judge(&table, cells, rules, &none, &none, &ignored);
	table_free(&table);
	pfree(none.changes);
	/* All code is the whole on both sides. */
	all->whole.change.base_share = all->whole.change.share = 1;
	/* A single test needs no correction. */
	all->whole.q_value = all->whole.change.p_value;
	if (isnan(all->whole.change.change) || all->whole.q_value > rules->max_rate ||
		fabs(expm1(all->whole.change.change)) < rules->min_change)
		return;
	all->whole.status = finding_is_passing(&all->whole) ? PFS_FINDING_PASSING
						: all->whole.change.change > 0	? PFS_FINDING_REGRESSION
														: PFS_FINDING_IMPROVEMENT;
}

/* --- which functions --- */

/* Sums a function over hosts: on the base side, and in the new version after the deploy. */
static PfsCost
cells_side_sums(const PfsFunctionCells *cells, const double *values, uint32 place, uint32 hosts)
{
	uint32 base_count = cells->slot_count - PFS_AFTER_SLOTS;
	PfsCost sums = { 0, 0 };

	for (uint32 host = 0; host < hosts; host++)
	{
		const double *slots = values + ((Size) place * hosts + host) * cells->slot_count;

		for (uint32 slot = 0; slot < base_count; slot++)
			sums.base += slots[slot];
		sums.value += after_sum(slots, base_count + PFS_SLOT_NEW, false);
	}
	return sums;
}

/* Returns PFS_FINDING_NEW or PFS_FINDING_GONE if the function's share on one side is nearly 0. */
static PfsFindingStatus
missing_side(const PfsDeployFindings *all, PfsCost total)
{
	/* Shares are compared, because the sides have different numbers of samples. */
	double base = all->base_samples > 0 ? total.base / all->base_samples : 0;
	double value = all->after_samples > 0 ? total.value / all->after_samples : 0;

	if (base < PFS_MISSING_PART * value)
		return PFS_FINDING_NEW;
	return value < PFS_MISSING_PART * base ? PFS_FINDING_GONE : PFS_FINDING_NONE;
}

/*
 * Lists functions to test, by own value, or by a total that differs enough from it. Functions that
 * are missing on one side are not tested: they are new or gone, by their totals.
 */
static uint32
findings_list(const PfsFunctionCells *cells, uint32 hosts, bool is_total,
			  const PfsFindingRules *rules, const PfsDeployFindings *all, PfsFinding *findings)
{
	uint32 count = 0;

	for (uint32 place = 0; place < cells->function_count; place++)
	{
		PfsCost self = cells_side_sums(cells, cells->selves, place, hosts);
		PfsCost total = cells_side_sums(cells, cells->totals, place, hosts);
		PfsCost tested = is_total ? total : self;

		/* A total that nearly equals the own value would be the same test again. */
		if (tested.base + tested.value < rules->least_total ||
			(is_total && tested.base + tested.value < TOTAL_OF_SELF * (self.base + self.value)))
			continue;
		if (missing_side(all, total) != PFS_FINDING_NONE)
			continue;
		findings[count++] = (PfsFinding){ .function = cells->functions[place],
										  .place = place,
										  .is_total = is_total,
										  .q_value = NAN,
										  .later_change = NAN };
	}
	return count;
}

/* Appends functions that are missing on one side. */
static uint32
findings_list_missing(const PfsFunctionCells *cells, uint32 hosts, const PfsFindingRules *rules,
					  const PfsDeployFindings *all, PfsFinding *findings)
{
	uint32 count = 0;

	for (uint32 place = 0; place < cells->function_count; place++)
	{
		PfsCost total = cells_side_sums(cells, cells->totals, place, hosts);
		PfsFindingStatus status = missing_side(all, total);

		if (status == PFS_FINDING_NONE || total.base + total.value < rules->least_total)
			continue;
		findings[count++] = (PfsFinding){
			.status = status,
			.function = cells->functions[place],
			.place = place,
			.is_total = true,
			.change = { .base_share = all->base_samples > 0 ? total.base / all->base_samples : 0,
						.share = all->after_samples > 0 ? total.value / all->after_samples : 0,
						.change = NAN,
						.error = NAN,
						.p_value = NAN },
			.q_value = NAN,
			.later_change = NAN
		};
	}
	return count;
}

/* --- explanations --- */

/*
 * Returns the caller that makes most calls of a function on both sides; PFS_NO_FUNCTION if none
 * makes enough.
 */
static uint32
main_caller(const PfsFunctionCosts *costs, uint32 function)
{
	const PfsFunctionCost *of = &costs->functions[function];
	uint32 count;
	const PfsCallCost *calls = pfs_calls_of(costs, function, &count);

	/* A recursive call is no caller. */
	for (uint32 i = 0; i < count; i++)
		if (calls[i].caller != function && calls[i].cost.base >= CALLER_PART * of->total.base &&
			calls[i].cost.value >= CALLER_PART * of->total.value)
			return calls[i].caller;
	return PFS_NO_FUNCTION;
}

/*
 * Data for explaining findings: the findings of totals by function, and the order of all findings
 * by gain.
 */
typedef struct Explainer
{
	PfsDeployFindings *all;
	const PfsFunctionCosts *costs;
	/* for each function, the finding of its total; NULL if it was not tested */
	PfsFinding **total_of;
} Explainer;

static double
finding_gain(const PfsFinding *finding)
{
	return finding->change.base_share * expm1(finding->change.change);
}

/*
 * A caller's total that changed by less than half of the function's change shows that cost moved
 * between the caller's functions.
 */
static bool
finding_is_moved(const Explainer *explainer, const PfsFinding *finding)
{
	uint32 caller = finding->function;

	/* code of the function may come from functions that it called before */
	for (int level = finding->is_total ? 1 : 0; level <= CALLER_LEVELS; level++)
	{
		const PfsFinding *above;
		double sign = copysign(1, finding->change.change);
		double bound;

		if (level > 0)
			caller = main_caller(explainer->costs, caller);
		if (caller == PFS_NO_FUNCTION)
			return false;
		above = explainer->total_of[caller];
		/* A caller that was not tested says nothing, but its own caller may. */
		if (above == NULL || isnan(above->change.error))
			continue;
		if (above->change.base_share > MAX_CALLER_SHARE)
			return false;
		/* The largest change of the caller's total that its error allows, as a part of all code. */
		bound = above->change.base_share *
				(sign * expm1(above->change.change) +
				 pfs_student_bound(0.05, above->change.freedom) *
					 hypot(above->change.error, explainer->all->reference_error));
		/* gain: share times change relative to the reference; its error grows with the share */
		if (bound < fabs(finding_gain(finding)) / 2)
			return true;
	}
	return false;
}

/*
 * Drops found totals whose change is explained by a function below them: that function's row names
 * the dropped one.
 */
static void
finding_explain_callers(const Explainer *explainer, PfsFinding *finding)
{
	uint32 caller = finding->function;

	for (int level = 0; level < MAX_CALLER_LEVELS; level++)
	{
		PfsFinding *above = explainer->total_of[caller];

		/*
		 * The finding explains a caller's total that changed in the same direction, if it has
		 * nearly all of the gain.
		 */
		if (above != NULL && above != finding && above->status == finding->status &&
			fabs(finding_gain(finding)) >= EXPLAINING_PART * fabs(finding_gain(above)))
		{
			above->is_dropped = true;
			/* A function's own total needs no name of a caller. */
			if (caller != finding->function)
				finding->within = explainer->costs->functions[caller].name;
		}
		caller = main_caller(explainer->costs, caller);
		/* Callers may form a cycle. */
		if (caller == PFS_NO_FUNCTION || caller == finding->function)
			return;
	}
}

/*
 * Orders by the gain or loss, so that a finding explains only callers that are not explained yet.
 */
static int
compare_gains(const void *a, const void *b)
{
	double left = fabs(finding_gain(*(PfsFinding *const *) a));
	double right = fabs(finding_gain(*(PfsFinding *const *) b));

	return (left > right) - (left < right);
}

/* Gives findings their final status, and drops totals that others explain. */
static void
findings_explain(const Explainer *explainer)
{
	PfsDeployFindings *all = explainer->all;
	PfsFinding **sorted = PFS_ARRAY(PfsFinding *, all->count);
	uint32 count = 0;

	for (uint32 i = 0; i < all->count; i++)
	{
		PfsFinding *finding = &all->findings[i];

		CHECK_FOR_INTERRUPTS();
		if (finding->status != PFS_FINDING_REGRESSION && finding->status != PFS_FINDING_IMPROVEMENT)
			continue;
		if (finding_is_passing(finding))
			finding->status = PFS_FINDING_PASSING;
		else if (finding_is_moved(explainer, finding))
			finding->status = PFS_FINDING_MOVED;
		else
			sorted[count++] = finding;
	}
	qsort(sorted, count, sizeof(PfsFinding *), compare_gains);
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!sorted[i]->is_dropped)
			finding_explain_callers(explainer, sorted[i]);
	}
	pfree(sorted);
}

/* --- whether there is an answer --- */

/* Sums the samples of all hosts for each period of the base, and for the time after the deploy. */
static void
findings_weigh_sides(const PfsFunctionCells *cells, uint32 hosts, PfsDeployFindings *all,
					 double *paired_share)
{
	uint32 base_count = cells->slot_count - PFS_AFTER_SLOTS;
	double paired = 0;
	double after = 0;

	for (uint32 host = 0; host < hosts; host++)
	{
		const double *slots = cells->wholes + (Size) host * cells->slot_count;
		double base = 0;
		double new = after_sum(slots, base_count + PFS_SLOT_NEW, false);

		for (uint32 slot = 0; slot < base_count; slot++)
			base += slots[slot];
		all->base_samples += base;
		all->whole_after += new + after_sum(slots, base_count + PFS_SLOT_OLD, false);
		after += new;
		/* Samples of hosts that also have a base are paired. */
		if (base > 0)
			paired += new;
	}
	all->least_load = INFINITY;
	for (uint32 slot = 0; slot < base_count; slot++)
	{
		double sum = 0;
		double load = 0;

		for (uint32 host = 0; host < hosts; host++)
		{
			sum += cells->wholes[(Size) host * cells->slot_count + slot];
			load += cells_loads(cells)[(Size) host * cells->slot_count + slot];
		}
		all->periods += sum > 0;
		/* A load of 0 is unknown. */
		if (load <= 0)
			continue;
		all->least_load = Min(all->least_load, load);
		all->most_load = Max(all->most_load, load);
	}
	all->after_samples = after;
	*paired_share = after > 0 ? paired / after : 0;
}

static const char *
reason_before(const PfsFunctionCells *cells, const PfsDeployFindings *all,
			  const PfsFindingRules *rules)
{
	if (rules->reason != NULL)
		return rules->reason;
	if (cells->slot_count - PFS_AFTER_SLOTS < MIN_PERIODS)
		return "the base has fewer than 3 periods";
	if (all->base_samples <= 0)
		return "there are no samples before the deploy";
	if (all->after_samples <= 0)
		return "there are no samples after the deploy";
	if (all->periods < MIN_PERIODS)
		return "fewer than 3 periods of the base have samples";
	if (cells->function_count == 0 && cells->left_out > 0)
		return "work_mem is too small for the sums of one function";
	return NULL;
}

static const char *
reason_after(const PfsDeployFindings *all)
{
	if (all->design == PFS_DESIGN_CANARY && all->basis.hosts[0] < MIN_HOSTS)
		return "fewer than 3 hosts have the new version";
	if (all->design == PFS_DESIGN_CANARY && all->basis.hosts[1] < MIN_HOSTS)
		return "fewer than 3 hosts keep the old version";
	if (all->basis.hosts[0] < MIN_HOSTS || all->basis.hosts[1] < MIN_HOSTS)
		return "fewer than 3 hosts have samples before and after the deploy";
	/* slopes estimated from the base are not valid for loads far outside its range */
	if (all->most_load > 0 &&
		fabs(all->basis.load_change) > log(2) + log(all->most_load / all->least_load))
		return "the load changed more than twice as much as within the base";
	return NULL;
}

/* Explains the findings, and adds functions that are renamed, new or gone. */
static void
findings_finish(PfsDeployFindings *all, const PfsFunctionCells *cells, uint32 hosts,
				const PfsFunctionCosts *costs, const char **old_names, const PfsFindingRules *rules)
{
	Explainer explainer = { .all = all,
							.costs = costs,
							.total_of = PFS_ARRAY0(PfsFinding *, costs->count) };
	bool *has_self = PFS_ARRAY0(bool, costs->count);

	for (uint32 i = 0; i < all->count; i++)
	{
		if (all->findings[i].is_total)
			explainer.total_of[all->findings[i].function] = &all->findings[i];
		else
			has_self[all->findings[i].function] = true;
	}
	findings_explain(&explainer);
	/*
	 * A renamed function without a change has one row: of its own value, or of its total if only
	 * that was tested.
	 */
	for (uint32 i = 0; i < all->count; i++)
		if (all->findings[i].status == PFS_FINDING_NONE &&
			old_names[all->findings[i].function] != NULL &&
			(!all->findings[i].is_total || !has_self[all->findings[i].function]))
			all->findings[i].status = PFS_FINDING_RENAMED;
	all->count += findings_list_missing(cells, hosts, rules, all, all->findings + all->count);
	pfree(has_self);
	pfree(explainer.total_of);
}

PfsDeployFindings *
pfs_deploy_findings(const PfsFunctionCells *cells, const PfsHosts *hosts,
					const PfsFunctionCosts *costs, const char **old_names,
					const PfsFindingRules *rules)
{
	PfsDeployFindings *all = palloc0(sizeof(PfsDeployFindings));
	uint32 periods = cells->slot_count - PFS_AFTER_SLOTS + 1;
	PfsReference reference = { .changes = PFS_ARRAY(double, periods) };
	PfsReference later_reference = { .changes = PFS_ARRAY(double, periods) };
	PfsChangeBasis ignored;
	double paired_share;

	findings_weigh_sides(cells, hosts->count, all, &paired_share);
	all->design = rules->has_canary				? PFS_DESIGN_CANARY
				  : paired_share < LEAST_PAIRED ? PFS_DESIGN_UNPAIRED
												: PFS_DESIGN_PAIRED;
	all->reason = reason_before(cells, all, rules);
	/* Each function is listed at most as own value, as total and as missing. */
	all->findings = PFS_ARRAY(PfsFinding, 3 * (Size) cells->function_count);
	if (all->reason != NULL)
		return all;
	/* Own values come first, because totals use their reference. */
	for (int is_total = 0; is_total < 2; is_total++)
	{
		PfsFinding *findings = all->findings + all->count;
		uint32 count = findings_list(cells, hosts->count, is_total, rules, all, findings);
		Table table =
			findings_make_table(cells, hosts->count, findings, count, all->design, rules->quantum);

		findings_judge(&table, cells, rules, &reference, &later_reference,
					   is_total ? &ignored : &all->basis);
		all->tested[is_total] = count;
		all->found[is_total] = findings_find(findings, count, rules);
		all->count += count;
		table_free(&table);
	}
	/* A canary's groups share the traffic, so many changes do not point to it. */
	all->is_many =
		all->design != PFS_DESIGN_CANARY && pfs_changes_are_many(all->found[0], all->tested[0]);
	if (cells->rates != NULL)
		findings_judge_whole(cells, hosts->count, rules, all);
	all->basis.paired_share = paired_share;
	/* The last period is the time after the deploy. */
	all->reference = reference.changes[periods - 1];
	all->reference_error = sqrt(reference.variance);
	all->reason = reason_after(all);
	/* Findings of an invalid comparison are not returned. */
	if (all->reason != NULL)
	{
		all->count = 0;
		all->has_whole = false;
		all->is_many = false;
	}
	else
		findings_finish(all, cells, hosts->count, costs, old_names, rules);
	return all;
}
