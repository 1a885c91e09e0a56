/*
 * frame_paths.c
 *		Sorts paths and writes their nodes.
 *
 * A path is the symbols of its frames, four bytes each, most significant byte first, so that bytes
 * compare like the numbers and a path precedes its extensions. Each path is sorted together with
 * the origins of its nodes: the locations by which nodes are shown.
 */
#include "tree/frame_paths.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "base/arrays.h"
#include "base/row_sorter.h"
#include "tree/stack_visit.h"

#define INITIAL_DEPTH 64

/* Bytes of the sort. A stream and the walks of its parts use the rest of the memory. */
#define SORT_SHARE(bytes) ((bytes) / 8)

enum
{
	PATH,
	ORIGINS,
	VALUE,
	BASE,
	PATH_COLUMNS
};

typedef struct Frame
{
	uint64 age;
	int32 location;
	PfsFrame frame;
} Frame;

struct PfsFramePaths
{
	PfsSymbols *symbols;
	bool inverted;
	bool folding;
	uint32 function;
	uint32 top; /* symbol of the node below which the stacks are put, or PFS_NO_SYMBOL */
	uint32 top_count;
	bool has_top;  /* the origin of the top node has been written */
	uint64 older;  /* an age at least as great as those of all stacks of earlier streams */
	uint64 newest; /* greatest age so far */
	Frame *open;   /* frames from the root to the current one */
	uint32 depth;
	uint32 capacity;
	uint32 known; /* number of open frames that are on a path put before */
	Tuplesortstate *sort;
	TupleTableSlot *slot;
	StringInfoData path;
	StringInfoData origins;
};

static void
paths_enter_frame(void *state, uint64 age, int32 location, PfsFrame frame)
{
	PfsFramePaths *paths = state;

	PFS_RESERVE(paths->open, paths->capacity, (uint64) paths->depth + 1);
	paths->open[paths->depth++] = (Frame){ age, location, frame };
}

static void
paths_leave_frame(void *state, PfsFrame frame, PfsSides total, const PfsWideSides *wide)
{
	PfsFramePaths *paths = state;

	paths->depth--;
	/* Frames below this depth are others from now on, so their origins are not written yet. */
	paths->known = Min(paths->known, paths->depth);
}

/* Returns the bytes of a bytea that was built in a buffer. */
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

/*
 * Sets the range of open frames that make the path, in the walk's direction; returns false if the
 * stack has no path.
 */
static bool
cut_path(const PfsFramePaths *paths, uint32 *first, uint32 *end)
{
	uint32 at = 0;

	*first = 0;
	*end = paths->depth;
	if (paths->function == PFS_NO_SYMBOL)
		return true;
	/* The outermost frame of the function is where the path begins. */
	while (at < paths->depth && paths->open[at].frame.symbol != paths->function)
		at++;
	if (paths->inverted)
		*end = at;
	else
		*first = at + 1;
	return at < paths->depth;
}

static void
append_symbol(PfsFramePaths *paths, uint32 symbol)
{
	/* Big-endian, so that memcmp() orders paths like their numbers. */
	uint32 key = pg_hton32(symbol);

	appendBinaryStringInfo(&paths->path, (const char *) &key, sizeof(key));
}

static void
append_origin(PfsFramePaths *paths, const PfsFrameOrigin *origin)
{
	appendBinaryStringInfo(&paths->origins, (const char *) origin, sizeof(PfsFrameOrigin));
}

/*
 * Puts the path of a stack. In a tree from the root, an origin is written only with the first path
 * that has the node. In a tree from the leaf it is written with every path, because there a node's
 * age is that of the stack.
 */
static void
paths_end_stack(void *state, uint64 age, uint32 symbol, PfsSides value)
{
	PfsFramePaths *paths = state;
	/* Folding also drops frames of the function itself directly below the root. */
	uint32 last = paths->function;
	uint32 depth = 0;
	uint32 first;
	uint32 end;

	if (!cut_path(paths, &first, &end))
		return;
	begin_bytes(&paths->path);
	begin_bytes(&paths->origins);
	if (paths->top != PFS_NO_SYMBOL)
	{
		last = paths->top;
		append_symbol(paths, paths->top);
		if (!paths->has_top)
			/* The top node has no location; its age is the number of its group. */
			append_origin(paths, &(PfsFrameOrigin){ paths->top_count, 0, 0, depth, 0 });
		paths->has_top = true;
		depth++;
	}
	for (uint32 i = first; i < end; i++)
	{
		const Frame *frame = &paths->open[paths->inverted ? end - 1 - i : i];

		if (paths->folding && frame->frame.symbol == last)
			continue;
		last = frame->frame.symbol;
		append_symbol(paths, last);
		if (paths->inverted || i >= paths->known)
		{
			/* Ages of each stream begin at 0 again, so those of earlier streams are added. */
			const PfsFrameOrigin origin = { paths->older + (paths->inverted ? age : frame->age),
											frame->location, frame->frame.line, depth, 0 };

			append_origin(paths, &origin);
			paths->newest = Max(paths->newest, origin.age);
		}
		depth++;
	}
	/* All open frames are on the path just put. */
	paths->known = paths->depth;
	ExecClearTuple(paths->slot);
	paths->slot->tts_values[PATH] = finish_bytes(&paths->path);
	paths->slot->tts_values[ORIGINS] = finish_bytes(&paths->origins);
	paths->slot->tts_values[VALUE] = Int64GetDatum(value.value);
	paths->slot->tts_values[BASE] = Int64GetDatum(value.base);
	ExecStoreVirtualTuple(paths->slot);
	tuplesort_puttupleslot(paths->sort, paths->slot);
}

