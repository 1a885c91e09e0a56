/*
 * schema.c
 *		Reads fields and their types.
 */
#include "arrow/schema.h"

#define SCHEMA_ENDIANNESS		 0
#define SCHEMA_FIELDS			 1
#define FIELD_NAME				 0
#define FIELD_TYPE_TYPE			 2
#define FIELD_TYPE				 3
#define FIELD_DICTIONARY		 4
#define FIELD_CHILDREN			 5
#define DICTIONARY_ENCODING_ID	 0
#define DICTIONARY_ENCODING_TYPE 1
#define INT_BIT_WIDTH			 0
#define INT_IS_SIGNED			 1
#define TIMESTAMP_UNIT			 0
#define FIXED_BINARY_BYTES		 0
#define FIXED_BINARY_MAX		 1024

#define NO_MEMORY "the schema is larger than what is held in memory at once"

typedef struct SchemaReading
{
	Arena *arena;
	ArrowSchema *schema;
} SchemaReading;

/* --- types --- */

static bool
read_int(const FlatTable *type, uint32_t *width, bool *is_signed)
{
	/* an absent field is 0, which is no width */
	uint64_t bits = flat_number(type, INT_BIT_WIDTH, 4);

	*width = (uint32_t) bits / 8;
	*is_signed = flat_number(type, INT_IS_SIGNED, 1) != 0;
	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static bool
read_timestamp(const FlatTable *type, ArrowField *field)
{
	/* by Arrow's TimeUnit: seconds, milliseconds, microseconds, nanoseconds */
	static const int64_t units_ns[] = { 1000000000, 1000000, 1000, 1 };
	uint64_t unit = flat_number(type, TIMESTAMP_UNIT, 2);

	field->width = sizeof(int64_t);
	field->is_signed = true;
	if (unit >= sizeof(units_ns) / sizeof(units_ns[0]))
		return false;
	field->unit_ns = units_ns[unit];
	return true;
}

/*
 * Checks the number and types of a field's children. Run ends are signed integers of at least 16
 * bits.
 */
static bool
has_children_of_type(const ArrowField *field)
{
	const ArrowField *first = field->children;

	switch (field->type)
	{
		case ARROW_LIST:
		case ARROW_LIST_VIEW:
			return field->child_count == 1;
		case ARROW_RUN_END:
			/*
			 * Runs within a dictionary are refused, so that arrow_place() ends. An end of 8 bits
			 * could express no more than 127 items.
			 */
			return field->child_count == 2 && !field->is_encoded && first->type == ARROW_INT &&
				   !first->is_encoded && first->is_signed && first->width > 1;
		case ARROW_STRUCT:
			return true;
		default:
			return field->child_count == 0;
	}
}

/* Reads the type of a field. Returns NULL or an error message. */
static const char *
schema_read_type(const FlatTable *table, ArrowField *field)
{
	FlatTable type;
	bool good = true;

	field->type = (ArrowType) flat_number(table, FIELD_TYPE_TYPE, 1);
	if (!flat_table(table, FIELD_TYPE, &type))
		return "a field of the schema has no type";
	switch (field->type)
	{
		case ARROW_INT:
			good = read_int(&type, &field->width, &field->is_signed);
			break;
		case ARROW_TIMESTAMP:
			good = read_timestamp(&type, field);
			break;
		case ARROW_FIXED_BINARY:
			field->width = (uint32_t) flat_number(&type, FIXED_BINARY_BYTES, 4);
			good = field->width > 0 && field->width <= FIXED_BINARY_MAX;
			break;
		/* types without parameters */
		case ARROW_BINARY:
		case ARROW_UTF8:
		case ARROW_BOOL:
		case ARROW_LIST:
		case ARROW_STRUCT:
		case ARROW_RUN_END:
		case ARROW_BINARY_VIEW:
		case ARROW_UTF8_VIEW:
		case ARROW_LIST_VIEW:
			break;
		default:
			good = false;
	}
	return good ? NULL : "the type of a column is not supported";
}

/* --- dictionaries --- */

ArrowDictionary *
arrow_schema_dictionary(const ArrowSchema *schema, int64_t id)
{
	for (uint32_t i = 0; i < schema->dictionary_count; i++)
		if (schema->dictionaries[i].id == id)
			return &schema->dictionaries[i];
	return NULL;
}

/*
 * Reads a field's dictionary encoding. Fields that share a dictionary must have one type; the
 * dictionary has the type of the first of them.
 */
static const char *
read_encoding(SchemaReading *reading, const FlatTable *table, ArrowField *field)
{
	ArrowSchema *schema = reading->schema;
	FlatTable encoding;
	FlatTable type;
	ArrowDictionary *known;
	int64_t id;

	if (!flat_table(table, FIELD_DICTIONARY, &encoding))
		return NULL;
	id = (int64_t) flat_number(&encoding, DICTIONARY_ENCODING_ID, 8);
	field->is_encoded = true;
	/* Arrow's default: signed indexes of 32 bits */
	field->index_width = sizeof(int32_t);
	field->index_signed = true;
	if (flat_table(&encoding, DICTIONARY_ENCODING_TYPE, &type) &&
		!read_int(&type, &field->index_width, &field->index_signed))
		return "the type of a dictionary's indexes is not supported";
	known = arrow_schema_dictionary(schema, id);
	/*
	 * The values of a type with children would be loaded with the children of the first field. So
	 * only types without children may share a dictionary.
	 */
	if (known == NULL)
	{
		/* room for ARROW_FIELDS_MAX dictionaries, at most one for each field */
		known = &schema->dictionaries[schema->dictionary_count++];
		*known = (ArrowDictionary){ .id = id, .field = field };
	}
	else if (known->field->type != field->type || field->child_count > 0)
		return "a dictionary is used by columns of different types";
	field->dictionary = (uint32_t) (known - schema->dictionaries);
	return NULL;
}

/* --- the tree --- */

static const char *schema_read_fields(SchemaReading *reading, const FlatVector *vector,
									  unsigned depth, ArrowField **fields);

/* Reads a field with its children. Returns NULL or an error message. */
static const char *
schema_read_field(SchemaReading *reading, const FlatTable *table, unsigned depth, ArrowField *field)
{
	FlatVector children;
	const char *error = NULL;

	*field = (ArrowField){ .name = flat_text(table, FIELD_NAME) };
	/* children before the encoding, which compares their number */
	error = schema_read_type(table, field);
	if (error == NULL && flat_vector(table, FIELD_CHILDREN, 4, &children) && children.count > 0)
	{
		error = schema_read_fields(reading, &children, depth + 1, &field->children);
		field->child_count = children.count;
	}
	if (error == NULL)
		error = read_encoding(reading, table, field);
	if (error == NULL && !has_children_of_type(field))
		error = "a column does not have the parts of its type";
	return error;
}

/*
 * Reads a vector of fields. Offsets may lead to one field many times; the limit of the number of
 * fields bounds that.
 */
static const char *
schema_read_fields(SchemaReading *reading, const FlatVector *vector, unsigned depth,
				   ArrowField **fields)
{
	ArrowSchema *schema = reading->schema;
	const char *error = NULL;

	if (depth > ARROW_DEPTH_MAX || vector->count > ARROW_FIELDS_MAX - schema->field_count)
		return "the schema has too many fields, or they are nested too deeply";
	schema->field_count += vector->count;
	*fields = arena_alloc(reading->arena, (vector->count + 1) * sizeof(ArrowField));
	if (*fields == NULL)
		return NO_MEMORY;
	for (uint32_t i = 0; error == NULL && i < vector->count; i++)
	{
		FlatTable table;

		error = flat_vector_table(vector, i, &table)
					? schema_read_field(reading, &table, depth, &(*fields)[i])
					: "a field of the schema lies outside of it";
	}
	return error;
}

const char *
arrow_schema_read(const FlatTable *table, Arena *arena, ArrowSchema *schema)
{
	SchemaReading reading = { arena, schema };
	FlatVector fields;

	*schema = (ArrowSchema){ 0 };
	if (flat_number(table, SCHEMA_ENDIANNESS, 2) != 0)
		return "numbers are not little-endian";
	if (!flat_vector(table, SCHEMA_FIELDS, 4, &fields))
		return "the schema has no fields";
	/* allocated at once, because fields refer to dictionaries by address */
	schema->dictionaries = arena_alloc(arena, ARROW_FIELDS_MAX * sizeof(ArrowDictionary));
	if (schema->dictionaries == NULL)
		return NO_MEMORY;
	schema->column_count = fields.count;
	return schema_read_fields(&reading, &fields, 1, &schema->columns);
}

bool
arrow_field_is(const ArrowField *field, const char *name)
{
	return field->name.length == strlen(name) &&
		   memcmp(field->name.bytes, name, field->name.length) == 0;
}
