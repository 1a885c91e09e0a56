/*
 * name_rows.c
 *		Converts functions and locations between tables, the codec and digests.
 */
#include "profstore.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "codec/bytes.h"
#include "dictionary/cache/name_rows.h"

enum
{
	FUNCTION_ID,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILENAME,
	FUNCTION_START_LINE,
	FUNCTION_CONDEMNED
};

enum
{
	LOCATION_ID,
	LOCATION_MAPPING,
	LOCATION_ADDRESS,
	LOCATION_FUNCTION_IDS,
	LOCATION_LINES,
	LOCATION_SYMBOLIZATION,
	LOCATION_CONDEMNED
};

bool
pfs_names_are_packed(void)
{
	return OidIsValid(pfs_relation_find("dictionary_key"));
}

const char *
pfs_young_table(const PfsNameTable *names)
{
	return pfs_names_are_packed() ? names->rows : names->name;
}

static void
function_row_read(TupleTableSlot *slot, PfsNameRow *row)
{
	const Datum *values = slot->tts_values;

	row->id = DatumGetInt32(values[FUNCTION_ID]);
	row->is_condemned = DatumGetBool(values[FUNCTION_CONDEMNED]);
	row->function = (PfsPackedFunction){ TextDatumGetCString(values[FUNCTION_NAME]),
										 TextDatumGetCString(values[FUNCTION_SYSTEM_NAME]),
										 TextDatumGetCString(values[FUNCTION_FILENAME]),
										 DatumGetInt32(values[FUNCTION_START_LINE]) };
}

static void
fill_function(const PfsNameRow *row, Datum *values)
{
	values[FUNCTION_ID] = Int32GetDatum(row->id);
	values[FUNCTION_NAME] = CStringGetTextDatum(row->function.name);
	values[FUNCTION_SYSTEM_NAME] = CStringGetTextDatum(row->function.system_name);
	values[FUNCTION_FILENAME] = CStringGetTextDatum(row->function.filename);
	values[FUNCTION_START_LINE] = Int32GetDatum(row->function.start_line);
	values[FUNCTION_CONDEMNED] = BoolGetDatum(row->is_condemned);
}

/* Converts a text to UTF-8; returns NULL if converting it back would not give the same bytes. */
static const char *
text_to_utf8(const char *text)
{
	int length = (int) strlen(text);
	int encoding = GetDatabaseEncoding();
	Oid there;
	Oid back;
	char *utf8;
	char *again;
	Size room;
	int done;

	if (encoding == PG_UTF8)
		return text;
	if (encoding == PG_SQL_ASCII)
		/* SQL_ASCII allows any bytes, of which only valid UTF-8 can be packed. */
		return pg_verify_mbstr(PG_UTF8, text, length, true) ? text : NULL;
	there = FindDefaultConversionProc(encoding, PG_UTF8);
	back = FindDefaultConversionProc(PG_UTF8, encoding);
	if (!OidIsValid(there) || !OidIsValid(back))
		return NULL;
	/* No conversion makes a text longer than this. */
	room = (Size) length * MAX_CONVERSION_GROWTH + 1;
	utf8 = palloc(room);
	done = pg_do_encoding_conversion_buf(there, encoding, PG_UTF8, (unsigned char *) pstrdup(text),
										 length, (unsigned char *) utf8, (int) room, true);
	/* A character cannot be converted, so the text stays young. */
	if (done != length)
		return NULL;
	length = (int) strlen(utf8);
	room = (Size) length * MAX_CONVERSION_GROWTH + 1;
	again = palloc(room);
	/* Two characters of some encodings become one in UTF-8, so the way back is tried as well. */
	done = pg_do_encoding_conversion_buf(back, PG_UTF8, encoding, (unsigned char *) utf8, length,
										 (unsigned char *) again, (int) room, true);
	return done == length && strcmp(again, text) == 0 ? utf8 : NULL;
}

static bool
function_to_utf8(const PfsNameRow *row, PfsNameRow *utf8)
{
	const PfsPackedFunction *function = &row->function;
	Size growth = GetDatabaseEncoding() == PG_UTF8 ? 1 : MAX_CONVERSION_GROWTH;

	if (strlen(function->name) + strlen(function->system_name) + strlen(function->filename) >
		/* The limit holds for the converted text, which may be longer. */
		PFS_NAME_CHUNK_MAX_TEXT / growth)
		return false;
	*utf8 = *row;
	utf8->function.name = text_to_utf8(function->name);
	utf8->function.system_name = text_to_utf8(function->system_name);
	utf8->function.filename = text_to_utf8(function->filename);
	return utf8->function.name != NULL && utf8->function.system_name != NULL &&
		   utf8->function.filename != NULL;
}

