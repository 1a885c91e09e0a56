/*
 * query_labels.c
 *		Publishes the labels of the running query in this process's memory.
 *
 * The reader is an interrupt on this process's CPU: it sees memory in program order, so compiler
 * barriers are enough. Texts are changed only while the set does not count their labels.
 */
#include "admin/query_labels.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/planner.h"
#include "port/pg_bswap.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

/* First bytes of the trace of every query: "pgquery" and a zero; see insight/queries.sql. */
#define QUERY_TRACE UINT64CONST(0x7067717565727900)

#define ID_DIGITS 16

typedef struct LabelText
{
	Size length;
	const char *bytes;
} LabelText;

typedef struct Label
{
	LabelText key;
	LabelText value;
} Label;

typedef struct LabelSet
{
	const Label *labels;
	volatile Size count;
	Size capacity;
} LabelSet;

/* Numbers of labels: of a backend whose names are known, and while it runs a query. */
enum
{
	LABELS_OF_BACKEND = 2,
	LABELS_OF_QUERY = 4
};

/*
 * Memory that the BPF programs read. It is initialized and lies in one page, because they cannot
 * read a page that this process has not touched. current is the variable that leads to the set.
 */
typedef struct PublishedLabels
{
	const LabelSet *volatile current; /* &set, or NULL */
	LabelSet set;
	Label labels[LABELS_OF_QUERY];
	char database_key[sizeof("database")];
	char role_key[sizeof("role")];
	char trace_key[sizeof("trace_id")];
	char query_key[sizeof("span_id")];
	char database[NAMEDATALEN];
	char role[NAMEDATALEN];
	char trace[2 * ID_DIGITS];
	char query[ID_DIGITS];
} pg_attribute_aligned(1024) PublishedLabels;

StaticAssertDecl(sizeof(PublishedLabels) == 1024, "the labels are in one page");

PGDLLEXPORT extern const uint32 profstore_labels_version;
PGDLLEXPORT extern PublishedLabels profstore_current_labels;

const uint32 profstore_labels_version = 1;

#define published profstore_current_labels

PublishedLabels profstore_current_labels = {
	.current = NULL,
	.set = { published.labels, 0, LABELS_OF_QUERY },
	.labels = { { { sizeof("database") - 1, published.database_key }, { 0, published.database } },
				{ { sizeof("role") - 1, published.role_key }, { 0, published.role } },
				{ { sizeof("trace_id") - 1, published.trace_key },
				  { sizeof(published.trace), published.trace } },
				{ { sizeof("span_id") - 1, published.query_key },
				  { sizeof(published.query), published.query } } },
	.database_key = "database",
	.role_key = "role",
	.trace_key = "trace_id",
	.query_key = "span_id",
};

static bool query_labels_enabled = false;
static bool in_statement = false; /* a statement of the client runs; others run inside it */
static bool in_commit = false;	  /* its transaction ends; its labels still apply */
static TimestampTz commit_begin;  /* start of the statement that is in_commit */
static Oid named_role = InvalidOid;

static planner_hook_type previous_planner = NULL;
static ExecutorStart_hook_type previous_start = NULL;
static ExecutorRun_hook_type previous_run = NULL;
static ExecutorFinish_hook_type previous_finish = NULL;
static ExecutorEnd_hook_type previous_end = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

/* Returns the eight hexadecimal digits of a number, in the order of memory. */
static inline uint64
hex_digits(uint32 number)
{
	uint64 digits = number;
	uint64 are_letters; /* 1 in the byte of each digit from 10 on */

	/* Spreads the eight digits over the bytes of a word. */
	digits = (digits << 16 | digits) & UINT64CONST(0x0000FFFF0000FFFF);
	digits = (digits << 8 | digits) & UINT64CONST(0x00FF00FF00FF00FF);
	digits = (digits << 4 | digits) & UINT64CONST(0x0F0F0F0F0F0F0F0F);
	/* 6 added to a digit from 10 on sets its bit 4. */
	are_letters = (digits + UINT64CONST(0x0606060606060606)) >> 4 & UINT64CONST(0x0101010101010101);
	/* The first digit gets the lowest address. */
	return pg_hton64(digits + UINT64CONST(0x3030303030303030) + are_letters * ('a' - '0' - 10));
}

static void
write_id_digits(char *digits, uint64 number)
{
	uint64 halves[2] = { hex_digits((uint32) (number >> 32)), hex_digits((uint32) number) };

	memcpy(digits, halves, ID_DIGITS);
}

static void
label_set_value(Label *label, char text[NAMEDATALEN], char *name)
{
	strlcpy(text, name == NULL ? "" : name, NAMEDATALEN);
	label->value.length = strlen(text);
	if (name != NULL)
		pfree(name);
}

/*
 * Returns the client's current role. In a parallel worker, GetUserId() may be the owner of a
 * security definer function that runs the query.
 */
static inline Oid
client_role(void)
{
	return IsParallelWorker() ? GetOuterUserId() : GetUserId();
}

