/*
 * intern_items.h
 *		The items of a batch while their ids are determined.
 *
 * Ids of a kind come from the cache, and then from the database's answers. The keys and parameters
 * of later kinds contain ids of earlier ones.
 */
#ifndef COLLECTOR_INTERN_ITEMS_H
#define COLLECTOR_INTERN_ITEMS_H

#include "batch/batch.h"
#include "database/connection.h"
#include "writer/id_cache.h"

typedef struct InternWork InternWork;

/* Properties of a kind of items. */
typedef struct InternRule
{
	const char *sql;
	const char *failure;
	int32_t result_type; /* type of the array's elements: int4 or int8 */
	int param_count;
	Oid param_types[STATEMENT_MAX_PARAMS];

	/* Appends the bytes that identify an item in the cache. */
	void (*make_key)(const InternWork *work, uint32_t index, Buffer *key);

	/* Encodes items as parameters of sql, one buffer for each parameter. */
	void (*encode)(const InternWork *work, const uint32_t *indexes, uint32_t count,
				   Buffer *buffers);
} InternRule;

typedef struct InternKind
{
	const InternRule *rule;
	IdCache *cache;
	size_t count;
	int64_t *ids;
	uint32_t *missing; /* indexes of items that are not in the cache */
	uint32_t missing_count;
} InternKind;

enum
{
	KIND_SERIES,
	KIND_MAPPING,
	KIND_FUNCTION,
	KIND_LOCATION,
	KIND_STACK,
	KIND_COUNT
};

struct InternWork
{
	InternKind kinds[KIND_COUNT];
	const uint64_t *stack_seeds; /* an array of two */
	Buffer *key;				 /* scratch buffer */

	const BatchSeries *series;
	const BatchMapping *mappings;
	const BatchFunction *functions;
	const BatchLocation *locations;
	const BatchStack *stacks;
};

static inline int32_t
intern_mapping_id(const InternWork *work, const BatchLocation *location)
{
	if (location->mapping == BATCH_NO_MAPPING)
		return 0;
	return (int32_t) work->kinds[KIND_MAPPING].ids[location->mapping];
}

static inline int32_t
intern_function_id(const InternWork *work, const BatchLine *line)
{
	return (int32_t) work->kinds[KIND_FUNCTION].ids[line->function];
}

static inline int32_t
intern_location_id(const InternWork *work, uint32_t index)
{
	return (int32_t) work->kinds[KIND_LOCATION].ids[index];
}

#endif
