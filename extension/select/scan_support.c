/*
 * scan_support.c
 *		The planner support function of all functions that read samples: rows and costs from
 *		their arguments.
 *
 * Ranges and limits are found by argument names, which all these functions share. For values that
 * are unknown during planning (a parameter, a column), the constants of CREATE FUNCTION are used.
 */
#include "profstore.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/distributed.h"
#include "base/relations.h"
#include "select/estimate.h"
#include "store/segment/storage.h"

/* Cost of a decoded row, in units of cpu_operator_cost. */
#define DECODED_ROW_COST 0.25

/* Fixed cost of a function call in operators: finding series, reading names, building the tree. */
#define FIXED_OPERATORS 1000

/* Largest number of nodes of a tree that one sample adds. */
#define NODES_PER_SAMPLE 16

PG_FUNCTION_INFO_V1(profstore_scan_support);

typedef struct Call
{
	PlannerInfo *root;
	List *arguments;
	char **names;
	int name_count;
	double row_count; /* number of rows that CREATE FUNCTION declares */
} Call;

/*
 * Finds the call's arguments and their names. Returns false if they are not known. Also returns
 * false if there is no root, as when the planner considers inlining a function around the call,
 * because then nothing can evaluate the arguments.
 */
static bool
get_call(PlannerInfo *root, Oid function_id, Node *node, Call *call)
{
	HeapTuple tuple;
	Oid *types;
	char *modes;

	if (root == NULL || node == NULL || !IsA(node, FuncExpr))
		return false;
	call->root = root;
	call->arguments = ((FuncExpr *) node)->args;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function_id));
	if (!HeapTupleIsValid(tuple))
		return false;
	call->name_count = get_func_arg_info(tuple, &types, &call->names, &modes);
	call->row_count = ((Form_pg_proc) GETSTRUCT(tuple))->prorows;
	ReleaseSysCache(tuple);
	return call->names != NULL;
}

/* Returns the argument of a name; NULL if the function has none, or its value is unknown. */
static const Const *
find_argument(const Call *call, const char *name)
{
	int count = Min(call->name_count, list_length(call->arguments));

	for (int i = 0; i < count; i++)
	{
		Node *value;

		if (call->names[i] == NULL || strcmp(call->names[i], name) != 0)
			continue;
		value = estimate_expression_value(call->root, list_nth(call->arguments, i));
		return IsA(value, Const) ? (const Const *) value : NULL;
	}
	return NULL;
}

/*
 * Estimates a range. Reading the directory takes time, and the planner asks several times, so the
 * last answers of a statement are cached.
 */
static PfsScanEstimate
estimate_range(TimestampTz from, TimestampTz to)
{
	static struct
	{
		TimestampTz statement;
		CommandId command;
		TimestampTz from;
		TimestampTz to;
		PfsScanEstimate estimate;
	} answers[2];
	static int oldest = 0;
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	CommandId command = GetCurrentCommandId(false);
	int place;

	for (int i = 0; i < (int) lengthof(answers); i++)
		if (answers[i].statement == statement && answers[i].command == command &&
			answers[i].from == from && answers[i].to == to)
			return answers[i].estimate;
	place = oldest;
	oldest = (oldest + 1) % (int) lengthof(answers);
	answers[place].statement = 0;
	answers[place].estimate = pfs_sample_scan_estimate(from, to);
	answers[place].command = command;
	answers[place].from = from;
	answers[place].to = to;
	answers[place].statement = statement;
	return answers[place].estimate;
}

/* Adds the range between two arguments; returns false if it is unknown. */
static bool
estimate_add_range(const Call *call, const char *from_name, const char *to_name,
				   PfsScanEstimate *sum)
{
	const Const *from = find_argument(call, from_name);
	const Const *to = find_argument(call, to_name);
	PfsScanEstimate estimate = { 0, 0, 0 };

	if (from == NULL || to == NULL)
		return false;
	if (!from->constisnull && !to->constisnull)
		estimate = estimate_range(DatumGetTimestampTz(from->constvalue),
								  DatumGetTimestampTz(to->constvalue));
	sum->sample_count += estimate.sample_count;
	sum->decoded_rows += estimate.decoded_rows;
	sum->byte_count += estimate.byte_count;
	return true;
}

static bool
has_argument(const Call *call, const char *name)
{
	for (int i = 0; i < call->name_count; i++)
		if (call->names[i] != NULL && strcmp(call->names[i], name) == 0)
			return true;
	return false;
}

/*
 * Estimates a call. A user who may not read samples gets no estimate: a plan must not reveal their
 * number.
 */
static bool
estimate_call(const Call *call, PfsScanEstimate *estimate)
{
	Oid samples = pfs_relation_find("samples");

	*estimate = (PfsScanEstimate){ 0, 0, 0 };
	/* this server's directory has no entries for shards on other nodes */
	if (!ActiveSnapshotSet() || !OidIsValid(samples) || pfs_samples_are_spread() ||
		pg_class_aclcheck(samples, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return false;
	if (!estimate_add_range(call, "from_ts", "to_ts", estimate))
		return false;
	return !has_argument(call, "base_from") ||
		   estimate_add_range(call, "base_from", "base_to", estimate);
}

static bool
estimate_rows(SupportRequestRows *request)
{
	Call call;
	PfsScanEstimate estimate;
	const Const *limit;
	bool by_nodes;

	if (!get_call(request->root, request->funcid, request->node, &call) ||
		!estimate_call(&call, &estimate))
		return false;
	by_nodes = has_argument(&call, "max_nodes");
	limit = find_argument(&call, by_nodes ? "max_nodes" : "max_rows");
	request->rows = estimate.sample_count * NODES_PER_SAMPLE;
	if (limit != NULL && !limit->constisnull)
		request->rows = Min(request->rows, Max(DatumGetInt32(limit->constvalue), 0));
	else if (limit == NULL)
		request->rows = Min(request->rows, call.row_count);
	request->rows = clamp_row_est(request->rows);
	return true;
}

static bool
estimate_cost(SupportRequestCost *request)
{
	Call call;
	PfsScanEstimate estimate;
	double random_cost;
	double page_cost;

	if (!get_call(request->root, request->funcid, request->node, &call) ||
		!estimate_call(&call, &estimate))
		return false;
	get_tablespace_page_costs(InvalidOid, &random_cost, &page_cost);
	request->startup = 0;
	request->per_tuple = FIXED_OPERATORS * cpu_operator_cost +
						 ceil(estimate.byte_count / BLCKSZ) * page_cost +
						 estimate.decoded_rows * DECODED_ROW_COST * cpu_operator_cost;
	return true;
}

/* scan_support(internal) */
PGDLLEXPORT Datum
profstore_scan_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore estimate", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	bool is_answered = false;

	if (IsA(request, SupportRequestRows))
		is_answered = estimate_rows((SupportRequestRows *) request);
	else if (IsA(request, SupportRequestCost))
		is_answered = estimate_cost((SupportRequestCost *) request);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	PG_RETURN_POINTER(is_answered ? request : NULL);
}
