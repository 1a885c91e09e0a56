/*
 * tree_export.h
 *		A selection as a tree of frames, for formats that list frames once and stacks by their
 *		numbers.
 */
#ifndef PFS_TREE_EXPORT_H
#define PFS_TREE_EXPORT_H

#include "profstore.h"

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "select/selection.h"
#include "tree/frame_source.h"

typedef struct PfsTreeFrame
{
	const char *name;
	PfsFrameSource source;
} PfsTreeFrame;

/* A node of the tree. */
typedef struct PfsTreeRow
{
	int32 level;  /* 0: the root, always the first row */
	uint32 frame; /* its number; meaningless for the root */
	int64 self;
} PfsTreeRow;

typedef struct PfsTreeExport
{
	const char *title; /* the selector, and under filters what share they keep */
	const PfsSelection *selection;
	uint32 row_count;
	PfsTreeRow *rows; /* depth first */
	uint32 frame_count;
	PfsTreeFrame *frames; /* by first appearance in rows */
} PfsTreeExport;

/*
 * Returns the whole tree, nothing cut, of the selection, the filters and the granularity among the
 * arguments. Lives in CurrentMemoryContext.
 */
PfsTreeExport pfs_tree_export(FunctionCallInfo fcinfo);

/* JSON text as jsonb. */
Datum pfs_json_to_jsonb(const StringInfoData *json);

#endif
