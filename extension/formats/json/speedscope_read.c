/*
 * speedscope_read.c
 *		Reads frames, which all profiles share, and profiles: "sampled" ones have stacks with
 *		weights, "evented" ones have frames that open and close at times.
 *
 * 1. The units of the file's profiles become the types of the profile; times are converted to
 *    nanoseconds.
 * 2. Frames become locations; profiles become roots of the tree, with a label if there are several.
 *
 * profstore exports negative values as a profile "values below 0", because speedscope does not show
 * negative ones; here they become negative again.
 */
#include "formats/json/speedscope_read.h"

#include <string.h>

#include "formats/call_tree.h"

#define EXPORTER	  "profstore"
#define NEGATIVE_NAME "values below 0"

typedef struct Unit
{
	const char *name;
	const char *type; /* name of the sample type */
	const char *unit;
	int64_t scale;
} Unit;

static const Unit units[] = {
	{ "none", "samples", "count", 1 },
	{ "bytes", "space", "bytes", 1 },
	{ "nanoseconds", "time", "nanoseconds", 1 },
	{ "microseconds", "time", "nanoseconds", 1000 },
	{ "milliseconds", "time", "nanoseconds", 1000000 },
	{ "seconds", "time", "nanoseconds", 1000000000 },
};

/* Fields of a profile. The fields of the file are in its reader. */
enum
{
	TYPE,
	NAME,
	UNIT,
	SAMPLES,
	WEIGHTS,
	EVENTS,
	START_VALUE,
	END_VALUE,
	FIELD_COUNT
};

typedef struct Reader
{
	PfsJson *json;
	PfsCallTree tree;
	uint32_t *frames; /* indexes of locations */
	uint32_t frame_count;
	uint32_t *stack; /* open nodes of an evented profile, outermost first */
	uint32_t stack_room;
	bool is_ours;
	uint32_t profile_count; /* number of profiles, not counting those with negative values */
} Reader;

/* The current profile. */
typedef struct Part
{
	PfsJsonField fields[FIELD_COUNT];
	const Unit *unit;
	uint32_t type;
	uint32_t root;
	PfsText name;
	bool is_negative;
} Part;

/* Moves to a field's value; returns false if the field does not exist. */
static bool
speedscope_go_to(Reader *reader, const PfsJsonField *field)
{
	if (field->at == SIZE_MAX)
		return false;
	reader->json->at = field->at;
	return true;
}

static PfsReadStatus
lacks(Reader *reader, const char *message)
{
	return pfs_json_fail(reader->json, PFS_READ_MALFORMED, message);
}

/* Adds a frame of the table that all profiles share. */
static PfsReadStatus
speedscope_read_frame(Reader *reader)
{
	PfsJsonField fields[] = { { "name", 0 }, { "file", 0 }, { "line", 0 } };
	PfsText texts[2] = { { "", 0 }, { "", 0 } };
	PfsJson *json = reader->json;
	int64_t line = 0;
	bool is_whole;
	PfsReadStatus status = pfs_json_find(json, fields, 3);
	size_t end = json->at;

	for (int i = 0; status == PFS_READ_OK && i < 2; i++)
		if (speedscope_go_to(reader, &fields[i]))
			status = pfs_json_word(json, &texts[i]);
	/* A frame without a line may have null, which begins with 'n'. */
	if (status == PFS_READ_OK && speedscope_go_to(reader, &fields[2]) && pfs_json_peek(json) != 'n')
		status = pfs_json_number(json, 1, &line, &is_whole);
	if (status != PFS_READ_OK)
		return status;
	/* The next frame begins after the object; the reads above moved to its fields. */
	json->at = end;
	if (!PFS_GROW(json->profile->budget, reader->frames, reader->frame_count))
		return pfs_json_refused(json);
	/*
	 * Profiles refer to frames by their positions in the table, several of which may have one
	 * location.
	 */
	reader->frames[reader->frame_count] =
		pfs_calls_frame(&reader->tree, texts[0], texts[1],
						line > 0 && line <= INT32_MAX ? (int32_t) line : 0);
	return reader->frames[reader->frame_count++] == PFS_NONE ? pfs_json_refused(json) : PFS_READ_OK;
}

