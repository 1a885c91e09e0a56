/*
 * import_pprof.c
 *		import_pprof(): stores a file in pprof's format.
 */
#include "profstore.h"

#include "base/arguments.h"
#include "formats/any/profile_read.h"
#include "import/import.h"
#include "import/prune.h"

PG_FUNCTION_INFO_V1(profstore_import_pprof);

PGDLLEXPORT Datum
profstore_import_pprof(PG_FUNCTION_ARGS)
{
	PfsImportCall *call = pfs_import_begin(fcinfo);
	const PfsProfile *profile = &call->profile;

	call->import.sample_labels = pfs_import_sample_labels(fcinfo);
	pfs_import_check(call, pfs_profile_read(call->bytes.data, call->bytes.length, &call->profile,
											&call->error));
	if (pfs_argument_is_true(fcinfo, "prune"))
		pfs_profile_prune(&call->import, &call->profile);
	call->import.delta = pfs_pprof_is_delta(profile);
	call->import.default_name = pfs_pprof_default_name(profile);
	PG_RETURN_INT64(pfs_import_finish(call, fcinfo));
}
