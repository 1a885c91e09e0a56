/*
 * source_texts.h
 *		Where frames come from, as datums of result rows: made once, and kept from query to query.
 */
#ifndef PFS_SOURCE_TEXTS_H
#define PFS_SOURCE_TEXTS_H

#include "profstore.h"

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
