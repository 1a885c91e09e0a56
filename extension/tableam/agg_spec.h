/*
 * agg_spec.h
 *		An aggregation as the planner recognises it and the executor runs it: tables, keys,
 *		aggregates.
 *
 * In the plan, custom_scan_tlist has the keys and then the aggregates, as the query has them. What
 * follows from them is in custom_private, and the values of quals are in custom_exprs.
 */
#ifndef PFS_AGG_SPEC_H
#define PFS_AGG_SPEC_H

#include "profstore.h"

#include "nodes/pathnodes.h"

#include "tableam/agg_kernel.h"
#include "tableam/pushdown.h"

typedef struct PfsAggSpec
{
	PfsAggKind kind;
	AttrNumber attnum; /* of the argument; 0 for COUNT_ROWS */
	Oid type;		   /* of the argument, base type */
	List *filter;	   /* PfsPushedQual of the FILTER clause */
} PfsAggSpec;

typedef struct PfsAggregation
{
	Oid table;		   /* attribute numbers are this one's */
	List *scanned;	   /* Oids of the profstore tables to scan: itself, or its partitions */
	List *quals;	   /* PfsPushedQual of the WHERE clause */
	List *keys;		   /* expressions, each of one column */
	List *key_columns; /* attribute numbers of these columns, a list of int */
	List *aggrefs;	   /* Aggref */
	List *aggregates;  /* PfsAggSpec of each */
	bool is_partial;   /* results are transition states for a Finalize node */
} PfsAggregation;

/* The aggregate, if we compute it. */
bool pfs_agg_translate(const Aggref *aggref, Index index, PfsAggSpec *spec);
/* Whether an expression of one column can be a key: its column. */
bool pfs_agg_translate_key(Expr *key, Index index, AttrNumber *attnum);
/* Whether a key that was translated is the column itself, as stored. */
bool pfs_agg_key_is_column(Expr *key);

/* For plans; keys and aggrefs travel in custom_scan_tlist. */
List *pfs_aggregation_to_private(const PfsAggregation *aggregation, List **values);
PfsAggregation *pfs_aggregation_of_plan(const CustomScan *plan);

#endif
