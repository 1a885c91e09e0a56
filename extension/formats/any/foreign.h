/*
 * foreign.h
 *		Known formats that are not supported: their names, and advice. Includes no server header.
 */
#ifndef PFS_FOREIGN_H
#define PFS_FOREIGN_H

#include "formats/profile.h"

/* Static texts: the kind of file, in the style of messages, and a sentence of advice. */
typedef struct PfsForeign
{
	const char *message;
	const char *hint;
} PfsForeign;

/* Returns NULL if the format is unknown. */
const PfsForeign *pfs_foreign_find(const uint8_t *bytes, size_t length);

#endif
