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
	const char *title; /* the selector, and under filters the share that they keep */
	const PfsSelection *selection;
	uint32 row_count;
	PfsTreeRow *rows; /* depth first */
	uint32 frame_count;
	PfsTreeFrame *frames; /* by first use in rows */
} PfsTreeExport;

/*
 * Returns the whole tree, nothing cut, of the selection, the filters and the granularity among the
 * arguments. Lives in CurrentMemoryContext.
 */
PfsTreeExport pfs_tree_export(FunctionCallInfo fcinfo);

/* Converts JSON text to jsonb. */
Datum pfs_json_to_jsonb(const StringInfoData *json);

#endif
