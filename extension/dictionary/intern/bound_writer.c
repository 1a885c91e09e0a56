/*
 * bound_writer.c
 *		Looks up once per transaction whether selectors bind a role, and keeps the ids that the role
 *		may use.
 *
 * Selectors are stored by the role's name, which a dump has, but ALTER ROLE changes. A role is
 * therefore also bound while it has EXECUTE on profstore_internal.bound_writer(): privileges belong
 * to the role, whatever its name. A renamed role is bound by no selector, so it stores nothing.
 *
 * The ids are those of one role under one set of selectors. They use at most some 100 MB: at
 * MAX_IDS of a kind all are forgotten, and the writer interns again.
 */
#include "dictionary/intern/bound_writer.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/hash.h"
#include "base/relations.h"
#include "dictionary/intern/calling_role.h"
#include "dictionary/intern/intern_arrays.h"

PG_FUNCTION_INFO_V1(profstore_require_proven);

#define MAX_IDS (1024 * 1024)

typedef struct ProvenId
{
	int64 id;
	char status;
} ProvenId;

#define SH_PREFIX		   proven
#define SH_ELEMENT_TYPE	   ProvenId
#define SH_KEY_TYPE		   int64
#define SH_KEY			   id
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Result of looking up a role, valid for one transaction. */
static struct
{
	Oid role;
	LocalTransactionId transaction;
	bool is_bound;
	uint64 selectors; /* hash of the role's selectors and of the table's OID */
} looked_up;

static Oid proven_for; /* the role to which the ids were returned */
static uint64 proven_selectors;
static MemoryContext proven_context;
static proven_hash *proven_ids[PFS_PROVEN_COUNT];

/*
 * Returns true if the role, or one whose privileges it has, was granted EXECUTE on
 * profstore_internal.bound_writer(). The owner's own privilege binds nobody.
 */
static bool
has_mark(Oid role)
{
	Oid schema = get_namespace_oid("profstore_internal", true);
	HeapTuple function =
		SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum("bound_writer"),
						PointerGetDatum(buildoidvector(NULL, 0)), ObjectIdGetDatum(schema));
	bool is_marked = false;
	bool is_null;
	Datum privileges;

	if (!HeapTupleIsValid(function))
		return false;
	privileges = SysCacheGetAttr(PROCNAMEARGSNSP, function, Anum_pg_proc_proacl, &is_null);
	if (!is_null)
	{
		const Acl *acl = DatumGetAclP(privileges);
		const Oid owner = ((Form_pg_proc) GETSTRUCT(function))->proowner;

		for (int i = 0; i < ACL_NUM(acl) && !is_marked; i++)
		{
			const AclItem *item = &ACL_DAT(acl)[i];

			is_marked = (ACLITEM_GET_PRIVS(*item) & ACL_EXECUTE) != 0 &&
						/*
						 * A grant to PUBLIC would bind every role, also those that nobody meant to
						 * bind.
						 */
						item->ai_grantee != owner && item->ai_grantee != ACL_ID_PUBLIC &&
						has_privs_of_role(role, item->ai_grantee);
		}
	}
	ReleaseSysCache(function);
	return is_marked;
}

/* Returns true if profstore.bound_writers has selectors of the role; adds them to the hash. */
static bool
selectors_look_up(Oid table_id, Oid role, uint64 *hash)
{
	const AttrNumber role_column = get_attnum(table_id, "role");
	const AttrNumber selector_column = get_attnum(table_id, "selector");
	Relation table = table_open(table_id, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	/*
	 * The latest rows, whatever snapshot the transaction uses: a selector that was taken away must
	 * not be used any longer.
	 */
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = table_beginscan(table, snapshot, 0, NULL);
	bool has_any = false;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool is_null;
		char *name = TextDatumGetCString(slot_getattr(slot, role_column, &is_null));
		Oid bound = get_role_oid(name, true);
		char *selector;

		/* A selector binds the members of its role, too. */
		if (!OidIsValid(bound) || !has_privs_of_role(role, bound))
			continue;
		selector = TextDatumGetCString(slot_getattr(slot, selector_column, &is_null));
		*hash = hash_bytes_extended((const unsigned char *) selector, (int) strlen(selector),
									/*
									 * The hash depends on the order of rows, which costs at most
									 * that ids are forgotten without need.
									 */
									pfs_hash64(*hash ^ bound));
		has_any = true;
	}
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
	table_close(table, AccessShareLock);
	return has_any;
}

