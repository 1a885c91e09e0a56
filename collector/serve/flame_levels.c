/*
 * flame_levels.c
 *		Converts rows, which come depth first, to levels.
 */
#include "serve/flame_levels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "http_server/protobuf.h"
#include "serve/json_answer.h"

#define SIDES		  2
#define NODE_NUMBERS  4
#define DIFF_NUMBERS  7
#define LEVEL_COLUMN  0
#define LABEL_COLUMN  3
#define RIGHT_COLUMN  4
#define PADDING_LABEL "(padding)"
#define ROOT_LABEL	  "total"

typedef struct FlameName
{
	const char *bytes;
	size_t length;
} FlameName;

struct FlameLevel
{
	int64_t *numbers;
	size_t count;
	size_t capacity;
	int64_t end[SIDES];	 /* right end of the level's last node */
	int64_t next[SIDES]; /* left end of the level's next node */
};

/* One row of the query's result. */
typedef struct FlameRow
{
	size_t level;
	int64_t value[SIDES];
	int64_t self[SIDES];
	FlameName label;
} FlameRow;

static FlameRow
flame_row(const FlameLevels *levels, const Result *result, size_t row)
{
	FlameRow read = { .level = (size_t) result_int4_at(result, row, LEVEL_COLUMN),
					  .value[0] = result_int8_at(result, row, 1),
					  .self[0] = result_int8_at(result, row, 2) };

	if (levels->is_diff)
	{
		read.value[1] = result_int8_at(result, row, RIGHT_COLUMN);
		read.self[1] = result_int8_at(result, row, RIGHT_COLUMN + 1);
	}
	read.label.bytes = result_bytes_at(result, row, LABEL_COLUMN, &read.label.length);
	return read;
}

static bool
flame_is_named(const FlameName *name, const void *bytes, size_t length)
{
	return name->length == length && memcmp(name->bytes, bytes, length) == 0;
}

/* --- names --- */

static bool
flame_name_equal(const void *item, const void *key)
{
	const FlameName *wanted = key;

	return flame_is_named(item, wanted->bytes, wanted->length);
}

/* Finds or adds a name. Returns false if out of memory. */
static bool
flame_add_name(FlameLevels *levels, FlameName name, uint32_t *index)
{
	const uint64_t hash = hash_bytes(levels->names.seed, name.bytes, name.length);

	if (table_find(&levels->names, hash, flame_name_equal, &name, index))
		return true;
	if (table_reserve(&levels->names) != 0)
		return false;
	*index = levels->names.count;
	*(FlameName *) table_append(&levels->names, hash) = name;
	return true;
}

/* --- levels --- */

static bool
flame_reserve_level(FlameLevels *levels, size_t level)
{
	while (levels->level_count <= level)
	{
		if (grow_array_within(&levels->budget, &levels->levels, &levels->level_capacity,
							  levels->level_count, sizeof(FlameLevel)) != 0)
			return false;
		levels->levels[levels->level_count++] = (FlameLevel){ .numbers = NULL };
	}
	return true;
}

static bool
flame_put_number(FlameLevels *levels, FlameLevel *level, int64_t number)
{
	if (grow_array_within(&levels->budget, &level->numbers, &level->capacity, level->count,
						  sizeof(int64_t)) != 0)
		return false;
	level->numbers[level->count++] = number;
	return true;
}

/*
 * Adds a node after the others of its level, below the last node of the level above. A node's own
 * value is to the left of its children.
 */
