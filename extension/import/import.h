/*
 * import.h
 *		Shared code of the SQL functions that import: arguments, limits, errors.
 */
#ifndef PFS_IMPORT_H
#define PFS_IMPORT_H

#include "profstore.h"

#include "fmgr.h"

#include "formats/profile.h"
#include "import/import_request.h"

typedef struct PfsImportCall
{
	PfsBytes bytes; /* decompressed */
	PfsBudget budget;
	PfsBudget making_budget;
	PfsMaking making;
	PfsProfile profile;
	PfsReadError error;
	/*
	 * advice on how to record profiles with stacks, which errors show; or NULL; set by the caller
	 */
	const char *frames_hint;
	PfsImport import; /* the caller sets delta, default_name, and an encoding other than UTF-8 */
} PfsImportCall;

/*
 * Reads the arguments profile, of type bytea or text, and labels, and unpacks the profile if it is
 * gzip. Raises NULL_VALUE_NOT_ALLOWED if one of them is NULL, and what pfs_import_check() raises.
 * Lives in CurrentMemoryContext.
 */
PfsImportCall *pfs_import_begin(FunctionCallInfo fcinfo);

/*
 * Returns the argument sample_labels, the keys of the sample labels to keep; NULL if all are kept.
 */
ArrayType *pfs_import_sample_labels(FunctionCallInfo fcinfo);

/*
 * Raises an error, with line and byte, unless the status of reading is PFS_READ_OK:
 * INVALID_BINARY_REPRESENTATION for data that the format does not allow,
 * NUMERIC_VALUE_OUT_OF_RANGE, PROGRAM_LIMIT_EXCEEDED.
 */
void pfs_import_check(const PfsImportCall *call, PfsReadStatus status);

/*
 * Stores the profile at the time of the argument at. If at is NULL, stores it at its own time, or
 * at the time of the transaction if it has none. Returns the number of samples.
 */
int64 pfs_import_finish(PfsImportCall *call, FunctionCallInfo fcinfo);

#endif
