/*
 * frame_source.h
 *		Source files, lines and mappings of frames: as strings, and as datums for result rows.
 *
 * Datums are made once, and stay in the session cache between queries.
 */
#ifndef PFS_FRAME_SOURCE_H
#define PFS_FRAME_SOURCE_H

#include "profstore.h"

/* NULL: unknown. The strings are valid as long as names (dictionary.h). */
typedef struct PfsFrameSource
{
	const char *file;
	int32 line; /* where the function begins, or otherwise a line in it; 0: unknown */
	const char *mapping;
} PfsFrameSource;

/* Source of a line of a location (0: none), by the index of the line. */
PfsFrameSource pfs_frame_source(int32 location_id, uint32 line_index);

/* Like PfsFrameSource, as datums. */
typedef struct PfsSourceTexts
{
	const text *file; /* NULL: unknown; also mapping */
	const text *mapping;
	int32 line; /* 0: unknown */
} PfsSourceTexts;

typedef struct PfsSourceTable PfsSourceTable;

/*
 * Returns the table of this session. Valid until the next pfs_dictionary_begin(). Call it after
 * pfs_dictionary_begin() and pfs_session_cache_begin().
 */
PfsSourceTable *pfs_source_table(void);

/* Source of a line of a location (0: none), by the index of the line. */
PfsSourceTexts pfs_source_texts(PfsSourceTable *table, int32 location_id, uint32 line);

#endif
