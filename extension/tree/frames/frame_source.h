/*
 * frame_source.h
 *		Source files, lines and mappings of frames: as strings, and as datums for result rows.
 *
 * Datums are made once, and stay in the session cache between queries.
 */
#ifndef PFS_FRAME_SOURCE_H
#define PFS_FRAME_SOURCE_H

#include "profstore.h"

/* Source of a frame; NULL and 0 mean unknown. The strings live as long as names (dictionary.h). */
typedef struct PfsFrameSource
{
	const char *file;
	/* line at which the function begins, or if that is unknown a line in the function */
	int32 line;
	const char *mapping;
} PfsFrameSource;

/* Returns the source of a line, given by its index, of a location; location_id may be 0. */
PfsFrameSource pfs_frame_source(int32 location_id, uint32 line_index);

/* Like PfsFrameSource, but with texts that are datums. */
typedef struct PfsSourceTexts
{
	const text *file; /* file and mapping: NULL if unknown */
	const text *mapping;
	int32 line; /* 0: unknown */
} PfsSourceTexts;

typedef struct PfsSourceTable PfsSourceTable;

/*
 * Returns the table of this session. Valid until the next pfs_dictionary_begin(). Call it after
 * pfs_dictionary_begin() and pfs_session_cache_begin().
 */
PfsSourceTable *pfs_source_table(void);

/* Returns the source of a line, given by its index, of a location; location_id may be 0. */
PfsSourceTexts pfs_source_texts(PfsSourceTable *table, int32 location_id, uint32 line);

#endif