/*
 * Looks up the names of the database and the client's role, with the set withdrawn meanwhile. While
 * no catalog can be read, the set keeps the names that it has.
 */
static pg_noinline void
name_backend(void)
{
	char *database;
	char *role;

	if (!OidIsValid(MyDatabaseId) || !IsTransactionState())
		return;
	database = get_database_name(MyDatabaseId);
	role = GetUserNameFromId(client_role(), true);
	/* The reader must not find the set while its texts change. */
	published.current = NULL;
	pg_compiler_barrier();
	label_set_value(&published.labels[0], published.database, database);
	label_set_value(&published.labels[1], published.role, role);
	write_id_digits(published.trace, QUERY_TRACE);
	write_id_digits(published.trace + ID_DIGITS, GetSystemIdentifier());
	named_role = client_role();
	/* The texts must be complete before the reader can find them. */
	pg_compiler_barrier();
	published.current = &published.set;
}

static inline void
withdraw_query(void)
{
	published.set.count = LABELS_OF_BACKEND;
	pg_compiler_barrier();
}

/*
 * Begins a statement of the client, or one step of it: the labels name it until end_statement().
 * Both are inline, because a short statement has five steps.
 */
static pg_attribute_always_inline void
begin_statement(uint64 query_id)
{
	static uint64 written_id = 0;

	in_commit = false;
	withdraw_query();
	if (unlikely(named_role != client_role()))
		name_backend();
	in_statement = true; /* not earlier: an error in the lookup of names ends no statement */
	/* If the plan has no id, the id that the server shows is used. */
	if (unlikely(query_id == 0))
		query_id = (uint64) pgstat_get_my_query_id();
	if (query_id == 0)
		return;
	/* Repetitions of a statement need no new digits. */
	if (query_id != written_id)
	{
		write_id_digits(published.query, query_id);
		written_id = query_id;
	}
	/* The labels must be complete before the set counts them. */
	pg_compiler_barrier();
	published.set.count = LABELS_OF_QUERY;
	pg_compiler_barrier();
}

/*
 * Ends a statement of the client. If the transaction ends with the statement, the work of its
 * commit counts for it, too: query_labels_end_transaction() follows. Statements without a portal
 * are those of a background worker or a function outside of statements, whose transaction goes on.
 */
static pg_attribute_always_inline void
end_statement(bool ends_transaction)
{
	in_statement = false;
	in_commit = ends_transaction && ActivePortal != NULL;
	if (in_commit)
		commit_begin = GetCurrentStatementStartTimestamp();
	else
		withdraw_query();
}

static void
query_labels_end_transaction(XactEvent event, void *context)
{
	/* At these events the work of the commit is still to come. */
	if (in_statement || event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE)
		return;
	in_commit = false;
	withdraw_query();
}

/*
 * Returns true for statements that a transaction runs while it ends: deferred triggers, and their
 * or the client's cursors, whose portals have names. A client may send further statements before
 * its transaction ends, in later messages.
 */
static inline bool
is_part_of_commit(void)
{
	return in_commit && commit_begin == GetCurrentStatementStartTimestamp() &&
		   (ActivePortal == NULL || *ActivePortal->name != '\0');
}

/* Returns true if a hook is called for a statement of the client that begins. */
static inline bool
statement_begins(void)
{
	return query_labels_enabled && !in_statement && !is_part_of_commit();
}

static PlannedStmt *
call_planner(Query *query, const char *text, int options, ParamListInfo parameters)
{
	if (previous_planner != NULL)
		return previous_planner(query, text, options, parameters);
	return standard_planner(query, text, options, parameters);
}

static PlannedStmt *
query_labels_plan(Query *query, const char *text, int options, ParamListInfo parameters)
{
	PlannedStmt *plan;

	if (!statement_begins())
		return call_planner(query, text, options, parameters);
	begin_statement((uint64) query->queryId);
	PG_TRY();
	{
		plan = call_planner(query, text, options, parameters);
	}
	PG_FINALLY();
	{
		end_statement(false);
	}
	PG_END_TRY();
	return plan;
}

