/*
 * flame_json.h
 *		A flame graph as the nested JSON of d3-flame-graph.
 */
#ifndef PFS_FLAME_JSON_H
#define PFS_FLAME_JSON_H

#include "profstore.h"

#include "lib/stringinfo.h"

#include "tree/flame_rows.h"

/*
 * Names, files and mappings of frames, each once: frames then have their numbers in the list. It is
 * in the context that it was made in.
 */
typedef struct PfsFrameTexts PfsFrameTexts;

PfsFrameTexts *pfs_frame_texts_create(void);

/* Appends the texts, as a JSON array. */
void pfs_frame_texts_append(StringInfo json, const PfsFrameTexts *texts);

/*
 * Appends the tree as one object: name, value, children, and where known file, line, mapping;
 * truncated where the node stands in for cut ones; of a comparison base as well. Under filters the
 * root has whole, of a comparison whole_base too: what its values are without them. With texts
 * (NULL: none) name, file and mapping are numbers. Raises PROGRAM_LIMIT_EXCEEDED beyond 1 GB.
 */
void pfs_flame_json_append(StringInfo json, PfsFlameScan *rows, bool is_diff, PfsFrameTexts *texts);

/* Appends "key":"text" and, where it is not the first of its object, a comma before. */
void pfs_json_append_text(StringInfo json, const char *key, const char *text, bool first);

#endif
