/*
 * intern_items.h
 *		A batch's items on their way from index to id.
 *
 * A kind's ids are filled in from the cache, then from the database's answers; a later kind's keys
 * and parameters use the ids of those before it.
 */
#ifndef COLLECTOR_INTERN_ITEMS_H
#define COLLECTOR_INTERN_ITEMS_H

#include "batch/batch.h"
#include "database/connection.h"
#include "writer/id_cache.h"

typedef struct InternWork InternWork;

/* What is the same for all items of a kind. */
typedef struct InternRule
{
	const char *sql;
	const char *failure;
	int32_t result_type; /* of the array's elements: int4 or int8 */
	int param_count;
	Oid param_types[STATEMENT_MAX_PARAMS];

	/* The bytes by which the cache knows an item. */
	void (*make_key)(const InternWork *work, uint32_t index, Buffer *key);

	/* Parameters of sql for some items; each has a buffer of its own. */
	void (*encode)(const InternWork *work, const uint32_t *indexes, uint32_t count,
				   Buffer *buffers);
} InternRule;

typedef struct InternKind
{
	const InternRule *rule;
	IdCache *cache;
	size_t count;
	int64_t *ids;
	uint32_t *missing; /* indexes that the cache did not know */
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
	const uint64_t *stack_seeds; /* two */
	Buffer *key;				 /* scratch */

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
