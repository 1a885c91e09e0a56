/*
 * srf.h
 *		Set-returning functions that return all their rows at once.
 */
#ifndef PFS_SRF_H
#define PFS_SRF_H

#include "profstore.h"

#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

typedef struct PfsResult
{
	Tuplestorestate *store;
	TupleDesc descriptor;
	void *taker; /* NULL: rows go to the tuplestore */
} PfsResult;

/*
 * Passed instead of a ReturnSetInfo by callers that consume rows directly (ProfstoreFlame). The
 * mode PFS_SFRM_TAKER identifies it.
 */
typedef struct PfsTakerInfo
{
	ReturnSetInfo info;
	void *taker;
} PfsTakerInfo;

#define PFS_SFRM_TAKER (1 << 16)

/*
 * Prepares the result of the calling function, which must not read an argument before: the SQL
 * declaration of another version may have other arguments (base/version.h). Rows are added with
 * pfs_result_put(), and the function returns (Datum) 0. Raises FEATURE_NOT_SUPPORTED if the caller
 * does not accept a set.
 */
PfsResult pfs_result_begin(FunctionCallInfo fcinfo);
void pfs_result_put(const PfsResult *result, const Datum *values, const bool *nulls);

/* Returns a C string as a text value; sets *is_null if the string is NULL. */
Datum pfs_text_or_null(const char *text, bool *is_null);

#endif
