/*
 * import.h
 *		What the SQL functions that import have in common: arguments, limits, errors.
 */
#ifndef PFS_IMPORT_H
#define PFS_IMPORT_H

#include "profstore.h"

#include "fmgr.h"

#include "formats/profile.h"
#include "import/import_request.h"

/* First arguments of such a function. */
enum
{
	PFS_IMPORT_ARG_PROFILE = 0, /* bytea or text */
	PFS_IMPORT_ARG_LABELS,
	PFS_IMPORT_ARG_AT, /* NULL: the profile's own time, else now */
	PFS_IMPORT_ARG_OTHERS
};

typedef struct PfsImportCall
{
	PfsBytes bytes; /* unpacked */
	PfsBudget budget;
	PfsBudget making_budget;
	PfsMaking making;
	PfsProfile profile;
	PfsReadError error;
	const char *frames_hint; /* how its profiles get stacks; or NULL. The caller sets it */
	PfsImport import;		 /* the caller sets delta, default_name, an encoding other than UTF-8 */
} PfsImportCall;

/*
 * Reads the arguments and unpacks the profile where it is gzip. Raises NULL_VALUE_NOT_ALLOWED for
 * a profile or labels that are null, and what pfs_import_check raises. Lives in
 * CurrentMemoryContext.
 */
PfsImportCall *pfs_import_begin(FunctionCallInfo fcinfo);

/* The argument PFS_IMPORT_ARG_OTHERS where it is a text[] of keys of sample labels; NULL: all. */
ArrayType *pfs_import_sample_labels(FunctionCallInfo fcinfo);

/*
 * Raises an error, with the line and the byte, unless the status of reading is PFS_READ_OK:
 * INVALID_BINARY_REPRESENTATION for what the format does not allow, NUMERIC_VALUE_OUT_OF_RANGE,
 * PROGRAM_LIMIT_EXCEEDED.
 */
void pfs_import_check(const PfsImportCall *call, PfsReadStatus status);

/* Stores the profile at its time; returns the number of samples. */
int64 pfs_import_finish(PfsImportCall *call, FunctionCallInfo fcinfo);

#endif
