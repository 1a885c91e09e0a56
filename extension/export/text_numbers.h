/*
 * text_numbers.h
 *		Numbers of texts, for formats with a table of texts. This is a hash table; the file that
 *		includes it assigns the numbers.
 */
#ifndef PFS_TEXT_NUMBERS_H
#define PFS_TEXT_NUMBERS_H

#include "profstore.h"

#include "common/hashfn.h"

typedef struct PfsTextNumber
{
	const char *text; /* terminated by a zero byte; not copied */
	uint32 number;
	char status;
} PfsTextNumber;

#define SH_PREFIX		   pfs_text_numbers
#define SH_ELEMENT_TYPE	   PfsTextNumber
#define SH_KEY_TYPE		   const char *
#define SH_KEY			   text
#define SH_HASH_KEY(tb, k) string_hash(k, strlen(k) + 1)
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#endif
