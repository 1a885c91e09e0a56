/*
 * v8_nodes.c
 *		Finds a node's position in the tree at the node's first sample, because then all nodes above
 *		it are known.
 */
#include "formats/json/v8_nodes.h"

#define US_SCALE  1000 /* microseconds, in nanoseconds */
#define ROOT_NAME "(root)"

void
pfs_v8_init(PfsV8Nodes *nodes, PfsCallTree *tree)
{
	*nodes = (PfsV8Nodes){ .tree = tree };
	pfs_pairs_init(&nodes->ids, tree->profile->budget);
}

void
pfs_v8_fini(PfsV8Nodes *nodes)
{
	PfsAllocator allocator = nodes->tree->profile->budget->allocator;

	if (nodes->nodes != NULL)
		allocator.realloc(allocator.context, nodes->nodes, 0);
	pfs_pairs_fini(&nodes->ids);
}

bool
pfs_v8_add_types(PfsProfile *profile)
{
	static const PfsValueType types[PFS_V8_TYPES] = {
		[PFS_V8_SAMPLES] = { { "samples", 7 }, { "count", 5 } },
		[PFS_V8_TIME] = { { "wall", 4 }, { "nanoseconds", 11 } },
	};

	for (int i = 0; i < PFS_V8_TYPES; i++)
	{
		if (!PFS_GROW(profile->budget, profile->types, profile->type_count))
			return false;
		profile->types[profile->type_count++] = types[i];
	}
	return true;
}

/*
 * Returns the number of the next id in the file. If the id is new, its node has not been read yet.
 */
static PfsReadStatus
read_id(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile, uint32_t *number)
{
	uint32_t before = nodes->ids.count;
	uint32_t id;
	PfsReadStatus status = pfs_json_index(json, UINT32_MAX, &id);

	if (status != PFS_READ_OK)
		return status;
	/* Ids are unique only within a profile. */
	*number = pfs_pair_number(&nodes->ids, profile, id);
	if (*number == PFS_NONE ||
		(*number == before && !PFS_GROW(json->profile->budget, nodes->nodes, before)))
		return pfs_json_refused(json);
	/* A new id may be that of a parent or child whose node follows in the file. */
	if (*number == before)
		nodes->nodes[*number] = (PfsV8Node){ .parent = PFS_NONE, .call = PFS_NONE };
	return PFS_READ_OK;
}

/* Reads the field "callFrame" of a node. */
static PfsReadStatus
read_call_frame(PfsV8Nodes *nodes, PfsJson *json, PfsV8Node *node)
{
	PfsJsonField fields[] = { { "functionName", 0 }, { "url", 0 }, { "lineNumber", 0 } };
	PfsText texts[2] = { { "", 0 }, { "", 0 } };
	/* -1 stands for an unknown line, as in V8's own files. */
	int64_t line = -1;
	bool is_whole;
	PfsReadStatus status = pfs_json_find(json, fields, 3);

	for (int i = 0; status == PFS_READ_OK && i < 2; i++)
	{
		if (fields[i].at == SIZE_MAX)
			continue;
		json->at = fields[i].at;
		status = pfs_json_word(json, &texts[i]);
	}
	if (status == PFS_READ_OK && fields[2].at != SIZE_MAX)
	{
		json->at = fields[2].at;
		status = pfs_json_number(json, 1, &line, &is_whole);
	}
	if (status != PFS_READ_OK)
		return status;
	/* V8 writes an empty name for a function without one. */
	if (texts[0].length == 0)
		texts[0] = (PfsText){ "(anonymous)", 11 };
	node->is_root = pfs_text_equals(texts[0], ROOT_NAME);
	/* lines count from 0; -1 means that there is none */
	node->location = pfs_calls_frame(nodes->tree, texts[0], texts[1],
									 line >= 0 && line < INT32_MAX ? (int32_t) line + 1 : 0);
	node->is_read = true;
	return node->location == PFS_NONE ? pfs_json_refused(json) : PFS_READ_OK;
}

