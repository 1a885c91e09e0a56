/*
 * seal_functions.c
 *		SQL functions that show sealed rows, chunk_functions and chunk_locations, and the
 *		trigger that checks restored chunks.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "base/srf.h"
#include "dictionary/cache/name_chunks.h"

PG_FUNCTION_INFO_V1(profstore_chunk_functions);
PG_FUNCTION_INFO_V1(profstore_chunk_locations);
PG_FUNCTION_INFO_V1(profstore_check_chunk);

/* Most columns of a table of young rows. */
#define MAX_COLUMNS 8

/* (number int4, present bytea, payload bytea) -> the rows of a chunk */
static Datum
put_chunk(FunctionCallInfo fcinfo, const PfsNameTable *names)
{
	PfsNameRow rows[PFS_NAME_CHUNK_ROWS];
	bool nulls[MAX_COLUMNS] = { false };
	Datum values[MAX_COLUMNS];
	PfsNameChunk chunk;
	PfsResult result = pfs_result_begin(fcinfo);

	pfs_name_chunk_make(names, PG_GETARG_INT32(0), PG_GETARG_DATUM(1), PG_GETARG_DATUM(2), &chunk);
	pfs_name_chunk_unpack(names, &chunk, rows);
	for (uint32 i = 0; i < chunk.count; i++)
	{
		names->from_utf8(&rows[i]);
		names->fill(&rows[i], values);
		pfs_result_put(&result, values, nulls);
	}
	return (Datum) 0;
}

PGDLLEXPORT Datum
profstore_chunk_functions(PG_FUNCTION_ARGS)
{
	return put_chunk(fcinfo, &pfs_function_names);
}

PGDLLEXPORT Datum
profstore_chunk_locations(PG_FUNCTION_ARGS)
{
	return put_chunk(fcinfo, &pfs_location_names);
}

/*
 * check_chunk(), a trigger before INSERT: if a chunk is damaged or has a character that the
 * database's encoding lacks, the restore fails instead of later queries
 */
PGDLLEXPORT Datum
profstore_check_chunk(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = (const TriggerData *) fcinfo->context;
	const PfsNameTable *names;
	PfsNameRow rows[PFS_NAME_CHUNK_ROWS];
	PfsNameChunk chunk;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		trigger->tg_trigger->tgnargs != 1)
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("check_chunk must be called as a trigger before INSERT")));
	if (HeapTupleHasNulls(trigger->tg_trigtuple))
		return PointerGetDatum(trigger->tg_trigtuple); /* the columns' constraints reject it */
	names = pfs_name_table(trigger->tg_trigger->tgargs[0]);
	pfs_name_chunk_read(names, trigger->tg_trigtuple, RelationGetDescr(trigger->tg_relation),
						&chunk);
	pfs_name_chunk_unpack(names, &chunk, rows);
	for (uint32 i = 0; i < chunk.count; i++)
		names->from_utf8(&rows[i]);
	return PointerGetDatum(trigger->tg_trigtuple);
}
