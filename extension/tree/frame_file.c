/*
 * frame_file.c
 *		Writes the nodes of sorted paths. The nodes on the current path are open; all others are
 *		written.
 */
#include "tree/frame_file.h"

#include "port/pg_bswap.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "base/temp_file.h"
#include "merge/stack_sums.h"
#include "tree/frames/symbols.h"

typedef struct OpenNode
{
	PfsFileNode node;
	PfsWideSides self;
	PfsWideSides total; /* total of the nodes below */
} OpenNode;

struct PfsFrameFile
{
	BufFile *file;
	uint32 count;	/* number of nodes written */
	OpenNode *open; /* the nodes on the current path, the root first */
	uint32 open_count;
	uint32 open_capacity;
};

static void
open_node(PfsFrameFile *file, uint32 symbol)
{
	PFS_RESERVE(file->open, file->open_capacity, (uint64) file->open_count + 1);
	file->open[file->open_count++] = (OpenNode){
		.node = { .symbol = symbol, .size = 1, .oldest = PG_UINT64_MAX },
	};
}

PfsFrameFile *
pfs_frame_file_begin(void)
{
	PfsFrameFile *file = palloc0(sizeof(PfsFrameFile));

	file->file = BufFileCreateTemp(false);
	open_node(file, PFS_NO_SYMBOL);
	return file;
}

/* Writes the last open node; adds its total and size to its parent. */
static void
close_node(PfsFrameFile *file)
{
	OpenNode *last = &file->open[--file->open_count];
	PfsFileNode *node = &last->node;

	/* Sums are exact while nodes are open, and clipped when they are written. */
	pfs_add_wide_sides(&last->total, &last->self);
	node->self = pfs_clip_sides(&last->self);
	node->total = pfs_clip_sides(&last->total);
	if (file->open_count > 0)
	{
		pfs_add_wide_sides(&last[-1].total, &last->total);
		/* The size lets a reader pass over all nodes below. */
		last[-1].node.size += node->size;
	}
	/* Nodes are numbered in 32 bits. */
	if (file->count == PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("flame graph has too many nodes")));
	BufFileWrite(file->file, node, sizeof(PfsFileNode));
	file->count++;
}

/* Closes the nodes that are not on the new path, and opens the rest of the path. */
void
pfs_frame_file_put(PfsFrameFile *file, const uint32 *path, uint32 depth, PfsSides value)
{
	uint32 shared = 0;

	/* open[0] is the root, so the node of path[i] is open[i + 1]. */
	while (shared < depth && shared + 1 < file->open_count &&
		   file->open[shared + 1].node.symbol == pg_ntoh32(path[shared]))
		shared++;
	/* Paths are sorted, so no later one has these nodes. */
	while (file->open_count > shared + 1)
		close_node(file);
	for (; shared < depth; shared++)
		open_node(file, pg_ntoh32(path[shared]));
	pfs_add_sides(&file->open[file->open_count - 1].self, value);
}

void
pfs_frame_file_put_origins(PfsFrameFile *file, const char *origins, Size count)
{
	for (Size i = 0; i < count; i++)
	{
		PfsFrameOrigin origin;
		PfsFileNode *node;

		/* The bytes are not aligned. */
		memcpy(&origin, origins + i * sizeof(PfsFrameOrigin), sizeof(PfsFrameOrigin));
		node = &file->open[origin.depth + 1].node;
		/* Origins come in the order of paths and not of ages. */
		if (origin.age >= node->oldest)
			continue;
		node->oldest = origin.age;
		node->location = origin.location;
		node->line = origin.line;
	}
}

void
pfs_frame_file_finish(PfsFrameFile *file)
{
	while (file->open_count > 0)
		close_node(file);
	pfs_memory_look();
	pfree(file->open);
	file->open = NULL;
}

uint32
pfs_frame_file_root(const PfsFrameFile *file)
{
	/* Every node is written after those below it, so the root is the last. */
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
