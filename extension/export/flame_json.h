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
 * Names, files and mappings of frames, each stored once: frames refer to them by number. It lives
 * in the memory context in which it was created.
 */
typedef struct PfsFrameTexts PfsFrameTexts;

PfsFrameTexts *pfs_frame_texts_create(void);

/* Appends the texts as a JSON array. */
void pfs_frame_texts_append(StringInfo json, const PfsFrameTexts *texts);

/*
 * Appends the tree as one object with the fields name, value, children, and, if known, file, line
 * and mapping. A node that represents cut ones has the field truncated; in a comparison each has
 * the field base. If there are filters, the root has the field whole, in a comparison also
 * whole_base: its values without the filters. If texts is not NULL, name, file and mapping are
 * numbers in it. Raises PROGRAM_LIMIT_EXCEEDED beyond 1 GB.
 */
void pfs_flame_json_append(StringInfo json, PfsFlameScan *rows, bool is_diff, PfsFrameTexts *texts);

/* Appends "key":"text", with a comma before unless it is the first of its object. */
void pfs_json_append_text(StringInfo json, const char *key, const char *text, bool first);

#endif