/* Returns true if selectors bind a role. The answer is looked up once per transaction. */
static bool
role_is_bound(Oid role)
{
	LocalTransactionId transaction = pfs_local_transaction();

	/* SET ROLE changes the role within a transaction. */
	if (looked_up.role != role || looked_up.transaction != transaction)
	{
		/* an earlier version of the extension has no such table */
		Oid table_id = pfs_relation_find("bound_writers");
		uint64 selectors = table_id;

		looked_up.is_bound = OidIsValid(table_id) && !superuser_arg(role) &&
							 (selectors_look_up(table_id, role, &selectors) || has_mark(role));
		looked_up.selectors = selectors;
		looked_up.role = role;
		looked_up.transaction = transaction;
	}
	return looked_up.is_bound;
}

static void
proven_forget(Oid role)
{
	if (proven_context == NULL)
		proven_context =
			AllocSetContextCreate(TopMemoryContext, "profstore proven ids", ALLOCSET_DEFAULT_SIZES);
	/* An error in between leaves no role, so that no half-made table is used. */
	proven_for = InvalidOid;
	MemoryContextReset(proven_context);
	for (int i = 0; i < PFS_PROVEN_COUNT; i++)
		proven_ids[i] = proven_create(proven_context, 64, NULL);
	proven_for = role;
	proven_selectors = looked_up.selectors;
}

/*
 * Returns true if the kept ids were returned to the role that role_is_bound() has looked up, under
 * its present selectors. With other selectors a series may no longer match, and in another
 * installation of the extension an id has another meaning.
 */
static bool
proven_belong_to(Oid role)
{
	return proven_for == role && proven_selectors == looked_up.selectors;
}

static void
proven_add_id(PfsProvenKind kind, Oid role, int64 id)
{
	bool found;

	/* Forgetting is always safe: the writer interns again. */
	if (!proven_belong_to(role) || proven_ids[kind]->members >= MAX_IDS)
		proven_forget(role);
	proven_insert(proven_ids[kind], id, &found);
}

static void
proven_require_id(PfsProvenKind kind, Oid role, int64 id)
{
	static const char *const names[] = { "series", "function", "location", "stack" };

	if (!proven_belong_to(role) || proven_lookup(proven_ids[kind], id) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s " INT64_FORMAT " was not interned in this session", names[kind], id),
				 errdetail("A writer with a selector may use only ids that were returned to it."),
				 errhint("Intern it again.")));
}

/* Returns true if all series match the selectors of the role. */
static bool
series_match(const int32 *ids, uint32 count, const char *role)
{
	static SPIPlanPtr plan;
	Oid types[] = { INT4ARRAYOID, TEXTOID };
	Datum values[] = { PointerGetDatum(pfs_int4_array(ids, count)), CStringGetTextDatum(role) };
	bool is_null;
	bool match;

	SPI_connect();
	if (plan == NULL)
	{
		SPIPlanPtr made = SPI_prepare("SELECT profstore_internal.series_in_bounds($1, $2)",
									  lengthof(types), types);

		if (made == NULL || SPI_keepplan(made) != 0)
			elog(ERROR, "could not prepare the check of series");
		/* Keep only a plan that was saved: a static pointer outlives the transaction. */
		plan = made;
	}
	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not check series");
	match = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	SPI_finish();
	return match;
}

/*
 * Raises an error unless all series match. Runs with the rights of the extension's owner, because
 * an import calls it as the writer.
 */