/* Reads the field "frames" of the next object. */
static PfsReadStatus
read_frames(Reader *reader)
{
	PfsJsonField frames = { "frames", 0 };
	bool more;
	PfsReadStatus status = pfs_json_find(reader->json, &frames, 1);

	if (status != PFS_READ_OK)
		return status;
	if (!speedscope_go_to(reader, &frames))
		return lacks(reader, "file has no frames");
	status = pfs_json_begin(reader->json, '[', &more);
	while (status == PFS_READ_OK && more)
	{
		status = speedscope_read_frame(reader);
		if (status == PFS_READ_OK)
			status = pfs_json_next(reader->json, '[', &more);
	}
	return status;
}

/* Reads the unit of a profile, and finds its type. */
static PfsReadStatus
speedscope_read_unit(Reader *reader, Part *part)
{
	PfsProfile *profile = reader->json->profile;
	PfsText name = { "none", 4 };
	PfsReadStatus status = PFS_READ_OK;

	/* A profile without a unit counts samples, as speedscope assumes. */
	if (speedscope_go_to(reader, &part->fields[UNIT]))
		status = pfs_json_text(reader->json, &name);
	part->unit = NULL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (pfs_text_equals(name, units[i].name))
			part->unit = &units[i];
	if (status == PFS_READ_OK && part->unit == NULL)
		return lacks(reader, "unknown unit");
	if (status != PFS_READ_OK)
		return status;
	/* Profiles of one unit, or of units that become nanoseconds, share a type. */
	for (part->type = 0; part->type < profile->type_count; part->type++)
		if (pfs_text_equals(profile->types[part->type].type, part->unit->type))
			return PFS_READ_OK;
	if (!PFS_GROW(profile->budget, profile->types, profile->type_count))
		return pfs_json_refused(reader->json);
	profile->types[profile->type_count++] =
		(PfsValueType){ { part->unit->type, (uint32_t) strlen(part->unit->type) },
						{ part->unit->unit, (uint32_t) strlen(part->unit->unit) } };
	return PFS_READ_OK;
}

/* Locates the fields of a profile and reads its unit and name; moves past the profile. */
static PfsReadStatus
find_part(Reader *reader, Part *part)
{
	static const char *const names[FIELD_COUNT] = { "type",	   "name",	 "unit",	   "samples",
													"weights", "events", "startValue", "endValue" };
	PfsReadStatus status;
	size_t end;

	*part = (Part){ .name = { "", 0 } };
	for (int i = 0; i < FIELD_COUNT; i++)
		part->fields[i].name = names[i];
	status = pfs_json_find(reader->json, part->fields, FIELD_COUNT);
	end = reader->json->at;
	if (status == PFS_READ_OK)
		status = speedscope_read_unit(reader, part);
	if (status == PFS_READ_OK && speedscope_go_to(reader, &part->fields[NAME]))
		status = pfs_json_word(reader->json, &part->name);
	/*
	 * Only our own export uses the name with this meaning; in other files it is an ordinary name.
	 */
	part->is_negative = reader->is_ours && pfs_text_equals(part->name, NEGATIVE_NAME);
	if (status == PFS_READ_OK)
		reader->json->at = end;
	return status;
}

/* Adds to the value of a node, or of the root. */
static PfsReadStatus
speedscope_add_value(Reader *reader, const Part *part, uint32_t node, int64_t value)
{
	int64_t *sum = node == PFS_NONE ? pfs_calls_empty_values(&reader->tree, part->root)
									: pfs_calls_values(&reader->tree, node);

	/* A root and a node have one value for each type. */
	sum += part->type;
	if (part->is_negative ? __builtin_sub_overflow(*sum, value, sum)
						  /* The exporter wrote the absolute values, so they are subtracted. */
						  : __builtin_add_overflow(*sum, value, sum))
		return pfs_json_fail(reader->json, PFS_READ_OUT_OF_RANGE, "value is out of range");
	return PFS_READ_OK;
}

/* Reads a value. Times may be rounded to nanoseconds; other values must be integers. */
static PfsReadStatus
read_value(Reader *reader, const Part *part, int64_t *value)
{
	bool is_time = strcmp(part->unit->unit, "nanoseconds") == 0;
	bool is_whole;
	PfsReadStatus status = pfs_json_number(reader->json, part->unit->scale, value, &is_whole);

	if (status != PFS_READ_OK || is_whole || is_time)
		return status;
	pfs_json_fail(reader->json, PFS_READ_MALFORMED,
				  "value is a fraction, whole numbers are needed");
	reader->json->error->hint = "Fractions are supported for times only.";
	return PFS_READ_MALFORMED;
}

