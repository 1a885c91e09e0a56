/*
 * agg_spec.h
 *		An aggregation, as the planner recognises it and the executor runs it: tables, keys,
 *		aggregates.
 *
 * In the plan, custom_scan_tlist has the keys and then the aggregates, as in the query. Data
 * derived from them are in custom_private, and the values of quals in custom_exprs.
 */
#ifndef PFS_AGG_SPEC_H
#define PFS_AGG_SPEC_H

#include "profstore.h"

#include "nodes/pathnodes.h"

#include "tableam/nodes/agg_kernel.h"
#include "tableam/nodes/pushdown.h"

typedef struct PfsAggSpec
{
	PfsAggKind kind;
	AttrNumber attnum; /* attribute number of the argument; 0 for COUNT_ROWS */
	Oid type;		   /* type of the argument, base type */
	List *filter;	   /* PfsPushedQual of the FILTER clause */
} PfsAggSpec;

typedef struct PfsAggregation
{
	Oid table;	   /* the table whose attribute numbers are used in this struct */
	List *scanned; /* Oids of the profstore tables to scan: the table itself, or its partitions */
	List *quals;   /* PfsPushedQual of the WHERE clause */
	List *keys;	   /* expressions, each over one column */
	List *key_columns; /* attribute numbers of these columns, a list of int */
	List *aggrefs;	   /* Aggref */
	List *aggregates;  /* PfsAggSpec of each */
	bool is_partial;   /* results are transition states for a Finalize node */
} PfsAggregation;

/* Fills in the spec of an aggregate; returns false if it is not supported. */
bool pfs_agg_translate(const Aggref *aggref, Index index, PfsAggSpec *spec);
/* Returns true if an expression can be a key: it must use exactly one column, *attnum. */
bool pfs_agg_translate_key(Expr *key, Index index, AttrNumber *attnum);
/* Returns true if a key is the stored column itself. */
bool pfs_agg_key_is_column(Expr *key);

/*
 * Convert an aggregation to the lists of a plan, and back. Keys and aggrefs are in
 * custom_scan_tlist.
 */
List *pfs_aggregation_to_private(const PfsAggregation *aggregation, List **values);
PfsAggregation *pfs_aggregation_of_plan(const CustomScan *plan);

#endif
