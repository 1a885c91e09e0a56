/*
 * schema.h
 *		What columns a stream has: names and types, as a tree of fields.
 *
 * Field numbers are those of Arrow's Schema.fbs. Types that no agent sends are refused by name.
 */
#ifndef COLLECTOR_ARROW_SCHEMA_H
#define COLLECTOR_ARROW_SCHEMA_H

#include "arrow/flat.h"
#include "base/arena.h"

#define ARROW_FIELDS_MAX 1024 /* of a schema, those within others too */
#define ARROW_DEPTH_MAX	 16

/* As they are numbered in the union Type. */
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
	Span name; /* in the schema's bytes */
	ArrowType type;
	uint32_t width; /* bytes of an item: of integers, times, fixed binary */
	bool is_signed;
	int64_t unit_ns; /* of times */
	bool is_encoded; /* by a dictionary, of which the type is that of the values */
	uint32_t index_width;
	bool index_signed;
	uint32_t dictionary; /* which of the schema's */
	uint32_t child_count;
	struct ArrowField *children;
} ArrowField;

/* A dictionary, as whom it serves. */
typedef struct ArrowDictionary
{
	int64_t id;
	const ArrowField *field; /* the type of its values */
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

/* NULL, or what is wrong with it: a static text. All of it is in the arena. */
const char *arrow_schema_read(const FlatTable *table, Arena *arena, ArrowSchema *schema);

/* NULL where there is none of that id. */
ArrowDictionary *arrow_schema_dictionary(const ArrowSchema *schema, int64_t id);

bool arrow_field_is(const ArrowField *field, const char *name);

#endif