static void
call_start(QueryDesc *query, int flags)
{
	if (previous_start != NULL)
		previous_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

static void
query_labels_start(QueryDesc *query, int flags)
{
	if (!statement_begins())
	{
		call_start(query, flags);
		return;
	}
	begin_statement((uint64) query->plannedstmt->queryId);
	PG_TRY();
	{
		call_start(query, flags);
	}
	PG_FINALLY();
	{
		end_statement(false);
	}
	PG_END_TRY();
}

static void
call_run(QueryDesc *query, ScanDirection direction, uint64 count PFS_EXECUTE_ONCE_PARAMETER)
{
	if (previous_run != NULL)
		previous_run(query, direction, count PFS_EXECUTE_ONCE);
	else
		standard_ExecutorRun(query, direction, count PFS_EXECUTE_ONCE);
}

/*
 * Shows the statement's query id if the server shows none, because parallel workers inherit the
 * shown id. Before 18, the server shows none while it executes a plan that an earlier message has
 * made (extended protocol).
 */
static inline void
report_query_id(const PlannedStmt *statement)
{
	if (statement->queryId != 0 && pgstat_get_my_query_id() == 0)
		pgstat_report_query_id(statement->queryId, false);
}

static void
query_labels_run(QueryDesc *query, ScanDirection direction, uint64 count PFS_EXECUTE_ONCE_PARAMETER)
{
	if (!statement_begins())
	{
		call_run(query, direction, count PFS_EXECUTE_ONCE);
		return;
	}
	begin_statement((uint64) query->plannedstmt->queryId);
	report_query_id(query->plannedstmt);
	PG_TRY();
	{
		call_run(query, direction, count PFS_EXECUTE_ONCE);
	}
	PG_FINALLY();
	{
		end_statement(!IsTransactionBlock());
	}
	PG_END_TRY();
}

/* Runs ExecutorFinish, which has the triggers' work, or ExecutorEnd. */
static void
run_last_step(QueryDesc *query, ExecutorFinish_hook_type step)
{
	if (!statement_begins())
	{
		step(query);
		return;
	}
	begin_statement((uint64) query->plannedstmt->queryId);
	PG_TRY();
	{
		step(query);
	}
	PG_FINALLY();
	{
		end_statement(!IsTransactionBlock());
	}
	PG_END_TRY();
}

static void
query_labels_finish(QueryDesc *query)
{
	ExecutorFinish_hook_type step =
		previous_finish != NULL ? previous_finish : standard_ExecutorFinish;

	/* ExecutorFinish has no work for a plain SELECT. */
	if (query->operation == CMD_SELECT && !query->plannedstmt->hasModifyingCTE)
		step(query);
	else
		run_last_step(query, step);
}

static void
query_labels_end(QueryDesc *query)
{
	run_last_step(query, previous_end != NULL ? previous_end : standard_ExecutorEnd);
}

/*
 * Returns true for COMMIT and other statements after which the transaction does its work. A failed
 * transaction has no such work.
 */
static bool
utility_ends_transaction(const Node *statement)
{
	/* Outside of a block, each statement ends its transaction. */
	if (!IsTransactionBlock())
		return true;
	if (IsAbortedTransactionBlockState() || !IsA(statement, TransactionStmt))
		return false;
	switch (((const TransactionStmt *) statement)->kind)
	{
		case TRANS_STMT_COMMIT:
		case TRANS_STMT_ROLLBACK:
		case TRANS_STMT_PREPARE:
			return true;
		default:
			return false;
	}
}

static void
call_utility(PlannedStmt *statement, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo parameters, QueryEnvironment *environment,
			 DestReceiver *destination, QueryCompletion *completion)
{
	ProcessUtility_hook_type next =
		previous_utility != NULL ? previous_utility : standard_ProcessUtility;

	next(statement, text, read_only_tree, context, parameters, environment, destination,
		 completion);
}

/*
 * Labels utility statements, except EXECUTE: the statement that it executes is labelled by the
 * hooks of the executor.
 */
static void
query_labels_utility(PlannedStmt *statement, const char *text, bool read_only_tree,
					 ProcessUtilityContext context, ParamListInfo parameters,
					 QueryEnvironment *environment, DestReceiver *destination,
					 QueryCompletion *completion)
{
	bool ends_transaction;

	if (!statement_begins() || IsA(statement->utilityStmt, ExecuteStmt))
	{
		call_utility(statement, text, read_only_tree, context, parameters, environment, destination,
					 completion);
		return;
	}
	begin_statement((uint64) statement->queryId);
	/* The statement may end the block, so the state is read before it runs. */
	ends_transaction = utility_ends_transaction(statement->utilityStmt);
	PG_TRY();
	{
		call_utility(statement, text, read_only_tree, context, parameters, environment, destination,
					 completion);
	}
	PG_FINALLY();
	{
		end_statement(ends_transaction);
	}
	PG_END_TRY();
}

/*
 * Assign hook of profstore.query_labels. Enables query ids, which compute_query_id = auto computes
 * only once a module has asked for them.
 */
static void
query_labels_assign(bool enabled, void *extra)
{
	if (enabled)
		EnableQueryId();
	else
	{
		published.current = NULL;
		named_role = InvalidOid;
	}
}

void
pfs_query_labels_init(void)
{
	DefineCustomBoolVariable("profstore.query_labels",
							 "Lets the agent see the id of the running query.",
							 "Samples of this server's backends then have the query's id, the "
							 "database and the role.",
							 &query_labels_enabled, false, PGC_SUSET, 0, NULL, query_labels_assign,
							 NULL);
	previous_planner = planner_hook;
	planner_hook = query_labels_plan;
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = query_labels_start;
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = query_labels_run;
	previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = query_labels_finish;
	previous_end = ExecutorEnd_hook;
	ExecutorEnd_hook = query_labels_end;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = query_labels_utility;
	RegisterXactCallback(query_labels_end_transaction, NULL);
}
