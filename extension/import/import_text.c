/*
 * import_text.c
 *		import_folded() and import_perf_script(): store profiles in line-based formats.
 */
#include "profstore.h"

#include "mb/pg_wchar.h"

#include "base/arguments.h"
#include "formats/any/format.h"
#include "formats/lines.h"
#include "import/import.h"

PG_FUNCTION_INFO_V1(profstore_import_folded);
PG_FUNCTION_INFO_V1(profstore_import_perf_script);

static PfsText
get_text_argument(FunctionCallInfo fcinfo, const char *name)
{
	const text *value = DatumGetTextPP(pfs_argument_require(fcinfo, name, NULL));

	return (PfsText){ VARDATA_ANY(value), (uint32) VARSIZE_ANY_EXHDR(value) };
}

/*
 * Like pfs_import_check(), but for a text in another format also names the function that imports
 * it.
 */
static void
check_text(PfsImportCall *call, PfsReadStatus status, PfsFormat reader)
{
	if (status == PFS_READ_MALFORMED)
		pfs_format_explain(call->bytes.data, call->bytes.length, reader, &call->error);
	pfs_import_check(call, status);
}

PGDLLEXPORT Datum
profstore_import_folded(PG_FUNCTION_ARGS)
{
	PfsImportCall *call = pfs_import_begin(fcinfo);
	PfsValueType type = { get_text_argument(fcinfo, "sample_type"),
						  get_text_argument(fcinfo, "sample_unit") };

	check_text(call,
			   pfs_folded_read((const char *) call->bytes.data, call->bytes.length, &call->profile,
							   &call->error),
			   PFS_FORMAT_FOLDED);
	call->profile.types[0] = type;
	call->import.delta = true;
	call->import.default_name = "folded";
	call->import.encoding = GetDatabaseEncoding();
	PG_RETURN_INT64(pfs_import_finish(call, fcinfo));
}

PGDLLEXPORT Datum
profstore_import_perf_script(PG_FUNCTION_ARGS)
{
	PfsImportCall *call = pfs_import_begin(fcinfo);

	call->import.sample_labels = pfs_import_sample_labels(fcinfo);
	check_text(call,
			   pfs_perf_script_read((const char *) call->bytes.data, call->bytes.length,
									&call->profile, &call->error),
			   PFS_FORMAT_PERF_SCRIPT);
	call->import.delta = true;
	call->import.default_name = "perf";
	call->frames_hint = "Record with perf record -g; make perf script print the fields ip and sym.";
	call->import.encoding = GetDatabaseEncoding();
	PG_RETURN_INT64(pfs_import_finish(call, fcinfo));
}
