/*
 * frame_source.h
 *		Where frames come from, for people: as texts, and as datums of result rows.
 *
 * Datums are made once, and stay in the session cache from query to query.
 */
#ifndef PFS_FRAME_SOURCE_H
#define PFS_FRAME_SOURCE_H

#include "profstore.h"

/* NULL where not known. The texts hold as long as names do (dictionary.h). */
typedef struct PfsFrameSource
{
	const char *file;
	int32 line; /* 0: not known; where the function begins, else a line in it */
	const char *mapping;
} PfsFrameSource;

/* Of a location, 0: none, and the index of one of its lines. */
PfsFrameSource pfs_frame_source(int32 location_id, uint32 line_index);

/* As PfsFrameSource has it. */
typedef struct PfsSourceTexts
{
	const text *file; /* NULL: not known; so the mapping */
	const text *mapping;
	int32 line; /* 0: not known */
} PfsSourceTexts;

typedef struct PfsSourceTable PfsSourceTable;

/*
 * Holds until the next pfs_dictionary_begin, after which, and pfs_session_cache_begin, it is
 * called.
 */
PfsSourceTable *pfs_source_table(void);

/* Of a location, 0: none, and the index of one of its lines. */
PfsSourceTexts pfs_source_texts(PfsSourceTable *table, int32 location_id, uint32 line);

#endif