/*
 * Converts a text from UTF-8. Raises an error if the database's encoding lacks a character, which
 * can happen in a dump restored from a database of another encoding.
 */
static const char *
text_from_utf8(const char *text)
{
	/* also checks that it is valid UTF-8 */
	return pg_any_to_server(text, (int) strlen(text), PG_UTF8);
}

static void
function_from_utf8(PfsNameRow *row)
{
	row->function.name = text_from_utf8(row->function.name);
	row->function.system_name = text_from_utf8(row->function.system_name);
	row->function.filename = text_from_utf8(row->function.filename);
}

static PfsStatus
pack_functions(const PfsNameRow *rows, uint32 count, PfsAllocator allocator, PfsBytes *packed)
{
	PfsPackedFunction functions[PFS_NAME_CHUNK_ROWS];

	for (uint32 i = 0; i < count; i++)
		functions[i] = rows[i].function;
	return pfs_functions_pack(functions, count, allocator, packed);
}

static PfsStatus
unpack_functions(const uint8_t *bytes, size_t length, uint32 count, PfsAllocator allocator,
				 PfsNameRow *rows, PfsError *error)
{
	PfsPackedFunction functions[PFS_NAME_CHUNK_ROWS];
	void *memory;
	PfsStatus status =
		pfs_functions_unpack(bytes, length, count, allocator, functions, &memory, error);

	for (uint32 i = 0; status == PFS_OK && i < count; i++)
		rows[i].function = functions[i];
	return status;
}

static void
digest_function(const uint8_t *key, const PfsNameRow *utf8, uint8_t *digest)
{
	const PfsPackedFunction *function = &utf8->function;
	/* The zero bytes are part of the digest, so that "ab", "c" and "a", "bc" differ. */
	Size name = strlen(function->name) + 1;
	Size system_name = strlen(function->system_name) + 1;
	Size filename = strlen(function->filename) + 1;
	Size length = 4 + name + system_name + filename;
	uint8 *bytes = palloc(length);

	pfs_store32(bytes, (uint32) function->start_line);
	memcpy(bytes + 4, function->name, name);
	memcpy(bytes + 4 + name, function->system_name, system_name);
	memcpy(bytes + 4 + name + system_name, function->filename, filename);
	pfs_siphash(key, bytes, length, digest);
	pfree(bytes);
}

/* Returns the elements of an int4[] column, which has one dimension and no null. */
static const int32 *
array_get_numbers(Datum datum, uint32 *count)
{
	ArrayType *array = DatumGetArrayTypeP(datum);

	if (ARR_NDIM(array) > 1 || ARR_HASNULL(array) || ARR_ELEMTYPE(array) != INT4OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"profstore.location_rows\" holds an array of unexpected form")));
	/* An empty array has no dimension. */
	*count = ARR_NDIM(array) == 0 ? 0 : (uint32) ARR_DIMS(array)[0];
	return (const int32 *) ARR_DATA_PTR(array);
}

static void
location_row_read(TupleTableSlot *slot, PfsNameRow *row)
{
	const Datum *values = slot->tts_values;
	uint32 line_count;

	row->id = DatumGetInt32(values[LOCATION_ID]);
	row->is_condemned = DatumGetBool(values[LOCATION_CONDEMNED]);
	row->location =
		(PfsPackedLocation){ .mapping = DatumGetInt32(values[LOCATION_MAPPING]),
							 .address = DatumGetInt64(values[LOCATION_ADDRESS]),
							 .symbolization = DatumGetChar(values[LOCATION_SYMBOLIZATION]) };
	row->location.function_ids =
		array_get_numbers(values[LOCATION_FUNCTION_IDS], &row->location.line_count);
	row->location.lines = array_get_numbers(values[LOCATION_LINES], &line_count);
	if (line_count != row->location.line_count)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("location %d has %u functions and %u lines", row->id,
							   row->location.line_count, line_count)));
}