static bool
flame_add_node(FlameLevels *levels, const FlameRow *row)
{
	const int sides = levels->is_diff ? SIDES : 1;
	uint32_t name;
	FlameLevel *level;

	if (!flame_add_name(levels, row->label, &name) || !flame_reserve_level(levels, row->level + 1))
		return false;
	level = &levels->levels[row->level];
	for (int i = 0; i < sides; i++)
	{
		/* The format stores the gap to the node before, not the position. */
		if (!flame_put_number(levels, level, level->next[i] - level->end[i]) ||
			!flame_put_number(levels, level, row->value[i]) ||
			!flame_put_number(levels, level, row->self[i]))
			return false;
		level[1].next[i] = level->next[i] + row->self[i];
		level->next[i] += row->value[i];
		level->end[i] = level->next[i];
		if (row->self[i] > levels->max_self)
			levels->max_self = row->self[i];
	}
	return flame_put_number(levels, level, name);
}

/* --- a path --- */

/*
 * A walk over rows along a path. Counts how many of the path's functions the current row and its
 * ancestors match.
 */
typedef struct FlameWalk
{
	const FlamePath *path;
	size_t matched;
} FlameWalk;

/* Returns true if the row is on the path, or below its end. */
static bool
walk_takes(FlameWalk *walk, const FlameRow *row)
{
	const size_t depth = row->level; /* number of functions in the row's stack; the root is none */

	if (depth == 0 || depth > walk->path->count)
		return depth == 0 || walk->matched == walk->path->count;
	/*
	 * The walk has come back to this depth, so functions matched deeper belong to another branch.
	 */
	if (walk->matched >= depth)
		walk->matched = depth - 1;
	if (walk->matched == depth - 1 &&
		flame_is_named(&row->label, walk->path->names[depth - 1].bytes,
					   walk->path->names[depth - 1].length))
		walk->matched = depth;
	return walk->matched == depth;
}

/*
 * Finds the node at the end of the path, and adds up the values of all nodes before it. Returns
 * false if there is no such node.
 */
static bool
flame_find_end(const FlameLevels *levels, const Result *result, const FlamePath *path,
			   FlameRow *end)
{
	FlameWalk walk = { .path = path };

	for (size_t i = 0; i < result_rows(result); i++)
	{
		*end = flame_row(levels, result, i);
		if (walk_takes(&walk, end) && end->level == path->count)
			return true;
	}
	return false;
}

/* Subtracts the padding from the totals. Returns the number of rows before the padding. */
static size_t
flame_rows_before_padding(const FlameLevels *levels, const Result *result, FlameRow *root)
{
	const size_t count = result_rows(result);
	const FlameRow last = flame_row(levels, result, count - 1);

	*root = flame_row(levels, result, 0);
	/* The padding is no function; it makes the totals equal for the colours of Grafana's panel. */
	if (!levels->is_diff || last.level != 1 ||
		!flame_is_named(&last.label, PADDING_LABEL, strlen(PADDING_LABEL)))
		return count;
	for (int i = 0; i < SIDES; i++)
		root->value[i] -= last.value[i];
	return count - 1;
}

bool
flame_levels_read(FlameLevels *levels, const Result *result, bool is_diff, const FlamePath *path,
				  MemoryShare *share)
{
	FlameWalk walk = { .path = path };
	FlameRow row;
	FlameRow end;
	size_t count;

	*levels =
		(FlameLevels){ .budget = { .limit_bytes = SIZE_MAX, .share = share }, .is_diff = is_diff };
	table_init(&levels->names, &levels->budget, sizeof(FlameName));
	if (result_rows(result) <= 1 || !flame_find_end(levels, result, path, &end))
		return true; /* there is only the root, or no row at all */
	count = flame_rows_before_padding(levels, result, &row);
	/* Without a path the root is the end, and its padding is already subtracted. */
	if (path->count == 0)
		end = row;
	levels->left_ticks = end.value[0];
	levels->right_ticks = end.value[1];
	levels->total = end.value[0] + end.value[1];
	for (size_t i = 0; i < count; i++)
	{
		row = flame_row(levels, result, i);
		if (!walk_takes(&walk, &row))
			continue;
		if (row.level == 0)
			row.label = (FlameName){ ROOT_LABEL, strlen(ROOT_LABEL) };
		/* Nodes on the path show only what passes through its end. */
		for (int side = 0; row.level <= path->count && side < SIDES; side++)
		{
			row.value[side] = end.value[side];
			row.self[side] = row.level < path->count ? 0 : row.self[side];
		}
		if (!flame_add_node(levels, &row))
			return false;
	}
	return true;
}

