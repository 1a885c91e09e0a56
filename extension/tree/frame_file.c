/*
 * frame_file.c
 *		Ways through a sort, and nodes from sorted ways.
 *
 * A way is the symbols of its frames, four bytes each, the greatest first, so that bytes compare as the numbers do and a way
 * comes before those that go on from it. Beside it are the origins of its nodes: by what location a node is shown.
 */
#include "tree/frame_file.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "base/row_sorter.h"
#include "base/temp_file.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "tree/stack_visit.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#define INITIAL_DEPTH 64

/* The share of the sort; a stream and the walks of its parts have the others. */
#define SORT_SHARE(bytes) ((bytes) / 8)

enum
{
	WAY,
	ORIGINS,
	VALUE,
	BASE,
	WAY_COLUMNS
};

struct PfsFrameFile
{
	BufFile *file;
	uint32 count;
};

typedef struct Origin
{
	uint64 age;
	int32 location;
	uint32 line;
	uint32 depth; /* of the node, the root's children being at 0 */
	uint32 unused;
} Origin;

typedef struct Frame
{
	uint64 age;
	int32 location;
	PfsFrame frame;
} Frame;

struct PfsFrameWays
{
	PfsSymbols *symbols;
	bool inverted;
	bool folding;
	uint32 function;
	uint32 group; /* of the stacks that are visited, or PFS_NO_SYMBOL */
	uint32 group_count;
	bool has_group; /* a way has told where the group's node comes from */
	uint64 older;	/* no age of the groups before is greater */
	uint64 newest;	/* of all ages that were put */
	Frame *open;	/* from the root to where the visit is */
	uint32 depth;
	uint32 capacity;
	uint32 known; /* so many of them were on a way that was put before */
	Tuplesortstate *sort;
	TupleTableSlot *slot;
	StringInfoData way;
	StringInfoData origins;
};

static void
enter_frame(void *state, uint64 age, int32 location, PfsFrame frame)
{
	PfsFrameWays *ways = state;

	if (ways->depth == ways->capacity)
	{
		ways->capacity *= 2;
		ways->open = repalloc_huge(ways->open, (Size) ways->capacity * sizeof(Frame));
	}
	ways->open[ways->depth++] = (Frame){ age, location, frame };
}

static void
leave_frame(void *state, PfsFrame frame, PfsSides total, const PfsWideSides *wide)
{
	PfsFrameWays *ways = state;

	ways->depth--;
	ways->known = Min(ways->known, ways->depth);
}

/* The bytes of a value of type bytea that was made in a buffer. */
static Datum
finish_bytes(StringInfo bytes)
{
	SET_VARSIZE(bytes->data, bytes->len);
	return PointerGetDatum(bytes->data);
}

static void
begin_bytes(StringInfo bytes)
{
	resetStringInfo(bytes);
	appendStringInfoSpaces(bytes, VARHDRSZ);
}

/* How many of the open frames are on the way in each direction, from the root on; false: the stack has none. */
static bool
cut_way(const PfsFrameWays *ways, uint32 *first, uint32 *end)
{
	uint32 at = 0;

	*first = 0;
	*end = ways->depth;
	if (ways->function == PFS_NO_SYMBOL)
		return true;
	while (at < ways->depth && ways->open[at].frame.symbol != ways->function)
		at++;
	if (ways->inverted)
		*end = at;
	else
		*first = at + 1;
	return at < ways->depth;
}

static void
append_symbol(PfsFrameWays *ways, uint32 symbol)
{
	uint32 key = pg_hton32(symbol);

	appendBinaryStringInfo(&ways->way, (const char *) &key, sizeof(key));
}

static void
append_origin(PfsFrameWays *ways, const Origin *origin)
{
	appendBinaryStringInfo(&ways->origins, (const char *) origin, sizeof(Origin));
}

/*
 * Puts the way of a stack. Root first, an origin goes with the first way that has the node alone; leaf first with every one, since
 * there the age is the stack's.
 */