static PfsReadStatus
read_children(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile, uint32_t parent)
{
	bool more;
	PfsReadStatus status = pfs_json_begin(json, '[', &more);

	while (status == PFS_READ_OK && more)
	{
		uint32_t child;

		status = read_id(nodes, json, profile, &child);
		if (status != PFS_READ_OK)
			return status;
		nodes->nodes[child].parent = parent;
		status = pfs_json_next(json, '[', &more);
	}
	return status;
}

/*
 * Reads a node with its frame, and its links to parent or children, which may be read later than
 * the node.
 */
static PfsReadStatus
read_node(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile)
{
	PfsJsonField fields[] = { { "id", 0 }, { "callFrame", 0 }, { "parent", 0 }, { "children", 0 } };
	PfsReadStatus status = pfs_json_find(json, fields, 4);
	size_t end = json->at;
	uint32_t number;
	uint32_t parent;

	if (status != PFS_READ_OK)
		return status;
	if (fields[0].at == SIZE_MAX || fields[1].at == SIZE_MAX)
		return pfs_json_fail(json, PFS_READ_MALFORMED, "node has no id or no frame");
	json->at = fields[0].at;
	status = read_id(nodes, json, profile, &number);
	json->at = fields[1].at;
	/*
	 * The array of nodes may move when an id is added, so the node is found by number after each
	 * read_id().
	 */
	if (status == PFS_READ_OK)
		status = read_call_frame(nodes, json, &nodes->nodes[number]);
	/*
	 * Trace events link a node to its parent, files of the profiler link a node to its children;
	 * both set the parent.
	 */
	if (status == PFS_READ_OK && fields[2].at != SIZE_MAX)
	{
		json->at = fields[2].at;
		status = read_id(nodes, json, profile, &parent);
		nodes->nodes[number].parent = parent;
	}
	if (status == PFS_READ_OK && fields[3].at != SIZE_MAX)
	{
		json->at = fields[3].at;
		status = read_children(nodes, json, profile, number);
	}
	if (status == PFS_READ_OK)
		json->at = end;
	return status;
}

PfsReadStatus
pfs_v8_read_nodes(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile)
{
	bool more;
	PfsReadStatus status = pfs_json_begin(json, '[', &more);

	while (status == PFS_READ_OK && more)
	{
		status = read_node(nodes, json, profile);
		if (status == PFS_READ_OK)
			status = pfs_json_next(json, '[', &more);
	}
	return status;
}

/* Returns true if a node is a frame of its own. */
static bool
is_frame(const PfsV8Node *node)
{
	return !node->is_root || node->parent != PFS_NONE;
}

/* Returns the tree's node for a number; PFS_NONE only for the root. */
static PfsReadStatus
find_call(PfsV8Nodes *nodes, PfsJson *json, uint32_t root, uint32_t number)
{
	uint32_t top = number;
	uint32_t caller = PFS_NONE;

	nodes->nodes[number].below = PFS_NONE;
	/*
	 * 1. Goes up to the first ancestor that is in the tree of calls already, and links the nodes
	 *    downwards on the way.
	 */
	for (uint32_t depth = 0; nodes->nodes[top].call == PFS_NONE; depth++)
	{
		const PfsV8Node *node = &nodes->nodes[top];

		if (!node->is_read)
			return pfs_json_fail(json, PFS_READ_MALFORMED, "sample refers to a missing node");
		/* A cycle of parents exceeds the depth, too, so the loop ends. */
		if (depth > PFS_PROFILE_MAX_DEPTH)
			return pfs_json_fail(json, PFS_READ_TOO_LARGE, "stack has too many frames");
		if (node->parent == PFS_NONE)
			break;
		nodes->nodes[node->parent].below = top;
		top = node->parent;
	}
	/* 2. Goes down again and adds the missing nodes of the tree. */
	for (; top != PFS_NONE; top = nodes->nodes[top].below)
	{
		PfsV8Node *node = &nodes->nodes[top];

		/* The root is no frame: its children are the outermost calls, with caller PFS_NONE. */
		if (node->call == PFS_NONE && is_frame(node))
		{
			node->call = caller == PFS_NONE ? pfs_calls_top(nodes->tree, root, node->location)
											: pfs_calls_child(nodes->tree, caller, node->location);
			if (node->call == PFS_NONE)
				return pfs_json_refused(json);
		}
		/* A resolved ancestor is the caller of the next node. */
		caller = node->call;
	}
	return PFS_READ_OK;
}

