/*
 * tree_export.h
 *		A selection as a tree of frames, for formats that list frames once and refer to them by
 *		number in stacks.
 */
#ifndef PFS_TREE_EXPORT_H
#define PFS_TREE_EXPORT_H

#include "profstore.h"

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "select/selection.h"
#include "tree/frames/frame_source.h"

typedef struct PfsTreeFrame
{
	const char *name;
	PfsFrameSource source;
} PfsTreeFrame;

/* A node of the tree. */
typedef struct PfsTreeRow
{
	int32 level;  /* 0: the root, always the first row */
	uint32 frame; /* number of the frame; undefined for the root */
	int64 self;
} PfsTreeRow;

typedef struct PfsTreeExport
{
	/* the selector and, if there are filters, the share of the selection that they keep */
	const char *title;
	const PfsSelection *selection;
	uint32 row_count;
	PfsTreeRow *rows; /* depth first */
	uint32 frame_count;
	PfsTreeFrame *frames; /* in the order of their first use in rows */
} PfsTreeExport;

/*
 * Returns the whole tree, without cut nodes, of the selection, the filters and the granularity in
 * the arguments. Lives in CurrentMemoryContext.
 */
PfsTreeExport pfs_tree_export(FunctionCallInfo fcinfo);

/* Converts JSON text to jsonb. */
Datum pfs_json_to_jsonb(const StringInfoData *json);

#endif