/* Reads a stack, outermost frame first; *node is its leaf, PFS_NONE for an empty stack. */
static PfsReadStatus
speedscope_read_stack(Reader *reader, const Part *part, uint32_t *node)
{
	bool more;
	PfsReadStatus status = pfs_json_begin(reader->json, '[', &more);

	/* A stack without frames gets the root's own value. */
	*node = PFS_NONE;
	while (status == PFS_READ_OK && more)
	{
		uint32_t frame;

		status = pfs_json_index(reader->json, reader->frame_count, &frame);
		if (status != PFS_READ_OK)
			return status;
		*node = *node == PFS_NONE ? pfs_calls_top(&reader->tree, part->root, reader->frames[frame])
								  : pfs_calls_child(&reader->tree, *node, reader->frames[frame]);
		if (*node == PFS_NONE)
			return pfs_json_refused(reader->json);
		/* A node's depth counts its frames; the tree itself has no limit. */
		if (reader->tree.nodes[*node].depth > PFS_PROFILE_MAX_DEPTH)
			return pfs_json_fail(reader->json, PFS_READ_TOO_LARGE, "stack has too many frames");
		status = pfs_json_next(reader->json, '[', &more);
	}
	return status;
}

/*
 * Reads stacks and weights, which must be equally many, alternately at two positions of the file.
 */
static PfsReadStatus
read_sampled(Reader *reader, const Part *part)
{
	PfsJson *json = reader->json;
	bool more_stacks;
	bool more_weights;
	size_t weights;
	PfsReadStatus status;

	if (!speedscope_go_to(reader, &part->fields[WEIGHTS]))
		return lacks(reader, "profile has no weights");
	status = pfs_json_begin(json, '[', &more_weights);
	/*
	 * Both arrays are read in step: json->at is the position in one of them, weights and stacks
	 * keep the other.
	 */
	weights = json->at;
	if (status == PFS_READ_OK && !speedscope_go_to(reader, &part->fields[SAMPLES]))
		return lacks(reader, "profile has no samples");
	if (status == PFS_READ_OK)
		status = pfs_json_begin(json, '[', &more_stacks);
	while (status == PFS_READ_OK && more_stacks && more_weights)
	{
		uint32_t node;
		int64_t weight;
		size_t stacks;

		/* 1. The stack, and the comma or end after it. */
		status = speedscope_read_stack(reader, part, &node);
		if (status == PFS_READ_OK)
			status = pfs_json_next(json, '[', &more_stacks);
		stacks = json->at;
		json->at = weights;
		if (status == PFS_READ_OK)
			/* 2. The weight of this stack, in the other array. */
			status = read_value(reader, part, &weight);
		if (status == PFS_READ_OK)
			status = speedscope_add_value(reader, part, node, weight);
		if (status == PFS_READ_OK)
			status = pfs_json_next(json, '[', &more_weights);
		weights = json->at;
		/* An error is reported at the position where it occurred. */
		if (status == PFS_READ_OK)
			json->at = stacks;
	}
	/* One array ended before the other. */
	if (status == PFS_READ_OK && (more_stacks || more_weights))
		status = lacks(reader, "profile has not as many weights as samples");
	return status;
}

/* The number of open frames, and the time since which the innermost one has run. */
typedef struct Open
{
	uint32_t depth;
	int64_t since;
} Open;

/* Adds the time until now to the innermost frame. */
static PfsReadStatus
pass_time(Reader *reader, const Part *part, Open *open, int64_t now)
{
	int64_t passed;

	/* Hostile times may be so far apart that their difference overflows. */
	if (__builtin_sub_overflow(now, open->since, &passed))
		return pfs_json_fail(reader->json, PFS_READ_OUT_OF_RANGE, "value is out of range");
	if (passed < 0)
		return lacks(reader, "events are not in the order of their times");
	open->since = now;
	/* No frame runs between two stacks, so the time belongs to none. */
	return open->depth == 0
			   ? PFS_READ_OK
			   : speedscope_add_value(reader, part, reader->stack[open->depth - 1], passed);
}