static Datum
make_numbers(const int32 *numbers, uint32 count)
{
	Datum *elements = PFS_ARRAY(Datum, count);

	for (uint32 i = 0; i < count; i++)
		elements[i] = Int32GetDatum(numbers[i]);
	return PointerGetDatum(
		construct_array(elements, (int) count, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

static void
fill_location(const PfsNameRow *row, Datum *values)
{
	const PfsPackedLocation *location = &row->location;

	values[LOCATION_ID] = Int32GetDatum(row->id);
	values[LOCATION_MAPPING] = Int32GetDatum(location->mapping);
	values[LOCATION_ADDRESS] = Int64GetDatum(location->address);
	values[LOCATION_FUNCTION_IDS] = make_numbers(location->function_ids, location->line_count);
	values[LOCATION_LINES] = make_numbers(location->lines, location->line_count);
	values[LOCATION_SYMBOLIZATION] = CharGetDatum(location->symbolization);
	values[LOCATION_CONDEMNED] = BoolGetDatum(row->is_condemned);
}

static bool
location_to_utf8(const PfsNameRow *row, PfsNameRow *utf8)
{
	*utf8 = *row;
	return row->location.line_count <= PFS_NAME_CHUNK_MAX_LINES;
}

static void
location_from_utf8(PfsNameRow *row)
{
}

static PfsStatus
pack_locations(const PfsNameRow *rows, uint32 count, PfsAllocator allocator, PfsBytes *packed)
{
	PfsPackedLocation locations[PFS_NAME_CHUNK_ROWS];

	for (uint32 i = 0; i < count; i++)
		locations[i] = rows[i].location;
	return pfs_locations_pack(locations, count, allocator, packed);
}

static PfsStatus
unpack_locations(const uint8_t *bytes, size_t length, uint32 count, PfsAllocator allocator,
				 PfsNameRow *rows, PfsError *error)
{
	PfsPackedLocation locations[PFS_NAME_CHUNK_ROWS];
	void *memory;
	PfsStatus status =
		pfs_locations_unpack(bytes, length, count, allocator, locations, &memory, error);

	for (uint32 i = 0; status == PFS_OK && i < count; i++)
		rows[i].location = locations[i];
	return status;
}

/*
 * Computes the digest of a location: of mapping and address if it has both, otherwise of its lines,
 * too.
 */
static void
digest_location(const uint8_t *key, const PfsNameRow *utf8, uint8_t *digest)
{
	const PfsPackedLocation *location = &utf8->location;
	/*
	 * If a location has a mapping and an address, only these identify it. Its lines are an answer
	 * of the symbolizer, which may improve later.
	 */
	bool is_place = location->mapping != 0 && location->address != 0;
	uint32 line_count = is_place ? 0 : location->line_count;
	Size length = 12 + line_count * (Size) 8;
	uint8 *bytes = palloc(length);
	uint8 *at = bytes + 12;

	pfs_store32(bytes, (uint32) location->mapping);
	pfs_store64(bytes + 4, (uint64) location->address);
	for (uint32 i = 0; i < line_count; i++, at += 8)
	{
		pfs_store32(at, (uint32) location->function_ids[i]);
		pfs_store32(at + 4, (uint32) location->lines[i]);
	}
	pfs_siphash(key, bytes, length, digest);
	pfree(bytes);
}

/*
 * Functions are found by digest alone: 80 bits of a keyed hash, so that two of ten million contents
 * collide with a probability of 2^-34. Locations are compared by content after the digest, so a
 * short digest suffices.
 */
const PfsNameTable pfs_function_names = { .name = "functions",
										  .rows = "function_rows",
										  .chunks = "function_chunks",
										  .hashes = "function_hashes",
										  .digest_bytes = 10,
										  .condemned_column = FUNCTION_CONDEMNED + 1,
										  .read = function_row_read,
										  .fill = fill_function,
										  .to_utf8 = function_to_utf8,
										  .from_utf8 = function_from_utf8,
										  .pack = pack_functions,
										  .unpack = unpack_functions,
										  .digest = digest_function };

const PfsNameTable pfs_location_names = { .name = "locations",
										  .rows = "location_rows",
										  .chunks = "location_chunks",
										  .hashes = "location_hashes",
										  .digest_bytes = 4,
										  .condemned_column = LOCATION_CONDEMNED + 1,
										  .read = location_row_read,
										  .fill = fill_location,
										  .to_utf8 = location_to_utf8,
										  .from_utf8 = location_from_utf8,
										  .pack = pack_locations,
										  .unpack = unpack_locations,
										  .digest = digest_location };

const PfsNameTable *
pfs_name_table(const char *name)
{
	if (strcmp(name, pfs_function_names.name) == 0)
		return &pfs_function_names;
	if (strcmp(name, pfs_location_names.name) == 0)
		return &pfs_location_names;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"%s\" is not a packed dictionary table", name)));
}

void
pfs_name_scan_begin(PfsNameScan *scan, const PfsNameTable *names, const char *table,
					Snapshot snapshot, LOCKMODE lock)
{
	scan->names = names;
	scan->table = pfs_table_open(table, lock);
	scan->index = index_open(pfs_relation_oid(psprintf("%s_pkey", table)), lock);
	scan->slot = table_slot_create(scan->table, NULL);
	scan->context = CurrentMemoryContext;
	scan->scan = pfs_index_beginscan(scan->table, scan->index, snapshot, 1);
}

void
pfs_name_scan_end(PfsNameScan *scan)
{
	index_endscan(scan->scan);
	ExecDropSingleTupleTableSlot(scan->slot);
	index_close(scan->index, NoLock);
	table_close(scan->table, NoLock);
}
