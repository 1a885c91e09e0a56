/*
 * import.c
 *		Arguments and errors of import functions.
 */
#include "profstore.h"

#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "base/arguments.h"
#include "base/version.h"
#include "formats/gunzip.h"
#include "import/import.h"
#include "import/import_settings.h"
#include "import/server.h"
#include "import/store_profile.h"
#include "store/segment/codec_server.h"

/* Describes the place of an error. Lines are those of text formats. */
static const char *
fault_place(uint64_t line, size_t offset)
{
	return line == 0 ? psprintf("byte %zu", offset)
					 : psprintf("line %llu, byte %zu", (unsigned long long) line, offset);
}

static void
raise_invalid(const PfsReadError *error, int sqlstate)
{
	ereport(ERROR, (errcode(sqlstate), errmsg("invalid profile: %s", error->message),
					errdetail("It was seen at %s.", fault_place(error->line, error->offset)),
					error->hint != NULL ? errhint("%s", error->hint) : 0));
}

void
pfs_import_check(const PfsImportCall *call, PfsReadStatus status)
{
	switch (status)
	{
		case PFS_READ_OK:
			return;
		case PFS_READ_MALFORMED:
			raise_invalid(&call->error, ERRCODE_INVALID_BINARY_REPRESENTATION);
			break;
		case PFS_READ_OUT_OF_RANGE:
			raise_invalid(&call->error, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE);
			break;
		case PFS_READ_TOO_LARGE:
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							errmsg("could not import profile: %s", call->error.message),
							errdetail("It was seen at %s. profstore.import_max_size is %d kB.",
									  fault_place(call->error.line, call->error.offset),
									  pfs_import_max_size_kb)));
			break;
		case PFS_READ_NO_MEMORY:
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
			break;
	}
}

static void
import_unpack(PfsImportCall *call, PfsAllocator allocator)
{
	Size max_bytes = (Size) pfs_import_max_size_kb * 1024;
	PfsBytes packed = call->bytes;

	if (pfs_is_gzip(packed.data, packed.length))
		pfs_import_check(call, pfs_gunzip(packed.data, packed.length, max_bytes, allocator,
										  pfs_server_pause, &call->bytes, &call->error));
	else if (packed.length > max_bytes)
	{
		call->error = pfs_error_at("profile is too large", max_bytes);
		pfs_import_check(call, PFS_READ_TOO_LARGE);
	}
}

PfsImportCall *
pfs_import_begin(FunctionCallInfo fcinfo)
{
	PfsImportCall *call = palloc0(sizeof(PfsImportCall));
	PfsAllocator allocator = pfs_palloc_allocator(CurrentMemoryContext);
	Datum labels;
	struct varlena *profile;

	pfs_extension_require_current();
	PreventCommandIfReadOnly(psprintf("%s()", get_func_name(fcinfo->flinfo->fn_oid)));
	profile = PG_DETOAST_DATUM_PACKED(pfs_argument_require(fcinfo, "profile", NULL));
	labels = pfs_argument_require(fcinfo, "labels", NULL);
	call->bytes = (PfsBytes){ (uint8 *) VARDATA_ANY(profile), VARSIZE_ANY_EXHDR(profile) };
	import_unpack(call, allocator);

	call->budget.allocator = allocator;
	call->budget.pause = pfs_server_pause;
	call->budget.left = pfs_profile_budget_bytes(call->bytes.length);
	pfs_profile_init(&call->profile, &call->budget);
	/* a database in most other encodings cannot store U+FFFD, so another replacement is used */
	if (GetDatabaseEncoding() != PG_UTF8)
		call->profile.replacement = "?";
	/* data made from a profile use a budget of their own, bounded by the size of the profile */
	call->making_budget = (PfsBudget){ .allocator = allocator, .left = SIZE_MAX };
	call->making.budget = &call->making_budget;
	call->import.making = &call->making;
	call->import.profile = &call->profile;
	call->import.bytes = call->bytes;
	call->import.labels = DatumGetJsonbP(labels);
	if (!JB_ROOT_IS_OBJECT(call->import.labels))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("labels must be a JSON object")));
	call->import.encoding = PG_UTF8;
	return call;
}

ArrayType *
pfs_import_sample_labels(FunctionCallInfo fcinfo)
{
	const Datum *labels = pfs_argument(fcinfo, "sample_labels");

	return labels == NULL ? NULL : DatumGetArrayTypeP(*labels);
}

/* Raises NOTICEs about lines and frames of the file that were not stored. */
static void
notice_gaps(const PfsImportCall *call)
{
	const PfsSkipped *skipped = &call->profile.skipped;

	if (skipped->count > 0)
		ereport(NOTICE,
				(errmsg_plural("%llu part of the profile was not understood and is not stored",
							   "%llu parts of the profile were not understood and are not stored",
							   (unsigned long) skipped->count, (unsigned long long) skipped->count),
				 errdetail("The first skipped part is at %s.",
						   fault_place(skipped->first_line, skipped->first_offset))));
	if (pfs_profile_lacks_frames(&call->profile))
		ereport(NOTICE, (errmsg("no sample of the profile has a stack"),
						 call->frames_hint == NULL ? 0 : errhint("%s", call->frames_hint)));
}

int64
pfs_import_finish(PfsImportCall *call, FunctionCallInfo fcinfo)
{
	int64 time_ns = call->profile.time_ns;
	const Datum *at = pfs_argument(fcinfo, "at");

	if (at != NULL)
		call->import.time = DatumGetTimestampTz(*at);
	else if (time_ns != 0)
		call->import.time = time_ns / PFS_NS_PER_US - PFS_EPOCH_DIFFERENCE_US;
	else
		call->import.time = GetCurrentTransactionStartTimestamp();
	notice_gaps(call);
	return pfs_profile_store(&call->import);
}