PfsReadStatus
pfs_v8_advance(PfsV8Nodes *nodes, const PfsJson *json, PfsV8Clock *clock, int64_t now_ns)
{
	int64_t *values;
	int64_t passed = 0;

	/*
	 * The clock follows every delta, but time passes only beyond the largest time so far: a
	 * negative delta followed by a positive one counts nothing twice.
	 */
	clock->now_ns = now_ns;
	if (now_ns <= clock->reached_ns)
		return PFS_READ_OK;
	if (__builtin_sub_overflow(now_ns, clock->reached_ns, &passed))
		return pfs_json_fail(json, PFS_READ_OUT_OF_RANGE, "time is out of range");
	clock->reached_ns = now_ns;
	/* No node runs before the first sample, and during a sample of the root. */
	if (clock->call == PFS_NONE)
		return PFS_READ_OK;
	values = pfs_calls_values(nodes->tree, clock->call);
	return __builtin_add_overflow(values[PFS_V8_TIME], passed, &values[PFS_V8_TIME])
			   ? pfs_json_fail(json, PFS_READ_OUT_OF_RANGE, "time is out of range")
			   : PFS_READ_OK;
}

static PfsReadStatus
read_delta(PfsV8Nodes *nodes, PfsJson *json, PfsV8Clock *clock)
{
	int64_t delta = 0;
	bool is_whole;
	PfsReadStatus status = pfs_json_number(json, US_SCALE, &delta, &is_whole);

	if (status == PFS_READ_OK && __builtin_add_overflow(clock->now_ns, delta, &delta))
		status = pfs_json_fail(json, PFS_READ_OUT_OF_RANGE, "time is out of range");
	return status == PFS_READ_OK ? pfs_v8_advance(nodes, json, clock, delta) : status;
}

static PfsReadStatus
v8_read_sample(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile, PfsV8Clock *clock)
{
	uint32_t number;
	PfsReadStatus status = read_id(nodes, json, profile, &number);

	if (status == PFS_READ_OK)
		status = find_call(nodes, json, clock->root, number);
	if (status != PFS_READ_OK)
		return status;
	clock->call = nodes->nodes[number].call;
	if (clock->call != PFS_NONE)
		pfs_calls_values(nodes->tree, clock->call)[PFS_V8_SAMPLES]++;
	return PFS_READ_OK;
}

PfsReadStatus
pfs_v8_read_samples(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile, size_t samples,
					size_t deltas, PfsV8Clock *clock)
{
	bool more = false;
	bool more_deltas = false;
	PfsReadStatus status = PFS_READ_OK;

	if (deltas != SIZE_MAX)
	{
		json->at = deltas;
		status = pfs_json_begin(json, '[', &more_deltas);
		deltas = json->at;
	}
	json->at = samples;
	if (status == PFS_READ_OK)
		status = pfs_json_begin(json, '[', &more);
	/*
	 * Both arrays are read in step: json->at is the position in one of them, samples and deltas
	 * keep the other.
	 */
	while (status == PFS_READ_OK && more)
	{
		samples = json->at;
		json->at = deltas;
		if (more_deltas)
			/*
			 * The delta is the time since the previous sample, so it belongs to the previous
			 * sample's node.
			 */
			status = read_delta(nodes, json, clock);
		if (status == PFS_READ_OK && more_deltas)
			status = pfs_json_next(json, '[', &more_deltas);
		deltas = json->at;
		if (status != PFS_READ_OK)
			return status;
		json->at = samples;
		status = v8_read_sample(nodes, json, profile, clock);
		if (status == PFS_READ_OK)
			status = pfs_json_next(json, '[', &more);
	}
	return status;
}
