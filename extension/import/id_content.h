/*
 * id_content.h
 *		The content by which an id is found, in a session (known_ids.h) and in shared memory
 *		(shared_ids.h).
 */
#ifndef PFS_ID_CONTENT_H
#define PFS_ID_CONTENT_H

#include "profstore.h"

typedef struct PfsIdContent
{
	uint64 hash; /* hash of bytes and kind */
	uint8 kind;	 /* PfsKnownKind */
	uint8 encoding;
	uint32 length;
	const char *bytes;
} PfsIdContent;

static inline bool
pfs_id_contents_equal(const PfsIdContent *a, const PfsIdContent *b)
{
	return a->hash == b->hash && a->kind == b->kind && a->encoding == b->encoding &&
		   a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

#endif