static void
require_matching(const int32 *ids, uint32 count)
{
	Relation table = pfs_table_open("bound_writers", AccessShareLock);
	const char *role = pfs_calling_role();
	Oid user;
	int context;
	bool match;

	GetUserIdAndSecContext(&user, &context);
	/* An error restores the user, because the end of the (sub)transaction does. */
	SetUserIdAndSecContext(table->rd_rel->relowner, context | SECURITY_LOCAL_USERID_CHANGE);
	match = series_match(ids, count, role);
	SetUserIdAndSecContext(user, context);
	table_close(table, AccessShareLock);
	if (!match)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("series does not match the selector of role \"%s\"", role),
						errhint("The owner of the extension can change it: SELECT "
								"profstore.grant_write(role, selector).")));
}

void
pfs_proven_add(PfsProvenKind kind, const int32 *ids, uint32 count)
{
	Oid role = pfs_calling_role_id();

	if (!role_is_bound(role))
		return;
	/* Only series have labels, which selectors match. */
	if (kind == PFS_PROVEN_SERIES)
		require_matching(ids, count);
	for (uint32 i = 0; i < count; i++)
		proven_add_id(kind, role, ids[i]);
}

void
pfs_proven_add_stacks(const int64 *ids, uint32 count)
{
	Oid role = pfs_calling_role_id();

	if (!role_is_bound(role))
		return;
	for (uint32 i = 0; i < count; i++)
		proven_add_id(PFS_PROVEN_STACK, role, ids[i]);
}

void
pfs_proven_require(PfsProvenKind kind, const int32 *ids, uint32 count)
{
	Oid role = pfs_calling_role_id();

	if (!role_is_bound(role))
		return;
	for (uint32 i = 0; i < count; i++)
		proven_require_id(kind, role, ids[i]);
}

static bool
is_part_of_samples(Relation relation)
{
	return relation->rd_rel->relispartition &&
		   list_member_oid(get_partition_ancestors(RelationGetRelid(relation)),
						   pfs_relation_find("samples"));
}

void
pfs_proven_require_rows(Relation relation, TupleTableSlot **rows, uint32 count)
{
	Oid role = GetUserId();
	AttrNumber series;
	AttrNumber stack;

	/* role_is_bound() is cached, so most inserts end here. */
	if (!role_is_bound(role) || !is_part_of_samples(relation))
		return;
	series = get_attnum(RelationGetRelid(relation), "series_id");
	stack = get_attnum(RelationGetRelid(relation), "stack_id");
	for (uint32 i = 0; i < count; i++)
	{
		bool is_null;
		int64 stack_id = DatumGetInt64(slot_getattr(rows[i], stack, &is_null));

		proven_require_id(PFS_PROVEN_SERIES, role,
						  DatumGetInt32(slot_getattr(rows[i], series, &is_null)));
		/* The empty stack is nobody's. */
		if (stack_id != 0)
			proven_require_id(PFS_PROVEN_STACK, role, stack_id);
	}
}

/* require_proven(series_ids int4[], stack_ids int8[]) */
PGDLLEXPORT Datum
profstore_require_proven(PG_FUNCTION_ARGS)
{
	ArrayType *series = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType *stacks = PG_GETARG_ARRAYTYPE_P(1);
	const int64 *stack_ids = (const int64 *) ARR_DATA_PTR(stacks);
	uint32 stack_count = pfs_array_check("require_proven", stacks);
	Oid role = pfs_calling_role_id();

	pfs_proven_require(PFS_PROVEN_SERIES, (const int32 *) ARR_DATA_PTR(series),
					   pfs_array_check("require_proven", series));
	if (role_is_bound(role))
		for (uint32 i = 0; i < stack_count; i++)
			if (stack_ids[i] != 0)
				proven_require_id(PFS_PROVEN_STACK, role, stack_ids[i]);
	PG_RETURN_VOID();
}
