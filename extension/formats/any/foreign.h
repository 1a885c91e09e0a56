/*
 * foreign.h
 *		Formats that are known and not read: what to call them, and what to do. Knows no server
 *		header.
 */
#ifndef PFS_FOREIGN_H
#define PFS_FOREIGN_H

#include "formats/profile.h"

/* Static texts: what the file is, in the style of messages, and a sentence. */
typedef struct PfsForeign
{
	const char *message;
	const char *hint;
} PfsForeign;

/* NULL for what is none of them. */
const PfsForeign *pfs_foreign_find(const uint8_t *bytes, size_t length);

#endif