static TupleDesc
describe_paths(void)
{
	static const Oid types[PATH_COLUMNS] = { BYTEAOID, BYTEAOID, INT8OID, INT8OID };
	TupleDesc descriptor = CreateTemplateTupleDesc(PATH_COLUMNS);

	for (int i = 0; i < PATH_COLUMNS; i++)
		TupleDescInitEntry(descriptor, (AttrNumber) (i + 1), NULL, types[i], -1, 0);
	return descriptor;
}

PfsFramePaths *
pfs_frame_paths_begin(PfsSymbols *symbols, bool inverted, uint32 function, bool folding)
{
	PfsFramePaths *paths = palloc0(sizeof(PfsFramePaths));
	TupleDesc descriptor = describe_paths();
	AttrNumber column = PATH + 1;
	Oid less = lookup_type_cache(BYTEAOID, TYPECACHE_LT_OPR)->lt_opr;
	Oid collation = InvalidOid;
	bool nulls_first = false;

	paths->symbols = symbols;
	paths->inverted = inverted;
	paths->function = function;
	paths->folding = folding;
	paths->capacity = INITIAL_DEPTH;
	paths->open = PFS_ARRAY(Frame, paths->capacity);
	paths->sort =
		/* Origins and values travel with the path and are not compared. */
		tuplesort_begin_heap(descriptor, 1, &column, &less, &collation, &nulls_first,
							 pfs_row_sorter_kb(SORT_SHARE(pfs_hash_memory_bytes())), NULL, false);
	paths->slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	memset(paths->slot->tts_isnull, false, PATH_COLUMNS * sizeof(bool));
	initStringInfo(&paths->path);
	initStringInfo(&paths->origins);
	return paths;
}

void
pfs_frame_paths_add(PfsFramePaths *paths, PfsStackStream *stream, uint32 top)
{
	static const PfsFrameVisitor visitor = { paths_enter_frame, paths_leave_frame,
											 paths_end_stack };
	PfsStackVisit *visit = pfs_stack_visit_begin(stream, paths->symbols);

	paths->top = top;
	paths->has_top = false;
	/* Nodes of earlier groups count as older. */
	paths->older = paths->newest;
	pfs_stack_visit_all(visit, &visitor, paths);
	pfs_stack_visit_end(visit);
	paths->top_count++;
}

/* Reads all paths in order and writes their nodes. */
static void
write_nodes(PfsFrameFile *file, Tuplesortstate *sort, TupleDesc descriptor)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);

	tuplesort_performsort(sort);
	while (tuplesort_gettupleslot(sort, true, false, slot, NULL))
	{
		struct varlena *path;
		struct varlena *origins;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		/* A short bytea has a length word of one byte in the tuple; detoasting aligns it. */
		path = PG_DETOAST_DATUM(slot->tts_values[PATH]);
		origins = PG_DETOAST_DATUM(slot->tts_values[ORIGINS]);
		pfs_frame_file_put(file, (const uint32 *) VARDATA(path),
						   (uint32) ((VARSIZE(path) - VARHDRSZ) / sizeof(uint32)),
						   (PfsSides){ DatumGetInt64(slot->tts_values[VALUE]),
									   DatumGetInt64(slot->tts_values[BASE]) });
		pfs_frame_file_put_origins(file, VARDATA(origins),
								   (VARSIZE(origins) - VARHDRSZ) / sizeof(PfsFrameOrigin));
		if ((Pointer) path != DatumGetPointer(slot->tts_values[PATH]))
			pfree(path);
		if ((Pointer) origins != DatumGetPointer(slot->tts_values[ORIGINS]))
			pfree(origins);
	}
	pfs_frame_file_finish(file);
	ExecDropSingleTupleTableSlot(slot);
}

PfsFrameFile *
pfs_frame_paths_finish(PfsFramePaths *paths)
{
	PfsFrameFile *file = pfs_frame_file_begin();

	write_nodes(file, paths->sort, paths->slot->tts_tupleDescriptor);
	ExecDropSingleTupleTableSlot(paths->slot);
	tuplesort_end(paths->sort);
	pfree(paths->open);
	pfree(paths->path.data);
	pfree(paths->origins.data);
	pfree(paths);
	return file;
}
