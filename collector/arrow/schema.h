/*
 * schema.h
 *		The columns of a stream, with names and types, as a tree of fields.
 *
 * Field numbers are those of Arrow's Schema.fbs. Types that no agent sends are refused.
 */
#ifndef COLLECTOR_ARROW_SCHEMA_H
#define COLLECTOR_ARROW_SCHEMA_H

#include "arrow/flat.h"
#include "base/arena.h"

#define ARROW_FIELDS_MAX 1024 /* limit of the fields in a schema, including nested ones */
#define ARROW_DEPTH_MAX	 16

/* Numbers of the types in Arrow's union Type. */
typedef enum ArrowType
{
	ARROW_INT = 2,
	ARROW_BINARY = 4,
	ARROW_UTF8 = 5,
	ARROW_BOOL = 6,
	ARROW_TIMESTAMP = 10,
	ARROW_LIST = 12,
	ARROW_STRUCT = 13,
	ARROW_FIXED_BINARY = 15,
	ARROW_RUN_END = 22,
	ARROW_BINARY_VIEW = 23,
	ARROW_UTF8_VIEW = 24,
	ARROW_LIST_VIEW = 25
} ArrowType;

typedef struct ArrowField
{
	Span name; /* in the bytes of the schema */
	ArrowType type;
	uint32_t width; /* bytes of an integer, time or fixed binary */
	bool is_signed;
	int64_t unit_ns; /* unit of times */
	/* items are indexes into a dictionary; type is that of the dictionary's values */
	bool is_encoded;
	uint32_t index_width;
	bool index_signed;
	uint32_t dictionary; /* number of the dictionary in the schema */
	uint32_t child_count;
	struct ArrowField *children;
} ArrowField;

/* A dictionary, by its id. */
typedef struct ArrowDictionary
{
	int64_t id;
	const ArrowField *field; /* type of its values */
	struct ArrowArray *values;
} ArrowDictionary;

typedef struct ArrowSchema
{
	uint32_t field_count;
	uint32_t column_count;
	ArrowField *columns;
	uint32_t dictionary_count;
	ArrowDictionary *dictionaries;
} ArrowSchema;

/* Reads a schema into the arena. Returns NULL; on failure, a literal that names the fault. */
const char *arrow_schema_read(const FlatTable *table, Arena *arena, ArrowSchema *schema);

/* Returns the dictionary with this id; NULL if there is none. */
ArrowDictionary *arrow_schema_dictionary(const ArrowSchema *schema, int64_t id);

bool arrow_field_is(const ArrowField *field, const char *name);

#endif
