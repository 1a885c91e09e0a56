/*
 * text_index.h
 *		Distinct texts, numbered 0, 1, 2 ...; includes no server header.
 */
#ifndef PFS_TEXT_INDEX_H
#define PFS_TEXT_INDEX_H

#include "formats/profile.h"
#include "formats/slots.h"

typedef struct PfsTextIndex
{
	PfsSlots slots;
	PfsText *texts; /* the texts by their numbers; their bytes are not copied */
	uint32_t count;
} PfsTextIndex;

void pfs_text_index_init(PfsTextIndex *index, PfsBudget *budget);
void pfs_text_index_fini(PfsTextIndex *index);

/*
 * Returns the number of a text, which gets the next one if it is new; PFS_NONE if out of memory or
 * budget.
 */
uint32_t pfs_text_number(PfsTextIndex *index, PfsText text);

#endif