static void
end_stack(void *state, uint64 age, uint32 symbol, PfsSides value)
{
	PfsFrameWays *ways = state;
	uint32 last = ways->function;
	uint32 depth = 0;
	uint32 first;
	uint32 end;

	if (!cut_way(ways, &first, &end))
		return;
	begin_bytes(&ways->way);
	begin_bytes(&ways->origins);
	if (ways->group != PFS_NO_SYMBOL)
	{
		last = ways->group;
		append_symbol(ways, ways->group);
		if (!ways->has_group)
			append_origin(ways, &(Origin){ ways->group_count, 0, 0, depth, 0 });
		ways->has_group = true;
		depth++;
	}
	for (uint32 i = first; i < end; i++)
	{
		const Frame *frame = &ways->open[ways->inverted ? end - 1 - i : i];

		if (ways->folding && frame->frame.symbol == last)
			continue;
		last = frame->frame.symbol;
		append_symbol(ways, last);
		if (ways->inverted || i >= ways->known)
		{
			const Origin origin = { ways->older + (ways->inverted ? age : frame->age),
									frame->location, frame->frame.line, depth, 0 };

			append_origin(ways, &origin);
			ways->newest = Max(ways->newest, origin.age);
		}
		depth++;
	}
	ways->known = ways->depth;
	ExecClearTuple(ways->slot);
	ways->slot->tts_values[WAY] = finish_bytes(&ways->way);
	ways->slot->tts_values[ORIGINS] = finish_bytes(&ways->origins);
	ways->slot->tts_values[VALUE] = Int64GetDatum(value.value);
	ways->slot->tts_values[BASE] = Int64GetDatum(value.base);
	ExecStoreVirtualTuple(ways->slot);
	tuplesort_puttupleslot(ways->sort, ways->slot);
}

static TupleDesc
describe_ways(void)
{
	static const Oid types[WAY_COLUMNS] = { BYTEAOID, BYTEAOID, INT8OID, INT8OID };
	TupleDesc descriptor = CreateTemplateTupleDesc(WAY_COLUMNS);

	for (int i = 0; i < WAY_COLUMNS; i++)
		TupleDescInitEntry(descriptor, (AttrNumber) (i + 1), NULL, types[i], -1, 0);
	return descriptor;
}

PfsFrameWays *
pfs_frame_ways_begin(PfsSymbols *symbols, bool inverted, uint32 function, bool folding)
{
	PfsFrameWays *ways = palloc0(sizeof(PfsFrameWays));
	TupleDesc descriptor = describe_ways();
	AttrNumber column = WAY + 1;
	Oid less = lookup_type_cache(BYTEAOID, TYPECACHE_LT_OPR)->lt_opr;
	Oid collation = InvalidOid;
	bool nulls_first = false;

	ways->symbols = symbols;
	ways->inverted = inverted;
	ways->function = function;
	ways->folding = folding;
	ways->capacity = INITIAL_DEPTH;
	ways->open = PFS_ARRAY(Frame, ways->capacity);
	ways->sort =
		tuplesort_begin_heap(descriptor, 1, &column, &less, &collation, &nulls_first,
							 pfs_row_sorter_kb(SORT_SHARE(pfs_hash_memory_bytes())), NULL, false);
	ways->slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	memset(ways->slot->tts_isnull, false, WAY_COLUMNS * sizeof(bool));
	initStringInfo(&ways->way);
	initStringInfo(&ways->origins);
	return ways;
}

void
pfs_frame_ways_add(PfsFrameWays *ways, PfsStackStream *stream, uint32 group)
{
	static const PfsFrameVisitor visitor = { enter_frame, leave_frame, end_stack };
	PfsStackVisit *visit = pfs_stack_visit_begin(stream, ways->symbols);

	ways->group = group;
	ways->has_group = false;
	ways->older = ways->newest;
	pfs_stack_visit_all(visit, &visitor, ways);
	pfs_stack_visit_end(visit);
	ways->group_count++;
}

typedef struct OpenNode
{
	PfsFileNode node;
	PfsWideSides self;
	PfsWideSides total; /* of what is below */
} OpenNode;

/* What is between the sort and the file: the nodes on the way to the latest, the root first. */
typedef struct OpenNodes
{
	PfsFrameFile *file;
	OpenNode *nodes;
	uint32 count;
	uint32 capacity;
} OpenNodes;

static void
open_node(OpenNodes *open, uint32 symbol)
{
	if (open->count == open->capacity)
	{
		open->capacity *= 2;
		open->nodes = repalloc_huge(open->nodes, (Size) open->capacity * sizeof(OpenNode));
	}
	open->nodes[open->count++] = (OpenNode){
		.node = { .symbol = symbol, .size = 1, .oldest = PG_UINT64_MAX },
	};
}