/* Opens a frame below the innermost open one. */
static PfsReadStatus
open_frame(Reader *reader, const Part *part, Open *open, uint32_t location)
{
	uint32_t node = open->depth == 0
						? pfs_calls_top(&reader->tree, part->root, location)
						: pfs_calls_child(&reader->tree, reader->stack[open->depth - 1], location);

	if (node == PFS_NONE || open->depth == PFS_PROFILE_MAX_DEPTH)
		return node == PFS_NONE
				   ? pfs_json_refused(reader->json)
				   : pfs_json_fail(reader->json, PFS_READ_TOO_LARGE, "stack has too many frames");
	/*
	 * stack_room is the number of entries that were ever used; PFS_GROW() must be called for each.
	 */
	if (open->depth == reader->stack_room)
	{
		if (!PFS_GROW(reader->json->profile->budget, reader->stack, reader->stack_room))
			return pfs_json_refused(reader->json);
		reader->stack_room++;
	}
	reader->stack[open->depth++] = node;
	return PFS_READ_OK;
}

/*
 * Handles an event: the innermost frame gets the time until now, then a frame is opened or the
 * innermost one closed.
 */
static PfsReadStatus
speedscope_read_event(Reader *reader, const Part *part, Open *open)
{
	PfsJsonField fields[] = { { "type", 0 }, { "at", 0 }, { "frame", 0 } };
	PfsJson *json = reader->json;
	PfsText type = { "", 0 };
	int64_t now = 0;
	uint32_t frame;
	PfsReadStatus status = pfs_json_find(json, fields, 3);
	size_t end = json->at;

	if (status != PFS_READ_OK)
		return status;
	/* The fields may come in any order, so they are located first and read by position. */
	if (!speedscope_go_to(reader, &fields[0]) || fields[1].at == SIZE_MAX ||
		fields[2].at == SIZE_MAX)
		return lacks(reader, "event has no type, time or frame");
	status = pfs_json_text(json, &type);
	json->at = fields[1].at;
	if (status == PFS_READ_OK)
		status = read_value(reader, part, &now);
	if (status == PFS_READ_OK)
		/* The time until this event belongs to the frames that were open before it. */
		status = pass_time(reader, part, open, now);
	if (status != PFS_READ_OK)
		return status;
	json->at = fields[2].at;
	status = pfs_json_index(json, reader->frame_count, &frame);
	if (status == PFS_READ_OK && pfs_text_equals(type, "O"))
		status = open_frame(reader, part, open, reader->frames[frame]);
	else if (status == PFS_READ_OK)
	{
		/* Spans must be nested: a frame can close only if it is the innermost one. */
		if (!pfs_text_equals(type, "C") || open->depth == 0 ||
			reader->tree.nodes[reader->stack[open->depth - 1]].location != reader->frames[frame])
			return lacks(reader, "event closes a frame that is not the innermost");
		open->depth--;
	}
	if (status == PFS_READ_OK)
		json->at = end;
	return status;
}

/* Reads the events of a profile; frames that are still open at its end get the remaining time. */
static PfsReadStatus
read_evented(Reader *reader, const Part *part)
{
	Open open = { .depth = 0 };
	int64_t end;
	bool more;
	PfsReadStatus status = PFS_READ_OK;

	if (speedscope_go_to(reader, &part->fields[START_VALUE]))
		status = read_value(reader, part, &open.since);
	if (status == PFS_READ_OK && !speedscope_go_to(reader, &part->fields[EVENTS]))
		return lacks(reader, "profile has no events");
	if (status == PFS_READ_OK)
		status = pfs_json_begin(reader->json, '[', &more);
	while (status == PFS_READ_OK && more)
	{
		status = speedscope_read_event(reader, part, &open);
		if (status == PFS_READ_OK)
			status = pfs_json_next(reader->json, '[', &more);
	}
	if (status == PFS_READ_OK && open.depth > 0 &&
		/* Without an end value the last event ends the profile. */
		speedscope_go_to(reader, &part->fields[END_VALUE]))
	{
		status = read_value(reader, part, &end);
		if (status == PFS_READ_OK)
			status = pass_time(reader, part, &open, end);
	}
	return status;
}