void
flame_levels_fini(FlameLevels *levels)
{
	for (size_t i = 0; i < levels->level_count; i++)
	{
		budget_release(&levels->budget, levels->levels[i].capacity * sizeof(int64_t));
		free(levels->levels[i].numbers);
	}
	budget_release(&levels->budget, levels->level_capacity * sizeof(FlameLevel));
	free(levels->levels);
	table_fini(&levels->names);
}

/* --- answers --- */

static const FlameName *
flame_name(const FlameLevels *levels, uint32_t index)
{
	return table_item(&levels->names, index);
}

/* Appends Level{1 values}, packed. */
static void
flame_put_level(const FlameLevel *level, Buffer *out, Buffer *scratch)
{
	char bytes[PFS_WIRE_FIELD_MAX];
	Buffer message = { NULL };

	buffer_reset(scratch);
	for (size_t i = 0; i < level->count; i++)
		buffer_put_bytes(scratch, bytes,
						 (size_t) (pfs_wire_put_varint(bytes, (uint64_t) level->numbers[i]) -
								   bytes));
	buffer_put_field(&message, 1, scratch->bytes, scratch->length);
	buffer_put_field(out, 2, message.bytes, message.length);
	out->failed |= message.failed || scratch->failed;
	buffer_fini(&message);
}

void
flame_levels_put_message(const FlameLevels *levels, Buffer *out)
{
	Buffer scratch = { NULL };

	/* An empty graph is left out, because clients do not accept one without levels. */
	if (levels->level_count == 0)
		return;
	for (uint32_t i = 0; i < levels->names.count; i++)
	{
		const FlameName *name = flame_name(levels, i);

		buffer_put_field(out, 1, name->bytes, name->length);
	}
	for (size_t i = 0; i < levels->level_count; i++)
		if (levels->levels[i].count > 0)
			flame_put_level(&levels->levels[i], out, &scratch);
	buffer_put_number(out, 3, (uint64_t) levels->total);
	buffer_put_number(out, 4, (uint64_t) levels->max_self);
	if (levels->is_diff)
	{
		buffer_put_number(out, 5, (uint64_t) levels->left_ticks);
		buffer_put_number(out, 6, (uint64_t) levels->right_ticks);
	}
	buffer_fini(&scratch);
}

static void
flame_put_text(Buffer *out, const char *text)
{
	buffer_put_bytes(out, text, strlen(text));
}

void
flame_levels_put_json(const FlameLevels *levels, Buffer *out)
{
	char number[96];

	flame_put_text(out, "{\"names\":[");
	for (uint32_t i = 0; i < levels->names.count; i++)
	{
		const FlameName *name = flame_name(levels, i);

		flame_put_text(out, i > 0 ? "," : "");
		json_put_text(out, (Span){ (const uint8_t *) name->bytes, name->length });
	}
	flame_put_text(out, "],\"levels\":[");
	for (size_t i = 0; i < levels->level_count && levels->levels[i].count > 0; i++)
	{
		const FlameLevel *level = &levels->levels[i];

		flame_put_text(out, i > 0 ? ",[" : "[");
		for (size_t j = 0; j < level->count; j++)
		{
			snprintf(number, sizeof(number), "%s%" PRId64, j > 0 ? "," : "", level->numbers[j]);
			flame_put_text(out, number);
		}
		flame_put_text(out, "]");
	}
	snprintf(number, sizeof(number), "],\"numTicks\":%" PRId64 ",\"maxSelf\":%" PRId64 "}",
			 levels->total, levels->max_self);
	flame_put_text(out, number);
}