/* Writes the last node; its total and size go to its parent. */
static void
close_node(OpenNodes *open)
{
	OpenNode *last = &open->nodes[--open->count];
	PfsFileNode *node = &last->node;

	pfs_add_wide_sides(&last->total, &last->self);
	node->self = pfs_clip_sides(&last->self);
	node->total = pfs_clip_sides(&last->total);
	if (open->count > 0)
	{
		pfs_add_wide_sides(&last[-1].total, &last->total);
		last[-1].node.size += node->size;
	}
	if (open->file->count == PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("flame graph has too many nodes")));
	BufFileWrite(open->file->file, node, sizeof(PfsFileNode));
	open->file->count++;
}

/* Takes the open nodes to the end of a way. */
static void
follow_way(OpenNodes *open, const uint32 *way, uint32 depth)
{
	uint32 shared = 0;

	while (shared < depth && shared + 1 < open->count &&
		   open->nodes[shared + 1].node.symbol == pg_ntoh32(way[shared]))
		shared++;
	while (open->count > shared + 1)
		close_node(open);
	for (; shared < depth; shared++)
		open_node(open, pg_ntoh32(way[shared]));
}

static void
add_origins(OpenNodes *open, const char *origins, Size count)
{
	for (Size i = 0; i < count; i++)
	{
		Origin origin;
		PfsFileNode *node;

		memcpy(&origin, origins + i * sizeof(Origin), sizeof(Origin));
		node = &open->nodes[origin.depth + 1].node;
		if (origin.age >= node->oldest)
			continue;
		node->oldest = origin.age;
		node->location = origin.location;
		node->line = origin.line;
	}
}

/* Reads all ways in order and writes their nodes. */
static void
write_nodes(PfsFrameFile *file, Tuplesortstate *sort, TupleDesc descriptor)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);
	OpenNodes open = { file, PFS_ARRAY(OpenNode, INITIAL_DEPTH), 0, INITIAL_DEPTH };

	tuplesort_performsort(sort);
	open_node(&open, PFS_NO_SYMBOL);
	while (tuplesort_gettupleslot(sort, true, false, slot, NULL))
	{
		struct varlena *way;
		struct varlena *origins;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		way = PG_DETOAST_DATUM(slot->tts_values[WAY]);
		origins = PG_DETOAST_DATUM(slot->tts_values[ORIGINS]);
		follow_way(&open, (const uint32 *) VARDATA(way),
				   (uint32) ((VARSIZE(way) - VARHDRSZ) / sizeof(uint32)));
		add_origins(&open, VARDATA(origins), (VARSIZE(origins) - VARHDRSZ) / sizeof(Origin));
		pfs_add_sides(&open.nodes[open.count - 1].self,
					  (PfsSides){ DatumGetInt64(slot->tts_values[VALUE]),
								  DatumGetInt64(slot->tts_values[BASE]) });
		if ((Pointer) way != DatumGetPointer(slot->tts_values[WAY]))
			pfree(way);
		if ((Pointer) origins != DatumGetPointer(slot->tts_values[ORIGINS]))
			pfree(origins);
	}
	while (open.count > 0)
		close_node(&open);
	pfs_memory_look();
	pfree(open.nodes);
	ExecDropSingleTupleTableSlot(slot);
}

PfsFrameFile *
pfs_frame_ways_finish(PfsFrameWays *ways)
{
	PfsFrameFile *file = palloc0(sizeof(PfsFrameFile));

	file->file = BufFileCreateTemp(false);
	write_nodes(file, ways->sort, ways->slot->tts_tupleDescriptor);
	ExecDropSingleTupleTableSlot(ways->slot);
	tuplesort_end(ways->sort);
	pfree(ways->open);
	pfree(ways->way.data);
	pfree(ways->origins.data);
	pfree(ways);
	return file;
}

uint32
pfs_frame_file_root(const PfsFrameFile *file)
{
	return file->count - 1;
}

PfsFileNode
pfs_frame_file_get(PfsFrameFile *file, uint32 number)
{
	PfsFileNode node;
	uint64 position = (uint64) number * sizeof(PfsFileNode);

	pfs_temp_file_seek(file->file, position);
	pfs_temp_file_read(file->file, &node, sizeof(node));
	return node;
}

void
pfs_frame_file_end(PfsFrameFile *file)
{
	BufFileClose(file->file);
	pfree(file);
}