static PfsReadStatus
set_root(Reader *reader, Part *part)
{
	static const PfsText key = { "profile", 7 };

	part->root = pfs_calls_root(&reader->tree);
	if (part->root == PFS_NONE)
		return pfs_json_refused(reader->json);
	/* A single profile needs no label; one of values below 0 is a part of it. */
	if (reader->profile_count > 1 && !part->is_negative)
		reader->tree.roots[part->root] = (PfsCallRoot){ 1, { { .key = key, .text = part->name } } };
	return PFS_READ_OK;
}

static PfsReadStatus
speedscope_read_part(Reader *reader)
{
	PfsText type = { "", 0 };
	Part part;
	PfsReadStatus status = find_part(reader, &part);
	size_t end = reader->json->at;

	if (status == PFS_READ_OK)
		status = set_root(reader, &part);
	if (status == PFS_READ_OK && !speedscope_go_to(reader, &part.fields[TYPE]))
		return lacks(reader, "profile has no type");
	if (status == PFS_READ_OK)
		status = pfs_json_text(reader->json, &type);
	/* Only a field of the wrong type fails here; a missing one was tested above. */
	if (status != PFS_READ_OK)
		return status;
	if (pfs_text_equals(type, "sampled"))
		status = read_sampled(reader, &part);
	else if (pfs_text_equals(type, "evented"))
		status = read_evented(reader, &part);
	else
		return lacks(reader, "unknown type of profile");
	if (status == PFS_READ_OK)
		reader->json->at = end;
	return status;
}

/* First pass: finds the types, which the tree needs, and the number of profiles. */
static PfsReadStatus
count_part(Reader *reader)
{
	Part part;
	PfsReadStatus status = find_part(reader, &part);

	reader->profile_count += !part.is_negative;
	return status;
}

static PfsReadStatus
each_part(Reader *reader, size_t profiles, PfsReadStatus (*read)(Reader *))
{
	bool more;
	PfsReadStatus status;

	reader->json->at = profiles;
	status = pfs_json_begin(reader->json, '[', &more);
	while (status == PFS_READ_OK && more)
	{
		status = read(reader);
		if (status == PFS_READ_OK)
			status = pfs_json_next(reader->json, '[', &more);
	}
	return status;
}

/*
 * Reads the file in two passes over the profiles, because the tree needs the sample types before
 * the first value.
 */
static PfsReadStatus
speedscope_read_file(Reader *reader)
{
	PfsJsonField fields[] = { { "shared", 0 }, { "profiles", 0 }, { "exporter", 0 } };
	PfsText exporter = { "", 0 };
	PfsReadStatus status = pfs_json_find(reader->json, fields, 3);

	if (status == PFS_READ_OK && speedscope_go_to(reader, &fields[2]))
		status = pfs_json_word(reader->json, &exporter);
	reader->is_ours = pfs_text_equals(exporter, EXPORTER);
	if (status == PFS_READ_OK)
		/* All types must exist before the first value: a node has one value per type. */
		status = each_part(reader, fields[1].at, count_part);
	if (status == PFS_READ_OK && reader->json->profile->type_count == 0)
		status = lacks(reader, "file has no profile");
	/* pfs_json_read() has found both fields, so their positions are valid. */
	reader->json->at = fields[0].at;
	if (status == PFS_READ_OK)
		status = read_frames(reader);
	if (status == PFS_READ_OK)
		status = each_part(reader, fields[1].at, speedscope_read_part);
	return status == PFS_READ_OK ? pfs_calls_samples(&reader->tree, reader->json->error) : status;
}

PfsReadStatus
pfs_speedscope_read(PfsJson *json)
{
	Reader reader = { .json = json };
	PfsAllocator allocator = json->profile->budget->allocator;
	PfsReadStatus status;

	json->profile->name = "speedscope";
	/* a duration marks the values as sums over time; the real one is unknown */
	json->profile->duration_ns = 1;
	pfs_calls_init(&reader.tree, json->profile);
	status = speedscope_read_file(&reader);
	pfs_calls_fini(&reader.tree);
	if (reader.frames != NULL)
		allocator.realloc(allocator.context, reader.frames, 0);
	if (reader.stack != NULL)
		allocator.realloc(allocator.context, reader.stack, 0);
	return status;
}
