/*
 * srf.h
 *		Set-returning functions that hand over all their rows at once.
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
	void *taker; /* NULL: rows go to the store */
} PfsResult;

/*
 * In place of a ReturnSetInfo, for who calls a function and takes its rows in a way of his own,
 * that the function knows. PFS_SFRM_TAKER among the modes tells it.
 */
typedef struct PfsTakerInfo
{
	ReturnSetInfo info;
	void *taker;
} PfsTakerInfo;

#define PFS_SFRM_TAKER (1 << 16)

/*
 * Prepares the result of the calling function, before which that looks at no argument: an extension
 * of another version may pass others (base/version.h). Rows go in with pfs_result_put, and the
 * function returns (Datum) 0. Raises FEATURE_NOT_SUPPORTED where the caller takes no set.
 */
PfsResult pfs_result_begin(FunctionCallInfo fcinfo);
void pfs_result_put(const PfsResult *result, const Datum *values, const bool *nulls);

/* text of a C string; sets *is_null where it is NULL. */
Datum pfs_text_or_null(const char *text, bool *is_null);

#endif
